"""Use of each resource while a run was measured: values by name, no judgement. Pure. A value that
was not sampled is absent, never 0; rates are from the first to the last sample of the window."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis import results
from orchestrator.analysis.telemetry import counters, loads, machines
from orchestrator.analysis.telemetry.counters import with_quotients
from orchestrator.facts import GateQuantity
from orchestrator.keys.strict_yaml import shipped
from orchestrator.metrics import METRICS, measured
from orchestrator.model import Measurement, Node, Record
from orchestrator.tier import Gate, Limits, Tier

Values = Mapping[str, float]  # by their names in `VALUES`

# Every value that a Bottleneck's evidence may hold: name → unit, meaning.
VALUES = shipped("orchestrator.analysis.telemetry", "values.yaml")


def gather(run: results.RunData, cpus: float | None) -> dict[str, dict[str, float]]:
    """Database node → its values and its machine's, named as in `VALUES`; without samples as the
    record states them, if it does. `cpus`: of the machine, for nodes that do not say theirs."""
    growth = run.telemetry.growth
    of_disks = run.telemetry.against_caps
    nodes = run.record.nodes
    if growth is None:
        return _stated(run.record)
    tier = run.record.profile.tier
    gate = run.record.gate
    of_seconds = run.telemetry.of_seconds
    shared = loads.of_load(run.record, of_seconds)
    on_machines = machines.Machines(nodes, growth, cpus, of_seconds)
    gathered: dict[str, dict[str, float]] = {}
    for node in (node for node in nodes if node.role == "database"):
        own = _node(node, growth, machines.cores(nodes, node, cpus))
        reads = own.get("disk_read_iops", 0.0)
        writes = own.get("disk_write_iops", 0.0)
        if "disk_iops" in own and (
            idle_s := idle_latency_s(tier, gate, reads, writes, node.name)
        ):
            own["idle_disk_latency_s"] = idle_s
        own |= {**of_disks.get(node.name, {}), **on_machines.around(node), **shared}
        own |= with_quotients(growth.of(node.name, OF_SERVER))
        own |= of_seconds.get(node.name, {})
        gathered[node.name] = {name: own[name] for name in VALUES if name in own}
    shares = dict(_of_shared(tier, list(gathered.values())))
    return {node: own | shares for node, own in gathered.items()}


def _of_shared(tier: Tier, of_nodes: Sequence[Values]) -> Iterator[tuple[str, float]]:
    """What all disks did together, of the limits that they share: means, as no second is needed
    where nothing may be above them."""
    shared = tier.shared or Limits()
    together = counters.summed(of_nodes)
    for name, share in _mean_of_caps(replace(tier, limits=shared), together):
        yield f"shared_{name}", share


def _stated(record: Record) -> dict[str, dict[str, float]]:
    """What the figures of a record say of its nodes' resources, where nothing was sampled. CPU of
    all nodes is their mean and stands for each; what their disks did together does not."""
    figures = [
        m for m in record.measurements if m.metric in VALUES and math.isfinite(m.value)
    ]
    shared = {
        m.metric: m.value for m in figures if (m.metric, m.scope) == ("cpu_pct", "all")
    }
    nodes: dict[str, dict[str, float]] = {"each node": {}} if shared else {}
    for m in figures:
        if m.scope != "all":
            nodes.setdefault(m.scope, {})[m.metric] = m.value
    tier = record.profile.tier
    waits = loads.of_load(record, {})
    return {
        name: {**shared, **own, **dict(_mean_of_caps(tier, own)), **waits}
        for name, own in nodes.items()
    }


def _mean_of_caps(tier: Tier, own: Values) -> Iterator[tuple[str, float]]:
    """Means in the place of medians of seconds, which nobody can know of them."""
    for name, metric, cap in (
        ("iops_of_cap_pct", "disk_iops", tier.limits.iops),
        ("bandwidth_of_cap_pct", "disk_bytes_per_s", tier.limits.bytes_per_s),
    ):
        if cap and metric in own:
            yield name, 100 * own[metric] / cap


# ------------------------------------------------------------------ over the window

_OF_DISK: Mapping[str, list[str]] = counters.GROWTH["disk"]
OF_SERVER: Mapping[str, list[str]] = counters.GROWTH["server"]


def _node(
    node: Node, growth: counters.Growth, machine_cpus: float | None
) -> dict[str, float]:
    """A node's CPU and its disk, the whole disk even if several nodes are on it."""
    values = with_quotients(
        growth.of(node.name, {**_OF_DISK, **counters.GROWTH["container"]})
    )
    busy = growth.per_s(node.name, counters.BUSY_SECONDS)
    if busy is not None:
        values["disk_busy_pct"] = 100 * busy
    used = growth.per_s(node.name, counters.CPU_SECONDS)
    limit = node.cpus or machine_cpus
    if used is not None and limit:
        values |= {"cpu_pct": 100 * used / limit, "node_cores": used}
    return values


