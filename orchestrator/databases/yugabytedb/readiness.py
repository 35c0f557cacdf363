"""When a cluster is ready: every node answers, every master knows every node, copies are complete.

Each later answer needs the earlier ones, so they are awaited in this order, each up to a deadline.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from orchestrator.databases.common import container_nodes, node_lifecycle
from orchestrator.databases.yugabytedb import nodes
from orchestrator.databases.yugabytedb.nodes import Unread, raise_if_dead
from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.errors import RunError
from orchestrator.model import ClusterSpec, Endpoint, Node
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.clock import wait_until, wait_while
from orchestrator.system.sql import Connect
from orchestrator.units import format_bytes
from orchestrator.yugabyte import pages, queries

NODE_DEADLINE_S = 300.0  # yugabyted's own waits are 180 s
# A restored node reads its log again, flushed or not (tablet_bootstrap.cc). The deadline assumes
# half of its tier's rate, because the node reads more than the log.
_REPLAY_SHARE = 0.5
REPLAY_BYTES_PER_S = 25e6  # rate of a disk that is not known: the catalog's slowest
BALANCE_DEADLINE_S = 300.0
_BALANCED_POLLS = 3
# The command of yb-admin that tells whether the balancer is idle.
_IS_IDLE = ("get_is_load_balancer_idle",)


@dataclass(frozen=True)
class Leaders:
    """The tablets by their identity; and what of their leaders is uneven, or moves still."""

    tablets: Mapping[str, pages.LedTablet] = field(default_factory=dict)
    uneven: str = ""


class Readiness:
    """Waits for a cluster that is being started. `up`: the nodes started so far, in order."""

    def __init__(
        self,
        spec: ClusterSpec,
        settings: Settings,
        connect: Connect,
        unread: Unread,
        world: World,
    ) -> None:
        self._factor = spec.replication_factor
        self._tls = settings.tls
        self._connect = connect
        self._unread = unread
        self._world = world
        self._replay_s = 0.0

    def after_replay(self, log_bytes: int, disk_bytes_per_s: int | None) -> Self:
        """A copy that waits longer, for nodes that first read so much log on their disks again."""
        later = copy(self)
        rate = REPLAY_BYTES_PER_S
        if disk_bytes_per_s:
            rate = _REPLAY_SHARE * disk_bytes_per_s
        later._replay_s = log_bytes / rate
        # A shorter wait needs no word on the console.
        if later._replay_s >= 10:
            step = f"nodes read up to {format_bytes(log_bytes)} of log again"
            self._world.progress.step(step, later._replay_s)
        return later

    def _wait(
        self, failure: str, missing: Callable[[], str], up: Sequence[Node]
    ) -> None:
        names = [node.container_name for node in up]
        most_s = NODE_DEADLINE_S + round(self._replay_s)
        node_lifecycle.await_ready(
            failure, missing, names, self._world, deadline_s=most_s, log=nodes.log
        )

    def await_answer(self, node: Node, endpoint: Endpoint, up: Sequence[Node]) -> None:
        """Waits until `node` answers SQL, and the masters count as many nodes as are up."""

        masters = list(pages.urls(up, pages.MASTER).values())

        def not_alive() -> str:
            servers = pages.tablet_servers(masters)
            alive = sum(server.alive for server in servers)
            if alive >= len(up):
                return ""
            return f"{alive} of {len(up)} tablet servers are alive"

        not_alive_patiently = self._unread.patiently(
            "the masters' list of tablet servers", not_alive
        )

        def missing() -> str:
            # A node that answers SQL may not be counted by the masters yet.
            with self.administering(up[0], endpoint) as session:
                session.rows("SELECT 1")
            return not_alive_patiently()

        self._wait(f"YugabyteDB's {node.name} was not ready", missing, up)

    def await_copies(self, up: Sequence[Node], endpoint: Endpoint) -> None:
        """Waits until the replication factor is the profile's and no tablet lacks a copy."""
        masters = list(pages.urls(up, pages.MASTER).values())

        def uncopied() -> str:
            factor = pages.replication_factor(masters)
            if factor != self._factor:
                return f"it keeps {factor} copies, expected {self._factor}"
            health = pages.health(masters)
            if health.well:
                return ""
            return str(health)

        uncopied_patiently = self._unread.patiently(
            "the number and state of copies", uncopied
        )

        def missing() -> str:
            lack = uncopied_patiently()
            if lack:
                return lack
            with self.administering(up[0], endpoint) as session:
                servers = len(queries.servers(session))
            if servers == len(up):
                return ""
            return f"yb_servers() knows {servers} of {len(up)} nodes"

        self._wait("the cluster was not whole", missing, up)

    def administering(
        self, first: Node, endpoint: Endpoint, timeout_s: float = 30.0
    ) -> AbstractContextManager[sql.Session]:
        """The administrator's session. With TLS, yugabyted makes a password up and keeps it in the
        first node's file."""
        # YSQL without TLS trusts whoever reaches it, with any password.
        password = queries.ADMIN
        if self._tls:
            remembered = nodes.remembered(first, self._world)
            password = str(remembered.get("database_password") or queries.ADMIN)
        administrator = replace(
            sql.local(endpoint),
            user=queries.ADMIN,
            password=password,
            database=queries.ADMIN_DATABASE,
        )
        return self._connect(administrator, timeout_s)

    def await_remembered_masters(self, up: Sequence[Node]) -> None:
        """Waits until every node's own file, from which a copy of its disk starts, names all
        masters as the leader lists them. Past the deadline it is only noted."""

        # yugabyted writes the file once a minute, and gives its tablet server what it says. With a
        # wrong list YSQL of a restored node never came up.
        def unlike() -> str:
            # The number of nodes that have a voting master is that of the copies.
            voting = up[: self._factor]
            masters = nodes.leaders_list(voting, self._world)
            return self._remembered_otherwise(up, masters)

        unlike_patiently = self._unread.patiently(
            "the leader's list of masters", unlike
        )

        def unlike_while_alive() -> str:
            raise_if_dead(up, self._world)
            return unlike_patiently()

        still_unlike = wait_while(
            unlike_while_alive,
            deadline_s=NODE_DEADLINE_S,
            clock=self._world.clock,
            every_s=0.5,
        )
        if still_unlike:
            self._unread.note("the masters that each node remembers", still_unlike)

    def _remembered_otherwise(self, up: Sequence[Node], masters: Sequence[str]) -> str:
        """The first node whose file names others than these; "" if none does."""
        for node in up:
            remembered = nodes.remembered_masters(node, self._world)
            if remembered != masters:
                names = ", ".join(remembered) or "none"
                return (
                    f"{node.name} names {names}; the leader lists {', '.join(masters)}"
                )
        return ""

    def await_balance(self, up: Sequence[Node], masters: str) -> Leaders:
        """Waits until the leaders of each table are spread and nothing moves any more; only warns
        past the deadline. Returns what was found."""
        urls = list(pages.urls(up, pages.MASTER).values())
        idle_polls = 0
        leaders = Leaders()

        def uneven() -> str:
            nonlocal leaders
            tablets = pages.tablet_leaders(urls, container_nodes.DATABASE)
            leaders = Leaders(tablets, _uneven(tablets, pages.leaders(urls)))
            return leaders.uneven

        uneven_patiently = self._unread.patiently("the leaders of each table", uneven)

        def is_settled() -> bool:
            nonlocal idle_polls, leaders
            raise_if_dead(up, self._world)
            is_idle = self._is_balancer_idle(up[0], masters)
            unrest = uneven_patiently()
            if not unrest and not is_idle:
                unrest = "the balancer is not idle"
            leaders = replace(leaders, uneven=unrest)
            if unrest:
                idle_polls = 0
            else:
                idle_polls += 1
            return idle_polls >= _BALANCED_POLLS

        has_settled = wait_until(
            is_settled,
            deadline_s=BALANCE_DEADLINE_S,
            clock=self._world.clock,
            every_s=1.0,
        )
        if not has_settled:
            self._world.progress.warn(
                f"after {BALANCE_DEADLINE_S:g} s leaders still move, or are not spread "
                f"evenly: {leaders.uneven}"
            )
        return leaders

    def _is_balancer_idle(self, node: Node, masters: str) -> bool:
        try:
            answer = nodes.admin(node, masters, self._tls, _IS_IDLE, 30, self._world)
        except RunError:  # an election is under way
            return False
        return "Idle = 1" in answer

    def leaders_moved(self, begun: Leaders, up: Sequence[Node]) -> str | None:
        """What was uneven of leaders when measuring began, or has moved since; None if nothing."""
        urls = list(pages.urls(up, pages.MASTER).values())
        now = self._unread.attempt(
            "the leaders of each table",
            lambda: pages.tablet_leaders(urls, container_nodes.DATABASE),
            begun.tablets,
            up,
        )
        moved = 0
        for identity, tablet in begun.tablets.items():
            if identity in now and now[identity] != tablet:
                moved += 1
        texts: list[str] = []
        if begun.uneven:
            texts.append(f"at the begin: {begun.uneven}")
        if moved:
            texts.append(
                f"{moved} of {len(begun.tablets)} tablets have another leader since"
            )
        return "; ".join(texts) or None


def _uneven(tablets: Mapping[str, pages.LedTablet], hosts: Iterable[str]) -> str:
    """The first table of whose tablets one node leads two more than another; empty if none. Nothing
    is uneven where a table has fewer tablets than nodes: no balancer could spread them further, and
    `pages.few_tablets` tells of it."""
    led_by_table: dict[str, dict[str, int]] = {}
    for table, leader in tablets.values():
        led = led_by_table.setdefault(table, dict.fromkeys(hosts, 0))
        led[leader] = led.get(leader, 0) + 1
    for table, led in led_by_table.items():
        # Some tablets are led by nobody at this moment.
        has_leaderless = "" in led
        # A difference of one is left where the number of tablets is no multiple of the nodes.
        difference = max(led.values()) - min(led.values())
        if has_leaderless or difference > 1:
            return f"{table} is led by {led}"
    return ""
