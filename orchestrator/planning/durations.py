"""How long a plan takes, at least and at most: from bytes and rates. Pure.

At least: what is there goes as fast as it was seen to. At most: each rate is the slowest seen,
every gate is tried three times, and all that may be added to the plan is added. Failures are not
reckoned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.model import Dataset, Plan, Profile, Workload
from orchestrator.planning import disk_matrix, node_disks
from orchestrator.planning.plan import EXISTING, as_used
from orchestrator.tier import Tier

# Measured on PostgreSQL 17: tables with their indexes, of 2,000,000 rows and of 4 warehouses.
ROW_BYTES, WAREHOUSE_BYTES = 256, 105_000_000
GATE_S = 15.0
_GATE_TRIES = 3
_RENT_S = (
    20.0,
    180.0,
)  # until a cloud has made and attached the disks of a claim; they differ widely
_AROUND_S = 6.0, 20.0  # of a run: start and stop disks, database and clients; on busy cores longer
_NODE_S = 1.0, 5.0  # the same, for each node
_WRITTEN = 2, 3  # times that loaded bytes reach a disk: log and pages, and again when merged
_HOST_BYTES_PER_S = 1e9, 1e8  # copying images on the disk of this machine; not of a tier
_WARM_MOST_S = 600.0
_SLOW_DISK_BYTES_PER_S = 1e8  # of a tier that declares no limit, at its slowest
# Checking the consistency of more warehouses than are all checked: 1.5 s for each of the sample,
# measured on two cores; and three conditions read the whole table of payments, 3 MB a warehouse.
SAMPLED_ABOVE = 20
_SAMPLE_S = 1.5 * SAMPLED_ABOVE
_PAYMENTS_BYTES = 3 * 3e6


@dataclass(frozen=True)
class Span:
    """Seconds, at least and at most."""

    least_s: float = 0.0
    most_s: float = 0.0

    def __add__(self, other: Span) -> Span:
        return Span(self.least_s + other.least_s, self.most_s + other.most_s)

    def times(self, least: float, most: float) -> Span:
        return Span(self.least_s * least, self.most_s * most)


@dataclass(frozen=True)
class Rate:
    """Bytes of data that are loaded in a second, at the fastest and at the slowest, and where that
    is known from."""

    fastest: float
    slowest: float
    source: str


# Loading 4 warehouses took 3.8 s alone on a machine with two cores (docs/METHOD.md), 31 s when
# eight programs shared it. YugabyteDB's documentation: 1,000 warehouses in 3.5 h on three
# c5d.4xlarge.
LOADING = {
    "postgresql": Rate(110e6, 13e6, "default, measured on two cores, idle and busy"),
    "yugabytedb": Rate(50e6, 8e6, "default, the slowest by its documentation"),
    EXISTING: Rate(110e6, 8e6, "default of both databases"),
}


def rate_name(database: str, family: str) -> str:
    """Under which the rates of loads on this machine are kept."""
    return f"{database} {family}"


@dataclass(frozen=True)
class Load:
    """A data set on the disk of a tier: how many times it is loaded, at least and at most, and how
    many of its copies are kept from before. `restores`: runs that start from a copy, at most."""

    profile: str
    workload: str
    dataset: Dataset
    times: int
    most_times: int
    kept: int = 0
    restores: int = 0


@dataclass(frozen=True)
class Step:
    """One part of a campaign: `each` of one time; reckoned from `source`."""

    what: str
    total: Span
    source: str


Find = Callable[[Profile, Workload], tuple[str | None, bool] | None]


def loads(plan: Plan, find: Find = lambda *_: None) -> tuple[Load, ...]:
    """`find`: which kept data set the runs of a cell start from, None inside if every run loads,
    and whether it is loaded already; None if that cannot be told beforehand. Tiers on the same kind
    of disk share one."""
    found: dict[str, Load] = {}
    for profile, load, least, most in _cells(plan):
        where = find(profile, load)
        shared = where is None and profile.tier.kind in ("emulated", "cgroup")
        name = where[0] if where else f"shared {load.dataset}" if shared else None
        apart = f"{name or profile.name} {load.dataset}"
        before = found.get(apart)
        if name is None:
            fewest = least if where else 1 if before is None else 0
            one = Load(profile.name, load.name, load.dataset, fewest, most, 0, most)
            if where:
                one = replace(one, restores=0)
        else:
            kept = int(bool(where and where[1]))
            times = 0 if before or kept else 1
            kept = 0 if before else kept
            one = Load(profile.name, load.name, load.dataset, times, times, kept, most)
        if before:
            one = replace(
                before,
                times=before.times + one.times,
                most_times=before.most_times + one.most_times,
                restores=before.restores + one.restores,
            )
        found[apart] = one
    return tuple(found.values())


def spoken(load: Load) -> str:
    """How many times it is loaded."""
    if load.times != load.most_times:
        return f"{load.times} to {load.most_times} times"
    return {0: "not at all", 1: "once"}.get(load.times, f"{load.times} times")


def timed(
    plan: Plan, found: Sequence[Load] | None = None, learnt: Mapping[str, Rate] | None = None
) -> Plan:
    """The plan with its times. `learnt`: rates seen on this machine, by `rate_name`."""
    total = Span()
    for step in steps(plan, found, learnt):
        total += step.total
    return replace(plan, estimate_s=total.least_s, most_s=total.most_s)


def steps(
    plan: Plan, found: Sequence[Load] | None = None, learnt: Mapping[str, Rate] | None = None
) -> tuple[Step, ...]:
    """All that takes time, with what it is reckoned from."""
    found = loads(plan) if found is None else found
    return (
        *_of_runs(plan),
        *(_loading(plan, one, learnt or {}) for one in found),
        *(_restoring(plan, one) for one in found if one.restores),
        _gates(plan),
    )


def run_s(workload: Workload) -> float:
    """The windows of one run, at least."""
    each_s = workload.warmup_s + workload.measure_s
    return each_s * disk_matrix.stretches(workload.options)


def data_bytes(workload: Workload) -> int | None:
    """Of all rows once, with their indexes; None where its parameters do not tell."""
    given = workload.dataset.parameters
    tables, rows, warehouses = (given.get(key) for key in ("tables", "table_size", "warehouses"))
    if isinstance(warehouses, int):
        return warehouses * WAREHOUSE_BYTES
    if isinstance(tables, int) and isinstance(rows, int):
        return tables * rows * ROW_BYTES
    return 0 if workload.database is not None or "threads" in given else None


def most_repetitions(plan: Plan) -> float:
    """Times the planned runs that may be made."""
    return max(plan.looks) / plan.repetitions if plan.looks else 1.0


def _cells(plan: Plan) -> Iterator[tuple[Profile, Workload, int, int]]:
    """Each cell as it is used, with its runs at least and at most."""
    stages = 1 if plan.latency_at_pct is None else 2
    for load in plan.workloads:
        for profile in plan.profiles:
            runs = sum((r.profile, r.workload) == (profile.name, load.name) for r in plan.runs)
            if runs:
                most = round(runs * stages * most_repetitions(plan))
                yield as_used(profile, load), load, runs * stages, most


def _of_runs(plan: Plan) -> Iterator[Step]:
    windows, around, caches, checks = Span(), Span(), Span(), Span()
    for profile, load, least, most in _cells(plan):
        longer_s = max(0.0, (load.warmup_most_s or load.warmup_s) - load.warmup_s)
        windows += Span(run_s(load), run_s(load) + longer_s).times(least, most)
        around += _around(profile).times(least, most)
        if load.database is None:
            caches += _caches(profile, load).times(least, most)
            checks += _checking(profile, load).times(least, most)
    yield Step("warm-up and measuring", windows, "the scale's times")
    yield Step("starting and stopping", around, "defaults, measured on two cores")
    yield Step("filling caches", caches, "memory and data over the tier's rate")
    yield Step("checking the data", checks, "3 MB of payments a warehouse")


def _around(profile: Profile) -> Span:
    nodes = profile.cluster.nodes + profile.cluster.clients - 1
    one = Span(*_AROUND_S) + Span(*_NODE_S).times(nodes, nodes)
    return one + Span(*_RENT_S) if profile.tier.storage_class else one


def _rates(tier: Tier) -> tuple[float, float]:
    """Of a tier's disk: bytes per second at the fastest and at the slowest."""
    return tier.bytes_per_s or _HOST_BYTES_PER_S[0], tier.bytes_per_s or _SLOW_DISK_BYTES_PER_S


