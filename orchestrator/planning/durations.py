"""How long a plan takes, at least and at most: from bytes and rates. Pure.

At least: what is there goes as fast as it was seen to. At most: each rate is the slowest seen, and
all that may be added to the plan is added. Failures are not reckoned. A rate that this machine was
not seen to have is as measured elsewhere, or from a named source."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import ClusterSpec, Dataset, Plan, Profile, Workload
from orchestrator.planning import machines, node_disks
from orchestrator.planning.plan import EXISTING, as_used, run_s
from orchestrator.tier import Cgroup, Emulated, RealDisks, Tier
from orchestrator.units import format_number, listed

# Measured on PostgreSQL 17: tables with their indexes, of 2,000,000 rows and of 4 warehouses.
ROW_BYTES = 256
WAREHOUSE_BYTES = 105_000_000
_RENT_S = 180.0  # at most, until a cloud has made and attached the disks of a claim
_WRITTEN = (
    2,
    3,
)  # times that loaded bytes reach a disk: log and pages, and again when merged
_WARM_MOST_S = 600.0
_SLOW_DISK_BYTES_PER_S = 1e8  # of a tier that declares no limit, at its slowest
# Checking the consistency of more warehouses than are all checked: 1.5 s for each of the sample,
# measured on two cores; and three conditions read the whole table of payments, 3 MB a warehouse.
_SAMPLED_ABOVE = 20
_SAMPLE_S = 1.5 * _SAMPLED_ABOVE
_PAYMENTS_BYTES = 3 * 3e6
_FARTHEST = 4.0  # times as many bytes as were seen, for which their rate is still taken


@dataclass(frozen=True)
class Span:
    """Seconds, at least and at most."""

    least_s: float = 0.0
    most_s: float = 0.0

    def __add__(self, other: "Span") -> "Span":
        return Span(self.least_s + other.least_s, self.most_s + other.most_s)

    def times(self, least: float, most: float) -> "Span":
        return Span(self.least_s * least, self.most_s * most)


@dataclass(frozen=True)
class Pace:
    """How long a byte, or one time, takes. `source`: of that; `amount`: the most seen at once."""

    each: Span
    source: str
    amount: float = math.inf

    @property
    def rate(self) -> str:
        """Of bytes: how many in a second."""
        least = self.each.least_s
        most = format_number(1e-6 / self.each.most_s)
        fastest = "MB/s or more"
        if least:
            fastest = f"to {format_number(1e-6 / least)} MB/s"
        return f"{most} {fastest}: {self.source}"


_PACES = shipped(__package__, "paces.yaml")


def _pace(known: Mapping[str, Any]) -> Pace:
    return Pace(Span(known["least_s"], known["most_s"]), known["source"])


LOADING = {
    database: Pace(
        Span(1 / known["most_per_s"], 1 / known["least_per_s"]), known["source"]
    )
    for database, known in _PACES["loading"].items()
}
AROUND = {database: _pace(known) for database, known in _PACES["around"].items()}
FURTHER_NODE = _pace(_PACES["further node"]).each
ONE_GATE = _pace(_PACES["gate"])
RESTORING = _pace(_PACES["restoring"])

Learnt = Mapping[str, Pace]
AROUND_RUN = "start and stop"
GATES = "gate"
RESTORE = "restore"


def load_of(workload: Workload) -> str:
    """What loading its data set is called in `kept_as`."""
    return f"load {workload.dataset.family}"


def kept_as(
    what: str, tier: Tier, platform: str, cluster: ClusterSpec | None = None
) -> str:
    """The name under which it is kept how long `what` took here; of images one for all tiers."""
    alike = not tier.disk.is_real and what not in (AROUND_RUN, GATES)
    of = ""
    if cluster:
        of = f"{cluster.database} {cluster.nodes}+{cluster.clients}, "
    return f"{what}: {of}{tier.disk.kind if alike else tier.name}, {platform}"


def pace_of(learnt: Learnt, name: str, default: Pace, amount: float = 1.0) -> Pace:
    """As seen here; of much more than was seen, no narrower than the default."""
    seen = learnt.get(name)
    if seen is None or amount <= _FARTHEST * seen.amount:
        return seen or default
    spans = seen.each, default.each
    wide = Span(min(span.least_s for span in spans), max(span.most_s for span in spans))
    return Pace(wide, f"{default.source}; of less data {seen.source}")


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
class TimedStep:
    """One part of a campaign: all that it takes, reckoned from `source`."""

    what: str
    total: Span
    source: str


Find = Callable[[Profile, Workload], tuple[str | None, bool] | None]


def loads(plan: Plan, find: Find = lambda *_: None) -> tuple[Load, ...]:
    """`find`: which kept data set a cell starts from, None inside if every run loads, and whether
    it is loaded already; None if that cannot be told. Tiers on one kind of disk share theirs."""
    known: dict[str, Load] = {}
    for profile, load, least, most in _cells(plan):
        where = find(profile, load)
        shared = where is None and isinstance(profile.tier.disk, (Emulated, Cgroup))
        copies = f"{profile.cluster.nodes} {profile.cluster.replication_factor}"
        if where:
            name = where[0]
        else:
            name = None
            if shared:
                name = f"shared {load.dataset} {copies}"
        apart = f"{name or profile.name} {load.dataset}"
        kept = int(bool(where and where[1]))
        before = known.get(apart) or Load(
            profile.name, load.name, load.dataset, 0, 0, kept
        )
        once = 1
        if apart in known or kept:
            once = 0
        times = once
        most_times = most
        if name:
            most_times = once
        restores = most
        if where and name is None:
            times = least
            most_times = most
            restores = 0
        known[apart] = replace(
            before,
            times=before.times + times,
            most_times=before.most_times + most_times,
            restores=before.restores + restores,
        )
    return tuple(known.values())


def spoken(load: Load) -> str:
    """How many times it is loaded."""
    if load.times != load.most_times:
        return f"{load.times} to {load.most_times} times"
    return {0: "not at all", 1: "once"}.get(load.times, f"{load.times} times")


def timed(
    plan: Plan, of: Sequence[Load] | None = None, learnt: Learnt | None = None
) -> Plan:
    """The plan with its times. `of`: its data sets; `learnt`: what was seen on this machine."""
    total = sum((step.total for step in steps(plan, of, learnt)), Span())
    return replace(plan, estimate_s=total.least_s, most_s=total.most_s)


def steps(
    plan: Plan, of: Sequence[Load] | None = None, learnt: Learnt | None = None
) -> tuple[TimedStep, ...]:
    """All that takes time, with what it is reckoned from."""
    if of is None:
        of = loads(plan)
    else:
        of = of
    learnt = learnt or {}
    return (
        *_of_runs(plan, learnt),
        *(_loading(plan, data, learnt) for data in of),
        *(_restoring(plan, data, learnt) for data in of if data.restores),
        _gates(plan, learnt),
    )


def data_bytes(workload: Workload) -> int | None:
    """Of all rows once, with their indexes; None where its parameters do not tell."""
    given = workload.dataset.parameters
    tables, rows, warehouses = (
        given.get(key) for key in ("tables", "table_size", "warehouses")
    )
    rows = given.get("rows", rows)
    size = given.get("bytes")
    if isinstance(size, int):
        return size
    if isinstance(warehouses, int):
        return warehouses * WAREHOUSE_BYTES
    if isinstance(tables, int) and isinstance(rows, int):
        return tables * rows * ROW_BYTES
    if workload.database is not None or "threads" in given:
        return 0
    return None


def most_repetitions(plan: Plan) -> float:
    """Times the planned runs that may be made."""
    if plan.looks:
        return max(plan.looks) / plan.repetitions
    return 1.0


def _cells(plan: Plan) -> Iterator[tuple[Profile, Workload, int, int]]:
    """Each cell as it is used, with its runs at least and at most."""
    stages = 2
    if plan.latency_at_pct is None:
        stages = 1
    for load in plan.measured:
        once = load in plan.probes
        for profile in plan.profiles:
            runs = sum(
                (r.profile, r.workload) == (profile.name, load.name) for r in plan.runs
            )
            if runs:
                least = runs * (1 if once else stages)
                if once:
                    most = least
                else:
                    most = round(least * most_repetitions(plan))
                yield as_used(profile, load), load, least, most


def _of_runs(plan: Plan, learnt: Learnt) -> Iterator[TimedStep]:
    windows = Span()
    around = Span()
    caches = Span()
    checks = Span()
    sources: dict[str, None] = {}
    for profile, load, least, most in _cells(plan):
        longer_s = max(0.0, (load.warmup_most_s or load.warmup_s) - load.warmup_s)
        windows += Span(run_s(load), run_s(load) + longer_s).times(least, most)
        pace = _around(plan, profile, learnt)
        around += pace.each.times(least, most)
        sources[pace.source] = None
        if load.database is None:
            if load.warm:
                caches += _caches(profile, load).times(least, most)
            else:
                caches += Span()
            checks += _checking(profile, load).times(least, most)
    yield TimedStep("warm-up and measuring", windows, "the scale's times")
    yield TimedStep("starting and stopping", around, listed(list(sources)))
    yield TimedStep("filling caches", caches, "memory and data over the disk's rate")
    yield TimedStep("checking the data", checks, "3 MB of payments a warehouse")


def _around(plan: Plan, profile: Profile, learnt: Learnt) -> Pace:
    cluster = profile.cluster
    default = AROUND.get(cluster.database, AROUND["postgresql"])
    if cluster.database == EXISTING:
        nodes = 0
    else:
        nodes = cluster.nodes + cluster.clients - 2
    default = replace(default, each=default.each + FURTHER_NODE.times(nodes, nodes))
    pace = pace_of(
        learnt, kept_as(AROUND_RUN, profile.tier, plan.platform, cluster), default
    )
    rent = Span(0.0, _RENT_S if profile.tier.disk.storage_class else 0.0)
    return replace(pace, each=pace.each + rent)


def _rates(tier: Tier) -> tuple[float, float]:
    """Of a tier's disk while nothing is measured: bytes per second at the fastest and at the
    slowest. An emulated one has no limits then."""
    if isinstance(tier.disk, Emulated):
        return math.inf, _SLOW_DISK_BYTES_PER_S
    return (
        tier.limits.bytes_per_s or math.inf,
        tier.limits.bytes_per_s or _SLOW_DISK_BYTES_PER_S,
    )


def _caches(profile: Profile, load: Workload) -> Span:
    least, most = _sizes(profile, load)
    memory = most
    if profile.cluster.node:
        memory = profile.cluster.node.memory_bytes
    fast, slow = _rates(profile.tier)
    # Not all of it is cache, and small reads are slower than the tier's rate.
    most_s = min(_WARM_MOST_S, 5.0 + 2 * min(most, memory) / slow)
    return Span(0.5 * min(least, memory) / fast, most_s)


def _checking(profile: Profile, load: Workload) -> Span:
    warehouses = load.dataset.parameters.get("warehouses", 0)
    if not isinstance(warehouses, int) or warehouses <= _SAMPLED_ABOVE:
        return Span(0.0, 10.0 if warehouses else 0.0)
    fast, slow = _rates(profile.tier)
    read = _PAYMENTS_BYTES * warehouses
    return Span(0.5 * _SAMPLE_S + read / fast / 3, 2 * _SAMPLE_S + 2 * read / slow)


def _sizes(profile: Profile, load: Workload) -> tuple[float, float]:
    """Bytes that a load leaves on one node: at least and at most."""
    cluster = profile.cluster
    known = data_bytes(load)
    if known is None:  # no more than the disk is sized for
        return 0.0, float(cluster.node.disk_bytes if cluster.node else 0)
    own = known * cluster.replication_factor / max(1, cluster.nodes)
    return own, own


def _loading(plan: Plan, data: Load, learnt: Learnt) -> TimedStep:
    load = plan.workload(data.workload)
    profile = as_used(plan.profile(data.profile), load)
    database = profile.cluster.database
    default = LOADING.get(database, LOADING[EXISTING])
    least, most = _sizes(profile, load)
    all_bytes = data_bytes(load)
    if all_bytes is None:
        loaded = most * profile.cluster.nodes
    else:
        loaded = all_bytes
    name = kept_as(load_of(load), profile.tier, plan.platform, profile.cluster)
    pace = pace_of(learnt, name, default, loaded)
    each = pace.each.times(0.0 if all_bytes is None else loaded, loaded)
    if (
        profile.tier.disk.is_real or database == EXISTING
    ):  # images are loaded without limits
        fast, slow = _rates(profile.tier)
        written = Span(_WRITTEN[0] * least / fast, _WRITTEN[1] * most / slow)
        each = Span(
            max(each.least_s, written.least_s), max(each.most_s, written.most_s)
        )
    if load.database is None:
        each += _around(plan, profile, learnt).each
    else:
        each += Span()
    what = f"loading {load.dataset.family}, {spoken(data)}"
    source = f"{loaded / 1e9:.3g} GB"
    return TimedStep(
        what, each.times(data.times, data.most_times), f"{source}, {pace.rate}"
    )


def restored_bytes(profile: Profile, load: Workload) -> float:
    """What a start from a copy copies at most: of real disks one node's, else all nodes'."""
    return _sizes(profile, load)[1] * (
        1 if profile.tier.disk.is_real else profile.cluster.nodes
    )


def _restoring(plan: Plan, data: Load, learnt: Learnt) -> TimedStep:
    load = plan.workload(data.workload)
    profile = as_used(plan.profile(data.profile), load)
    default = RESTORING
    copied = restored_bytes(profile, load)
    if profile.tier.disk.is_real:
        # What has not changed is left alone; at most all is read and written on the same disk.
        longest_s = 2 / _rates(profile.tier)[1] + (120.0 / copied if copied else 0.0)
        default = Pace(Span(0.0, longest_s), "the tier's rate")
    kept = kept_as(RESTORE, profile.tier, plan.platform, profile.cluster)
    pace = pace_of(learnt, kept, default, copied)
    what = f"restoring {load.dataset.family}, {data.restores} times at most"
    least_times = 0.0
    if data.most_times <= data.times:
        least_times = data.restores / most_repetitions(plan)
    total = pace.each.times(copied * least_times, copied * data.restores)
    return TimedStep(what, total, pace.rate)


def _gates(plan: Plan, learnt: Learnt) -> TimedStep:
    """Disk after disk. Those of real ones are taken again, between runs if asked, and after the
    last without draining; others may be kept from before."""
    least_runs = len(plan.runs) * (1 if plan.latency_at_pct is None else 2)
    total = Span()
    sources = dict[str, None]()
    for profile in {profile.tier.name: profile for profile in plan.tiers}.values():
        tier = profile.tier
        if not tier.disk.has_gate:
            continue
        real = tier.disk.is_real
        # A rented volume is another in each run.
        drains = plan.drain and isinstance(tier.disk, RealDisks)
        drained_s = 0.0
        if drains and tier.limits.burst:
            drained_s = tier.limits.burst.duration_s
        runs = least_runs, round(least_runs * most_repetitions(plan))
        before = [
            1 + ((n - 1) // plan.gate_every if plan.gate_every and real else 0)
            for n in runs
        ]
        pace = pace_of(learnt, kept_as(GATES, tier, plan.platform), ONE_GATE)
        sources[pace.source] = None
        once = pace.each + Span(0.0, _RENT_S if tier.disk.storage_class else 0.0)
        drained = Span(0.0, 1.5 * drained_s + (10.0 if drained_s else 0.0))
        of_tier = (once + drained).times(*before) + (once if real else Span())
        # Disks that are made are measured on each machine that runs nodes.
        apart = plan.platform == "kubernetes" or machines.named(profile)
        if real or not apart:
            disks = max(1, node_disks.count(tier))
        else:
            disks = profile.cluster.nodes
        total += of_tier.times(disks if real else 0, disks)
    return TimedStep("truth gates", total, f"of each disk: {listed(list(sources))}")
