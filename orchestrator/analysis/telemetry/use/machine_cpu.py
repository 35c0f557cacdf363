"""CPU and memory of the machines that nodes and load generators run on, over a window. Pure.

A machine is a node of role "host", and each other node names its own. Of one machine alone all
nodes are on it, named or not, as in records of campaigns that knew no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from orchestrator.analysis.telemetry.counters import counter_names, rates, window_growth
from orchestrator.analysis.telemetry.use import node_values
from orchestrator.analysis.telemetry.use.node_values import (
    ClientUse,
    HostUse,
    NodeCpuUse,
    largest,
)
from orchestrator.counter_sources import NODE_EXPORTER
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Node

CPU_PCT = 85.0  # share of what a node may use
# Share of a link's rate: 4 % of full frames are headers that the kernel does not count.
LINK_PCT = 90.0
OTHERS_CORES = 0.5  # others that use more may be what keeps a core busy


@dataclass(frozen=True)
class MachineUse:
    """The use of one machine, in % of its CPU or of the time; None: not known. Names as in
    `Evidence`."""

    host_cpu_pct: float | None = None
    low_priority_pct: float | None = None
    steal_pct: float | None = None
    other_cpu_pct: float | None = None
    disk_server_cpu_pct: float | None = None
    memory_pressure_pct: float | None = None
    client_cpu_pct: float | None = None
    client_cores: float | None = None


@dataclass(frozen=True)
class SurroundingUse:
    """The use of the machine of a node, and of the busiest load generator, wherever that runs."""

    host: HostUse
    client: ClientUse


@dataclass(frozen=True)
class Machines:
    """`cpus`: cores of the only machine, where its node does not say them. `busiest_cores_pct`: of
    each machine, by the name of its node."""

    nodes: Sequence[Node]
    growth: window_growth.Growth
    cpus: float | None
    busiest_cores_pct: Mapping[str, float] = field(default_factory=dict)

    def around(self, node: Node) -> SurroundingUse:
        """The use of the machine of `node`, and of the load generators' if that is another."""
        home = _host_of(self.nodes, node)
        use = self._use_of(home)
        elsewhere = self._clients_apart_from(home)
        host = HostUse(
            busiest_core_pct=self._core_pct(home, [node]),
            memory_pressure_pct=use.memory_pressure_pct,
            disk_server_cpu_pct=use.disk_server_cpu_pct,
            host_cpu_pct=use.host_cpu_pct,
            low_priority_pct=use.low_priority_pct,
            steal_pct=use.steal_pct,
            other_cpu_pct=use.other_cpu_pct,
        )
        client = ClientUse(
            client_cpu_pct=_higher(elsewhere.client_cpu_pct, use.client_cpu_pct),
            client_cores=_higher(elsewhere.client_cores, use.client_cores),
            client_core_pct=self._client_core_pct(),
            client_machine_cpu_pct=elsewhere.host_cpu_pct,
        )
        return SurroundingUse(host, client)

    def _clients_apart_from(self, home: Node | None) -> MachineUse:
        """The busiest of the other machines that load generators are on."""
        hosts = self._hosts_of(self._clients())
        hosts.pop(_name(home), None)
        return _busiest([self._use_of(host) for host in hosts.values()])

    def _client_core_pct(self) -> float | None:
        """The busiest core of all machines that load generators fill."""
        clients = self._clients()
        hosts = self._hosts_of(clients)
        return node_values.highest(
            self._core_pct(host, clients) for host in hosts.values()
        )

    def _clients(self) -> list[Node]:
        return nodes_of_role(self.nodes, "client")

    def _hosts_of(self, clients: Sequence[Node]) -> dict[str, Node | None]:
        """Name → machine, each once."""
        hosts: dict[str, Node | None] = {}
        for client in clients:
            host = _host_of(self.nodes, client)
            hosts[_name(host)] = host
        return hosts

    def _core_pct(self, host: Node | None, users: Sequence[Node]) -> float | None:
        """A machine's busiest core; None unless it is that of `users`."""
        busy = self.growth.per_s(_name(host), counter_names.HOST_CPU_SECONDS)
        if busy is None:
            return None
        used = 0.0
        for node in users:
            if _host_of(self.nodes, node) == host:
                used += self.growth.per_s(node.name, counter_names.CPU_SECONDS) or 0.0
        if busy - used > OTHERS_CORES:
            return None
        return self.busiest_cores_pct.get(_name(host))

    def busiest(self) -> MachineUse:
        """For each value, the highest of all machines."""
        hosts: Sequence[Node | None] = nodes_of_role(self.nodes, "host") or [None]
        return _busiest([self._use_of(host) for host in hosts])

    def _use_of(self, host: Node | None) -> MachineUse:
        """CPU use by role, in % of a machine, and its memory. `host` None: it was not sampled."""
        counted = rates.machine_rates(self.growth, _name(host))
        cores = _cores_of(self.nodes, host, self.cpus)
        machine = MachineUse(
            host_cpu_pct=rates.share_pct(counted.busy, cores),
            low_priority_pct=rates.share_pct(counted.busy_low_priority, cores),
            steal_pct=rates.share_pct(counted.stolen, cores),
            memory_pressure_pct=rates.share_pct(counted.waited_for_memory, 1),
        )
        if not cores:
            return machine
        used_pct = self._used_pct(host, cores)
        if "client" in used_pct:
            alone_pct = max(self._alone_pct(node) for node in self._users(host))
            machine = _with_client(machine, used_pct["client"], alone_pct, cores)
        other_pct = self._other_pct(machine.host_cpu_pct, used_pct)
        disk_pct = used_pct.get("disk")
        return replace(machine, disk_server_cpu_pct=disk_pct, other_cpu_pct=other_pct)

    def _used_pct(self, host: Node | None, cores: float) -> dict[str, float]:
        """Role → CPU of its nodes on a machine, in % of that."""
        used_pct: dict[str, float] = {}
        for node in self._users(host):
            seconds = self.growth.per_s(node.name, counter_names.CPU_SECONDS)
            if seconds is not None:
                before_pct = used_pct.get(node.role, 0.0)
                used_pct[node.role] = before_pct + 100 * seconds / cores
        return used_pct

    def _users(self, host: Node | None) -> list[Node]:
        """The nodes on a machine. What node_exporter says is of another machine."""
        users: list[Node] = []
        for node in self.nodes:
            is_here = _name(_host_of(self.nodes, node)) == _name(host)
            if is_here and NODE_EXPORTER not in node.sources:
                users.append(node)
        return users

    def _alone_pct(self, node: Node) -> float:
        """CPU of a load client in % of a limit of its own, or the share of periods in which it used
        up its quota; 0 without either."""
        seconds = self.growth.per_s(node.name, counter_names.CPU_SECONDS)
        if node.role != "client" or seconds is None:
            return 0.0
        throttled_pct = rates.container_rates(self.growth, node.name).throttled_pct
        # A quota that is used up early in each period holds a client back below its mean limit.
        if node.cpus:
            return largest(100 * seconds / node.cpus, throttled_pct)
        return throttled_pct or 0.0

    def _other_pct(
        self, busy_pct: float | None, used_pct: Mapping[str, float]
    ) -> float | None:
        """CPU that none of our nodes used. None where we may not know all of ours."""
        # A database node that was not sampled may be there, unless each names its machine.
        databases = nodes_of_role(self.nodes, "database")
        placed = all(node.machine for node in databases)
        several = len(nodes_of_role(self.nodes, "host")) > 1
        all_known = "database" in used_pct or (used_pct and placed and several)
        if busy_pct is None or not all_known:
            return None
        return max(0.0, busy_pct - sum(used_pct.values()))


