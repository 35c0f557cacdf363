"""When a cluster is ready: every node answers, every master knows every node, copies are complete.

Asked in this order, each within a deadline, because each later answer presumes the earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator.databases.common.yugabyte import pages, queries
from orchestrator.databases.yugabytedb import nodes
from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.errors import NodeError, RunError
from orchestrator.model import ClusterSpec, Endpoint, Node, sources
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.clock import wait_until
from orchestrator.system.sql import Connect

NODE_DEADLINE_S = 300.0  # yugabyted's own waits are 180 s
BALANCE_DEADLINE_S = 300.0
_BALANCED_POLLS = 3
_IDLE = ("get_is_load_balancer_idle",)


def admin_address(endpoint: Endpoint, password: str) -> sql.Address:
    at = sql.local(endpoint)
    return replace(at, user=queries.ADMIN, password=password, database=queries.ADMIN_DATABASE)


class Waiting:
    """Waits for a cluster that is being started. `connect` opens a session."""

    def __init__(self, spec: ClusterSpec, asked: Settings, connect: Connect, world: World) -> None:
        self._spec, self._asked, self._connect, self._world = spec, asked, connect, world

    def until(
        self, what: str, ready: Callable[[], str], up: Sequence[Node], deadline_s: float
    ) -> None:
        """Until `ready` returns an empty text; else it says what is missing.

        NodeError where a node dies, or past the deadline, with every node's last lines.
        """
        seen = {"state": "nothing answers yet"}
        names = [node.container or node.name for node in up]

        def done() -> bool:
            nodes.raise_if_dead(names, self._world)
            try:
                seen["state"] = ready()
            except (RunError, OSError, KeyError, ValueError) as error:
                seen["state"] = error.what if isinstance(error, RunError) else str(error)
            return not seen["state"]

        if not wait_until(done, deadline_s=deadline_s, clock=self._world.clock, every_s=0.5):
            raise NodeError(
                f"{what} within {deadline_s:g} s: {seen['state']}",
                advice="look at the log below; a slow disk or little memory need a longer time",
                evidence="\n".join(nodes.log(name, self._world) for name in names),
            )

    def answers(self, node: Node, endpoint: Endpoint, up: Sequence[Node]) -> None:
        """Until `node` takes SQL, and the masters count it among `up`."""

        def ready() -> str:
            address = admin_address(endpoint, self.password(up[0]))
            with self._connect(address, 30.0) as asked:
                asked.rows("SELECT 1")
            listed = pages.tablet_servers(list(sources(up, pages.MASTER).values()))
            alive = sum(server.alive for server in listed)
            wanted = len(up)
            return "" if alive >= wanted else f"{alive} of {wanted} tablet servers are alive"

        self.until(f"YugabyteDB's {node.name} was not ready", ready, up, NODE_DEADLINE_S)

    def whole(self, up: Sequence[Node], endpoint: Endpoint) -> None:
        """Until the cluster replicates as asked and nothing is short of a copy."""
        masters = list(sources(up, pages.MASTER).values())
        factor = self._spec.replication_factor

        def ready() -> str:
            running = pages.replication_factor(masters)
            if running != factor:
                return f"it keeps {running} copies, expected {factor}"
            health = pages.health(masters)
            if not health.well:
                return (
                    f"{health.dead_nodes} dead node(s), "
                    f"{health.under_replicated_tablets} tablet(s) short of copies"
                )
            with self._connect(admin_address(endpoint, self.password(up[0])), 30.0) as asked:
                known = len(queries.servers(asked))
            return "" if known == len(up) else f"yb_servers() knows {known} of {len(up)} nodes"

        self.until("the cluster was not whole", ready, up, NODE_DEADLINE_S)

    def password(self, first: Node) -> str:
        """The administrator's: yugabyted makes one up where TLS is on, and remembers it."""
        if not self._asked.tls:
            return queries.ADMIN
        return str(nodes.remembered(first, self._world).get("database_password") or queries.ADMIN)

    def remembers_masters(self, up: Sequence[Node]) -> None:
        """Until every node's own file names all masters: a copy of its disk starts from that file.

        yugabyted looks once a minute.
        """
        factor = self._spec.replication_factor

        def ready() -> str:
            for node in up:
                masters = str(nodes.remembered(node, self._world).get("current_masters", ""))
                known = len([master for master in masters.split(",") if master])
                if known < factor:
                    return f"{node.name} remembers {known} of {factor} masters"
            return ""

        self.until("not every node knew all masters", ready, up, NODE_DEADLINE_S)

    def balanced(self, up: Sequence[Node], masters: str) -> None:
        """Until leaders are spread and nothing moves any more; a warning where that takes long."""
        urls = list(sources(up, pages.MASTER).values())
        leaders: dict[str, int] = {}
        idle_polls = 0

        def ready() -> bool:
            nonlocal idle_polls
            nodes.raise_if_dead([node.container or node.name for node in up], self._world)
            try:
                said = nodes.admin(up[0], masters, self._asked.tls, _IDLE, 30, self._world)
                leaders.update((one.at, one.user_leaders) for one in pages.tablet_servers(urls))
            except (RunError, OSError):  # an election is under way
                said = ""
            spread = sum(leaders.values()) < len(up) or min(leaders.values(), default=0) > 0
            idle_polls = idle_polls + 1 if "Idle = 1" in said and spread else 0
            return idle_polls >= _BALANCED_POLLS

        if not wait_until(
            ready, deadline_s=BALANCE_DEADLINE_S, clock=self._world.clock, every_s=1.0
        ):
            self._world.progress.warn(
                f"after {BALANCE_DEADLINE_S:g} s leaders still move or are unevenly spread: "
                f"{leaders}"
            )


def check_flags(up: Sequence[Node], asked: Settings) -> dict[str, dict[str, str]]:
    """Each tablet server's flags, read back. NodeError where durability is not what was asked."""
    running = {name: pages.flags(url) for name, url in sources(up, pages.TSERVER).items()}
    wanted = "true" if asked.durability == "durable" else "false"
    for name, found in running.items():
        if found.get("durable_wal_write") != wanted:
            raise NodeError(
                f"{name} runs with durable_wal_write={found.get('durable_wal_write')}; "
                f"`durability: {asked.durability}` means {wanted}",
                advice="a file system without O_DIRECT turns it off; XFS and ext4 have it",
            )
    return running