def _caches(profile: Profile, load: Workload) -> Span:
    least, most = _sizes(profile, load)
    memory = profile.cluster.node.memory_bytes if profile.cluster.node else most
    fast, slow = _rates(profile.tier)
    # Not all of it is cache, and small reads are slower than the tier's rate.
    return Span(
        0.5 * min(least, memory) / fast, min(_WARM_MOST_S, 5.0 + 2 * min(most, memory) / slow)
    )


def _checking(profile: Profile, load: Workload) -> Span:
    warehouses = load.dataset.parameters.get("warehouses", 0)
    if not isinstance(warehouses, int) or warehouses <= SAMPLED_ABOVE:
        return Span(0.0, 10.0 if warehouses else 0.0)
    fast, slow = _rates(profile.tier)
    read = _PAYMENTS_BYTES * warehouses
    return Span(0.5 * _SAMPLE_S + read / fast / 3, 2 * _SAMPLE_S + 2 * read / slow)


def _sizes(profile: Profile, load: Workload) -> tuple[float, float]:
    """Bytes that a load leaves on one node: at least and at most."""
    cluster, known = profile.cluster, data_bytes(load)
    if known is None:  # no more than the disk is sized for
        return 0.0, float(cluster.node.disk_bytes if cluster.node else 0)
    own = known * cluster.replication_factor / max(1, cluster.nodes)
    return own, own


