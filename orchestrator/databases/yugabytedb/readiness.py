"""When a cluster is ready: every node answers, every master knows every node, copies are complete.

Each later answer needs the earlier ones, so they are awaited in this order, each up to a deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator.databases.common import container_nodes
from orchestrator.databases.common.yugabyte import pages, queries, server_facts
from orchestrator.databases.yugabytedb import flags, nodes
from orchestrator.databases.yugabytedb.inferred import UNREADABLE, Unread, raise_if_dead
from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.errors import NodeError, RunError
from orchestrator.model import ClusterSpec, Endpoint, Node, sources
from orchestrator.powers import World
from orchestrator.system import at_once, sql
from orchestrator.system.clock import wait_until
from orchestrator.system.sql import Connect

NODE_DEADLINE_S = 300.0  # yugabyted's own waits are 180 s
BALANCE_DEADLINE_S = 300.0
_BALANCED_POLLS = 3
_IDLE = ("get_is_load_balancer_idle",)


def admin_address(endpoint: Endpoint, password: str) -> sql.Address:
    address = sql.local(endpoint)
    return replace(address, user=queries.ADMIN, password=password, database=queries.ADMIN_DATABASE)


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
        self._factor, self._tls = spec.replication_factor, settings.tls
        self._connect, self._unread, self._world = connect, unread, world

    def _wait(self, failure: str, missing: Callable[[], str], up: Sequence[Node]) -> None:
        names = [container_nodes.container_name(node) for node in up]
        container_nodes.await_ready(
            failure, missing, names, self._world, deadline_s=NODE_DEADLINE_S, log=nodes.log
        )

    def await_answer(self, node: Node, endpoint: Endpoint, up: Sequence[Node]) -> None:
        """Waits until `node` answers SQL, and the masters count as many nodes as are up."""

        def uncounted() -> str:
            servers = pages.tablet_servers(list(sources(up, pages.MASTER).values()))
            alive = sum(server.alive for server in servers)
            return "" if alive >= len(up) else f"{alive} of {len(up)} tablet servers are alive"

        counted = self._unread.patiently("the masters' list of tablet servers", uncounted)

        def missing() -> str:
            with self._connect(admin_address(endpoint, self.password(up[0])), 30.0) as session:
                session.rows("SELECT 1")
            return counted()

        self._wait(f"YugabyteDB's {node.name} was not ready", missing, up)

    def await_copies(self, up: Sequence[Node], endpoint: Endpoint) -> None:
        """Waits until the replication factor is the profile's and no tablet lacks a copy."""
        masters = list(sources(up, pages.MASTER).values())

        def uncopied() -> str:
            factor = pages.replication_factor(masters)
            if factor != self._factor:
                return f"it keeps {factor} copies, expected {self._factor}"
            health = pages.health(masters)
            return "" if health.well else str(health)

        copied = self._unread.patiently("the number and state of copies", uncopied)

        def missing() -> str:
            if text := copied():
                return text
            with self._connect(admin_address(endpoint, self.password(up[0])), 30.0) as session:
                known = len(queries.servers(session))
            return "" if known == len(up) else f"yb_servers() knows {known} of {len(up)} nodes"

        self._wait("the cluster was not whole", missing, up)

    def password(self, first: Node) -> str:
        """The administrator's password: with TLS, yugabyted makes one up and keeps it in a file."""
        if not self._tls:
            return queries.ADMIN
        return str(nodes.remembered(first, self._world).get("database_password") or queries.ADMIN)

    def await_remembered_masters(self, up: Sequence[Node]) -> None:
        """Waits until every node's own file, from which a copy of its disk starts, names all
        masters. yugabyted writes it once a minute. Past the deadline it is only noted."""
        state = ""

        def complete() -> bool:
            nonlocal state
            raise_if_dead(up, self._world)
            state = missing()
            return not state

        def missing() -> str:
            for node in up:
                masters = str(nodes.remembered(node, self._world).get("current_masters", ""))
                known = len([master for master in masters.split(",") if master])
                if known < self._factor:
                    return f"{node.name} remembers {known} of {self._factor} masters"
            return ""

        deadline_s = NODE_DEADLINE_S
        if not wait_until(complete, deadline_s=deadline_s, clock=self._world.clock, every_s=0.5):
            self._unread.note("the masters that each node remembers", state)

    def await_balance(self, up: Sequence[Node], masters: str) -> None:
        """Waits until leaders are spread and nothing moves any more; only warns past the
        deadline."""
        urls = list(sources(up, pages.MASTER).values())
        leaders: dict[str, int] = {}
        idle_polls = 0

        def ready() -> bool:
            nonlocal idle_polls
            raise_if_dead(up, self._world)
            try:
                answer = nodes.admin(up[0], masters, self._tls, _IDLE, 30, self._world)
                leaders.update(pages.leaders(urls))
            except (RunError, *UNREADABLE):  # an election is under way
                answer = ""
            spread = sum(leaders.values()) < len(up) or min(leaders.values(), default=0) > 0
            idle_polls = idle_polls + 1 if "Idle = 1" in answer and spread else 0
            return idle_polls >= _BALANCED_POLLS

        deadline_s = BALANCE_DEADLINE_S
        if not wait_until(ready, deadline_s=deadline_s, clock=self._world.clock, every_s=1.0):
            self._world.progress.warn(
                f"after {deadline_s:g} s leaders still move or are unevenly spread: {leaders}"
            )


def check_flags(
    up: Sequence[Node], settings: Settings, unread: Unread
) -> dict[str, server_facts.Flags]:
    """Node → its tablet server's flags, none if they cannot be read. NodeError if durability or the
    directory of the WAL is not the profile's."""
    urls = sources(up, pages.TSERVER)
    servers: dict[str, server_facts.Flags] = unread.attempt(
        "the flags of the tablet servers",
        lambda: dict(zip(urls, at_once.each(pages.flags, urls.values()), strict=True)),
        {},
        up,
    )
    expected = "true" if settings.durability == "durable" else "false"
    for name, named in servers.items():
        value = named.get("durable_wal_write")
        if value is None:
            unread.note("durable_wal_write", f"it is not among the flags of {name}")
        elif value != expected:
            raise NodeError(
                f"{name} runs with durable_wal_write={value}; "
                f"`durability: {settings.durability}` means {expected}",
                advice="a file system without O_DIRECT turns it off; XFS and ext4 have it",
            )
    for node in up:
        wal_dirs = servers.get(node.name, {}).get("fs_wal_dirs", flags.WAL_DISK_DIR)
        if node.wal_device and wal_dirs != flags.WAL_DISK_DIR:
            raise NodeError(
                f"{node.name} has its WAL in {wal_dirs or 'the directory of its data'} and not on "
                f"its own disk, which is at {flags.WAL_DISK_DIR}",
                advice="look at `fs_wal_dirs` among the flags of its tablet server",
            )
    return servers