def telemetry(
    nodes: Sequence[Node], growth: counters.Growth, cpus: float | None = None
) -> tuple[Measurement, ...]:
    """The telemetry metrics over a window. What was not sampled is absent, never 0. Scope is a
    database node's name, or "all": the sum over their disks of IOPS, bandwidth and queue depth, the
    mean of their CPU, and the wait of all I/Os over the number of all I/Os. `cpus`: cores of the
    machine, for nodes that do not say theirs."""
    on_machines = machines.Machines(nodes, growth, cpus)
    database = [node for node in nodes if node.role == "database"]
    values = {
        n.name: _node(n, growth, machines.cores(nodes, n, cpus)) for n in database
    }
    server = {node.name: growth.of(node.name, OF_SERVER) for node in database}
    return (
        *(
            measured(name, of_node[name], node)
            for name in METRICS
            for node, of_node in values.items()
            if name in of_node
        ),
        *_measured(_all_disks(values, database)),
        *_wal_disks(database, growth),
        *(
            m
            for name, own in server.items()
            for m in _measured(with_quotients(own), name)
        ),
        *_measured(
            with_quotients(counters.summed(list(server.values())), nodes=len(database))
        ),
        *_measured(on_machines.busiest()),
    )


def _measured(values: Values, scope: str = "all") -> Iterator[Measurement]:
    return (
        measured(name, value, scope)
        for name, value in values.items()
        if name in METRICS
    )


def _all_disks(
    values: Mapping[str, Values], database: Sequence[Node]
) -> dict[str, float]:
    """Over all nodes, if each has the value: of its whole disk, which a sum counts once."""
    shared = counters.summed(list(values.values()))
    firsts = [on_it[0].name for on_it in results.by_disk(database).values()]
    each_once = counters.summed([values[first] for first in firsts])
    if "cpu_pct" in shared:
        cpu = {"cpu_pct": shared["cpu_pct"] / len(values)}
    else:
        cpu = {}
    return {**cpu, **with_quotients({n: each_once[n] for n in _OF_DISK if n in shared})}


def _wal_disks(
    database: Sequence[Node], growth: counters.Growth
) -> Iterator[Measurement]:
    """I/O of the disks that hold only WAL: of each node's, and of all together, each disk once.
    They are in no sum of the data disks, because the tier's limits are those of the data disks; one
    that is also the data disk of some node is not in theirs."""
    with_one = [node for node in database if node.wal_device]
    grown = {
        node.name: growth.of(node.name, counters.GROWTH["wal_disk"])
        for node in with_one
    }
    for name, values in grown.items():
        yield from _measured(with_quotients(values), name)
    data = {(results.place(node), node.device) for node in database}
    disks = {
        (results.place(node), node.wal_device): node.name for node in reversed(with_one)
    }
    if all(grown.values()):
        once = [grown[node] for disk, node in disks.items() if disk not in data]
        yield from _measured(with_quotients(counters.summed(once)))


def telemetry_of(
    run: results.RunData, cpus: float | None = None
) -> tuple[Measurement, ...]:
    """`telemetry` over the run's measured window."""
    if run.telemetry.growth:
        return telemetry(run.record.nodes, run.telemetry.growth, cpus)
    return ()


def total(run: results.RunData, cpus: float | None) -> dict[str, float]:
    """The values of all database nodes together and of the busiest machine, over the window.
    Without samples those that the record itself states."""
    nodes = run.record.nodes
    growth = run.telemetry.growth
    if growth is None:
        every = (m for m in run.record.measurements if m.scope == "all")
        return {m.metric: m.value for m in every if m.metric in VALUES}
    together = {m.metric: m.value for m in telemetry_of(run, cpus) if m.scope == "all"}
    return {**together, **machines.Machines(nodes, growth, cpus).busiest()}


def idle_latency_s(
    tier: Tier, gate: Gate | None, reads: float, writes: float, node: str = ""
) -> float | None:
    """Time of an I/O of this mix on the idle disk: declared, else as the gate measured it, on the
    disk of `node` if each has its own. What is only assumed of a real disk comes last."""
    if tier.disk.is_real:
        assumed = tier.latency.assumed
    else:
        assumed = ()
    read_s, write_s = (
        declared_s if declared_s and way not in assumed else measured_s or declared_s
        for way, declared_s, measured_s in (
            ("read", tier.latency.read_s, _gate_latency_s(gate, "latency_read", node)),
            (
                "write",
                tier.latency.write_s,
                _gate_latency_s(gate, "latency_write", node),
            ),
        )
    )
    if (
        reads + writes <= 0
        or (reads > 0 and read_s is None)
        or (writes > 0 and write_s is None)
    ):
        return None
    return (reads * (read_s or 0.0) + writes * (write_s or 0.0)) / (reads + writes)


def _gate_latency_s(
    gate: Gate | None, quantity: GateQuantity, node: str
) -> float | None:
    if gate:
        every = gate.checks
    else:
        every = ()
    checks = [
        check for check in every if check.quantity == quantity and check.measured > 0
    ]
    own = [check for check in checks if node in check.nodes]
    return next((check.measured for check in own or checks), None)
