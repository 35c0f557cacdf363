"""CPU and memory of the machines that nodes and load generators run on, over a window. Pure.

A machine is a node of role "host", and each other node names its own. Of one machine alone all
nodes are on it, named or not, as in records of campaigns that knew no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.analysis.telemetry import counters
from orchestrator.model import NODE_EXPORTER, Node
from orchestrator.units import gathered

OTHERS_CORES = 0.5  # from there on they may be what keeps a core busy


@dataclass(frozen=True)
class Machines:
    """`cpus`: cores of the only machine, where its node does not say them. `of_seconds`: what
    single seconds show of each node."""

    nodes: Sequence[Node]
    growth: counters.Growth
    cpus: float | None
    of_seconds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def around(self, node: Node) -> dict[str, float]:
        """The values of the machine of `node`, and of the load generators' if that is another."""
        own = _host_of(self.nodes, node)
        clients = [client for client in self.nodes if client.role == "client"]
        others = {
            _name(host): host for host in (_host_of(self.nodes, c) for c in clients)
        }
        values = self._of(own)
        core_pct = self._core_pct(own, [node])
        if core_pct is not None:
            values["busiest_core_pct"] = core_pct
        apart = [self._of(host) for name, host in others.items() if name != _name(own)]
        for name, of_client in (
            ("client_cpu_pct", "client_cpu_pct"),
            ("client_cores", "client_cores"),
            ("client_machine_cpu_pct", "host_cpu_pct"),
        ):
            known = [
                elsewhere[of_client] for elsewhere in apart if of_client in elsewhere
            ]
            if known:
                values[name] = max(*known, values.get(name, 0.0))
        cores = [self._core_pct(host, clients) for host in others.values()]
        known = [core for core in cores if core is not None]
        if known:
            values["client_core_pct"] = max(known)
        return values

    def _core_pct(self, host: Node | None, users: Sequence[Node]) -> float | None:
        """A machine's busiest core; None unless it is that of `users`, because what else was busy
        there could not fill it."""
        every = (
            self.growth.per_s(node.name, counters.CPU_SECONDS)
            for node in users
            if _host_of(self.nodes, node) == host
        )
        busy = self.growth.per_s(_name(host), counters.HOST_CPU_SECONDS)
        if busy is None or busy - sum(used or 0.0 for used in every) > OTHERS_CORES:
            return None
        return self.of_seconds.get(_name(host), {}).get("busiest_core_pct")

    def busiest(self) -> dict[str, float]:
        """Of each value the highest of all machines."""
        hosts: Sequence[Node | None] = _hosts(self.nodes) or [None]
        every = gathered(pair for host in hosts for pair in self._of(host).items())
        return {name: max(values) for name, values in every.items()}

    def _of(self, host: Node | None) -> dict[str, float]:
        """CPU use by role, in % of a machine, and its memory. `host` None: it was not sampled."""
        growth = self.growth
        hosts = _hosts(self.nodes)
        machine = (host.cpus if host else None) or (
            self.cpus if len(hosts) < 2 else None
        )
        counted = growth.of(_name(host), counters.GROWTH["machine"])
        values = counters.with_quotients(counted, cores=machine or 0.0)
        if not machine:
            return values
        used: dict[str, float] = {}
        alone_pct = 0.0  # of a load client with a limit of its own
        for node in self.nodes:
            seconds = growth.per_s(node.name, counters.CPU_SECONDS)
            elsewhere = _name(_host_of(self.nodes, node)) != _name(host)
            if elsewhere or seconds is None or NODE_EXPORTER in node.sources:
                continue  # what node_exporter says is of another machine
            used[node.role] = used.get(node.role, 0.0) + 100 * seconds / machine
            if node.role == "client" and node.cpus:
                alone_pct = max(alone_pct, 100 * seconds / node.cpus)
            if node.role == "client" and (
                periods := growth.per_s(node.name, counters.PERIODS)
            ):
                throttled = growth.per_s(node.name, counters.THROTTLED_PERIODS) or 0.0
                alone_pct = max(alone_pct, 100 * throttled / periods)
        if "client" in used:
            values["client_cores"] = used["client"] * machine / 100
            values["client_cpu_pct"] = max(used["client"], alone_pct)
        if "disk" in used:
            values["disk_server_cpu_pct"] = used["disk"]
        # Else a database node may be on a machine that has none by what is known.
        databases = [node for node in self.nodes if node.role == "database"]
        placed = len(hosts) > 1 and all(node.machine for node in databases)
        if "host_cpu_pct" in values and ("database" in used or (used and placed)):
            values["other_cpu_pct"] = max(
                0.0, values["host_cpu_pct"] - sum(used.values())
            )
        return values


def cores(nodes: Sequence[Node], node: Node, cpus: float | None) -> float | None:
    """Cores of the machine of `node`, as it says itself, else `cpus` if there is only one."""
    host = _host_of(nodes, node)
    return (host.cpus if host else None) or (cpus if len(_hosts(nodes)) < 2 else None)


def cpu_limits(nodes: Sequence[Node], cpus: float | None) -> dict[str, float]:
    """Node → the cores that it may use: its own limit, else its whole machine's, where known."""
    limits = {node.name: node.cpus or cores(nodes, node, cpus) for node in nodes}
    return {name: limit for name, limit in limits.items() if limit}


def _hosts(nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if node.role == "host"]


def _host_of(nodes: Sequence[Node], node: Node) -> Node | None:
    hosts = _hosts(nodes)
    if len(hosts) == 1 and "" in (node.machine, hosts[0].machine):
        return hosts[0]
    return next(
        (host for host in hosts if node.machine and host.machine == node.machine), None
    )


def _name(host: Node | None) -> str:
    if host:
        return host.name
    return ""