def _loading(plan: Plan, one: Load, learnt: Mapping[str, Rate]) -> Step:
    load = plan.workload(one.workload)
    profile = as_used(plan.profile(one.profile), load)
    database = profile.cluster.database
    default = LOADING.get(database, LOADING[EXISTING])
    rate = learnt.get(rate_name(database, load.dataset.family), default)
    least, most = _sizes(profile, load)
    all_bytes = data_bytes(load)
    loaded = most * profile.cluster.nodes if all_bytes is None else all_bytes
    seconds = [loaded / rate.fastest if all_bytes is not None else 0.0, loaded / rate.slowest]
    if profile.tier.is_real or database == EXISTING:  # images are loaded without limits
        fast, slow = _rates(profile.tier)
        seconds = [max(seconds[0], _WRITTEN[0] * least / fast), max(seconds[1], 3 * most / slow)]
    each = Span(*seconds) + (_around(profile) if load.database is None else Span())
    what = f"loading {load.dataset.family}, {spoken(one)}"
    mb = f"{rate.slowest / 1e6:.3g} to {rate.fastest / 1e6:.3g} MB/s: {rate.source}"
    return Step(what, each.times(one.times, one.most_times), f"{loaded / 1e9:.3g} GB, {mb}")


def _restoring(plan: Plan, one: Load) -> Step:
    load = plan.workload(one.workload)
    profile = as_used(plan.profile(one.profile), load)
    least, most = _sizes(profile, load)
    if profile.tier.is_real:
        # What has not changed is left alone; at most all is read and written on the same disk.
        each = Span(0.0, 2 * most / _rates(profile.tier)[1] + 120.0)
    else:  # all nodes' images on the machine's disk
        nodes = profile.cluster.nodes
        fast, slow = _HOST_BYTES_PER_S
        each = Span(0.0, most * nodes / slow) + Span(least * nodes / fast, 0.0)
    what = f"restoring {load.dataset.family}, {one.restores} times at most"
    least_times = one.restores / most_repetitions(plan) if one.most_times <= one.times else 0
    source = "the tier's rate" if profile.tier.is_real else "100 MB/s to 1 GB/s: assumed"
    return Step(what, each.times(least_times, one.restores), source)


def _gates(plan: Plan) -> Step:
    """Of all tiers, disk after disk. Those of real disks are taken again, between runs if asked,
    and after the last run without draining; others may be kept from before."""
    least_runs = len(plan.runs) * (1 if plan.latency_at_pct is None else 2)
    total = Span()
    for tier in {profile.tier.name: profile.tier for profile in plan.tiers}.values():
        if tier.kind in ("existing", "none", "dry"):
            continue
        real = tier.is_real
        drains = plan.drain and tier.kind == "mounted"  # a rented volume is another in each run
        drained_s = tier.burst.duration_s if drains and tier.burst else 0.0
        runs = [least_runs, round(least_runs * most_repetitions(plan))]
        before = [1 + ((n - 1) // plan.gate_every if plan.gate_every and real else 0) for n in runs]
        once = Span(GATE_S / 2, GATE_S * 2 * _GATE_TRIES)
        once += Span(*_RENT_S) if tier.storage_class else Span()
        drained = Span(0.0, 1.5 * drained_s + (10.0 if drained_s else 0.0))
        of_tier = (once + drained).times(*before) + (once if real else Span())
        disks = tier.storage_class.nodes if tier.storage_class else max(1, node_disks.count(tier))
        total += of_tier.times(disks if real else 0, disks)
    return Step("truth gates", total, f"{GATE_S:g} s each, three tries at most")