def _busiest(machines: Sequence[MachineUse]) -> MachineUse:
    """For each value, the highest of these machines."""
    highest: dict[str, float | None] = {}
    for value in fields(MachineUse):
        several = [getattr(machine, value.name) for machine in machines]
        highest[value.name] = node_values.highest(several)
    return MachineUse(**highest)


def _higher(elsewhere: float | None, here: float | None) -> float | None:
    """The higher value of two machines; one that is not known does not count."""
    return node_values.highest([elsewhere, here])


def cores(nodes: Sequence[Node], node: Node, cpus: float | None) -> float | None:
    """Cores of the machine of `node`, as it says itself, else `cpus` if there is only one."""
    return _cores_of(nodes, _host_of(nodes, node), cpus)


def _cores_of(
    nodes: Sequence[Node], host: Node | None, cpus: float | None
) -> float | None:
    if host and host.cpus:
        return host.cpus
    # Nobody knows which of several machines has so many.
    if len(nodes_of_role(nodes, "host")) < 2:
        return cpus
    return None


def cpu_limits(nodes: Sequence[Node], cpus: float | None) -> dict[str, float]:
    """Node → the cores that it may use: its own limit, else its whole machine's, where known."""
    limits: dict[str, float] = {}
    for node in nodes:
        limit = node.cpus or cores(nodes, node, cpus)
        if limit:
            limits[node.name] = limit
    return limits


def _host_of(nodes: Sequence[Node], node: Node) -> Node | None:
    hosts = nodes_of_role(nodes, "host")
    # Records of campaigns that knew no other machine do not name it.
    if len(hosts) == 1 and "" in (node.machine, hosts[0].machine):
        return hosts[0]
    for host in hosts:
        if node.machine and host.machine == node.machine:
            return host
    return None


def _name(host: Node | None) -> str:
    if host:
        return host.name
    return ""


def _with_client(
    machine: MachineUse, client_pct: float, alone_pct: float, cores: float
) -> MachineUse:
    """`client_pct`: of the machine's CPU; `alone_pct`: of what a single client may use."""
    return replace(
        machine,
        client_cores=client_pct * cores / 100,
        client_cpu_pct=max(client_pct, alone_pct),
    )


def cpu_of_node(
    node: Node, growth: window_growth.Growth, machine_cores: float | None
) -> NodeCpuUse:
    """CPU of a node, of its limit, and in cores."""
    used = growth.per_s(node.name, counter_names.CPU_SECONDS)
    limit = node.cpus or machine_cores
    if used is None or not limit:
        return NodeCpuUse()
    return NodeCpuUse(cpu_pct=100 * used / limit, node_cores=used)
