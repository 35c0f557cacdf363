"""How long a plan takes, at least and at most: from bytes and rates. Pure.

At least: what is there goes as fast as it was seen to. At most: each rate is the
slowest seen, and all that may be added to the plan is added. Failures are not reckoned.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator.design import boxed_work, machines, node_disks
from orchestrator.design.checked_disks import checked_disks
from orchestrator.design.factors import EXISTING
from orchestrator.design.used_profiles import as_used
from orchestrator.model import Plan, Profile, Workload
from orchestrator.planning import paces
from orchestrator.planning.data_sizes import bytes_on_node, loaded_bytes, restored_bytes
from orchestrator.planning.paces import Learnt, Pace, Span
from orchestrator.planning.planned_loads import (
    Load,
    cells,
    loads,
    most_repetitions,
    spoken,
    stages,
)
from orchestrator.planning.time_left import run_s
from orchestrator.texts.prose import listed
from orchestrator.tier import Tier

_RENT_S = 180.0  # the most until a cloud has made and attached the disks of a claim
# Number of times that loaded bytes reach a disk: log and pages; and again when merged.
_WRITTEN_LEAST = 2
_WRITTEN_MOST = 3
_WARM_MOST_S = 600.0
_SLOW_DISK_BYTES_PER_S = 1e8  # the slowest rate of a tier that declares no limit
# Checking the consistency of more warehouses than are all checked: 1.5 s for each of the sample,
# measured on two cores; and three conditions read the whole table of payments, 3 MB a warehouse.
_SAMPLED_ABOVE = 20
_SAMPLE_S = 1.5 * _SAMPLED_ABOVE
_PAYMENTS_BYTES = 3 * 3e6
_ALL_CHECKED_S = 10.0  # the most for so few warehouses that all are checked
# Finding out what of a real disk has changed since its copy was made, at most.
_COMPARED_S = 120.0
# Draining a burst bucket takes longer than it is declared to last, and some seconds to see.
_DRAINED_LONGER = 1.5
_DRAINED_SEEN_S = 10.0


@dataclass(frozen=True)
class TimedStep:
    """One part of a campaign: all that it takes, reckoned from `source`."""

    what: str
    total: Span
    source: str


def timed(
    plan: Plan, data_sets: Sequence[Load] | None = None, learnt: Learnt | None = None
) -> Plan:
    """The plan with its times. `learnt`: what was seen on this machine."""
    total = Span()
    for step in steps(plan, data_sets, learnt):
        total += step.total
    return replace(plan, estimate_s=total.least_s, most_s=total.most_s)


def steps(
    plan: Plan, data_sets: Sequence[Load] | None = None, learnt: Learnt | None = None
) -> tuple[TimedStep, ...]:
    """All that takes time, with what it is reckoned from."""
    learnt = learnt or {}
    if data_sets is None:
        data_sets = loads(plan)
    restored = [data for data in data_sets if data.restores]
    loading = [_loading(plan, data, learnt) for data in data_sets]
    restoring = [_restoring(plan, data, learnt) for data in restored]
    return (*_run_steps(plan, learnt), *loading, *restoring, _gates(plan, learnt))


# ------------------------------------------------------------------ runs


def _run_steps(plan: Plan, learnt: Learnt) -> Iterator[TimedStep]:
    windows = Span()
    around = Span()
    caches = Span()
    checks = Span()
    sources: dict[str, None] = {}
    window_sources: dict[str, None] = {}
    for cell in cells(plan):
        pace = _around(plan, cell.profile, learnt)
        sources[pace.source] = None
        windows += cell.in_all(_windows(cell.profile, cell.workload))
        window_sources[_window_source(cell.workload)] = None
        around += cell.in_all(pace.span)
        caches += cell.in_all(_caches(cell.profile, cell.workload))
        checks += cell.in_all(_checking(cell.profile, cell.workload))
    yield TimedStep("warm-up and measuring", windows, listed(list(window_sources)))
    yield TimedStep("starting and stopping", around, listed(list(sources)))
    yield TimedStep("filling caches", caches, "memory and data over the disk's rate")
    yield TimedStep("checking the data", checks, "3 MB of payments a warehouse")


def _windows(profile: Profile, load: Workload) -> Span:
    """Warm-up and measuring; a warm-up may be longer until rates are steady, and work may be done
    before its deadline."""
    planned_s = run_s(load)
    if boxed_work.ends_with_work(load):
        least_s = boxed_work.least_s(profile, load)
        return Span(min(least_s, planned_s), planned_s)
    warmup_most_s = load.warmup_most_s or load.warmup_s
    longer_s = max(0.0, warmup_most_s - load.warmup_s)
    return Span(planned_s, planned_s + longer_s)


def _window_source(load: Workload) -> str:
    if boxed_work.ends_with_work(load):
        return "bytes over the tier's rate, at most the deadline"
    return "the scale's times"


def _around(plan: Plan, profile: Profile, learnt: Learnt) -> Pace:
    """Starting and stopping all that a run needs, and renting its disks."""
    cluster = profile.cluster
    name = paces.kept_as(paces.AROUND_RUN, profile.tier, plan.platform, cluster)
    pace = paces.pace_of(learnt, name, _around_by_default(profile))
    return replace(pace, span=pace.span + _renting(profile.tier))


def _around_by_default(profile: Profile) -> Pace:
    """The defaults are of one node and one client; others' clusters are not started."""
    cluster = profile.cluster
    default = paces.AROUND.get(cluster.database, paces.AROUND["postgresql"])
    if cluster.database == EXISTING:
        return default
    further = cluster.nodes + cluster.clients - 2
    span = default.span + paces.FURTHER_NODE.times(further, further)
    return replace(default, span=span)


def _renting(tier: Tier) -> Span:
    if tier.disk.storage_class:
        return Span(0.0, _RENT_S)
    return Span()


class _Rates(NamedTuple):
    """Bytes per second of a tier's disk while nothing is measured."""

    fastest: float
    slowest: float


def _rates(tier: Tier) -> _Rates:
    # An emulated disk has no limits while nothing is measured.
    if tier.disk.holds_limits or not tier.limits.bytes_per_s:
        return _Rates(math.inf, _SLOW_DISK_BYTES_PER_S)
    return _Rates(tier.limits.bytes_per_s, tier.limits.bytes_per_s)


def _caches(profile: Profile, load: Workload) -> Span:
    """Reading data into memory before a run that starts warm."""
    if load.database is not None or not load.warm:
        return Span()
    on_node = bytes_on_node(profile, load)
    least_memory = 0.0  # others' nodes: how much of it they have is not known
    most_memory = on_node.most
    if profile.cluster.node:
        least_memory = profile.cluster.node.memory_bytes
        most_memory = least_memory
    rates = _rates(profile.tier)
    # The cache is not all of it, and small reads are slower than the tier's rate.
    least_s = 0.5 * min(on_node.least, least_memory) / rates.fastest
    most_s = 5.0 + 2 * min(on_node.most, most_memory) / rates.slowest
    # Reading ends after _WARM_MOST_S, full or not.
    return Span(min(_WARM_MOST_S, least_s), min(_WARM_MOST_S, most_s))


def _checking(profile: Profile, load: Workload) -> Span:
    """Whether the data of TPC-C are consistent after a run."""
    if load.database is not None:
        return Span()
    warehouses = load.dataset.parameters.get("warehouses", 0)
    if not warehouses:
        return Span()
    if not isinstance(warehouses, int) or warehouses <= _SAMPLED_ABOVE:
        return Span(0.0, _ALL_CHECKED_S)
    rates = _rates(profile.tier)
    read_bytes = _PAYMENTS_BYTES * warehouses
    least_s = 0.5 * _SAMPLE_S + read_bytes / rates.fastest / 3
    most_s = 2 * _SAMPLE_S + 2 * read_bytes / rates.slowest
    return Span(least_s, most_s)


# ------------------------------------------------------------------ loading and restoring


def _loading(plan: Plan, data: Load, learnt: Learnt) -> TimedStep:
    load = plan.workload(data.workload)
    profile = as_used(plan.profile(data.profile), load)
    loaded = loaded_bytes(profile, load)
    pace = _loading_pace(plan, profile, load, learnt, loaded.most)
    once = pace.span.times(loaded.least, loaded.most)
    # Images are loaded without limits; other disks take what reaches them at their rate.
    if profile.tier.disk.is_real or profile.cluster.database == EXISTING:
        once = _longer(once, _writing(profile, load))
    if load.database is None:  # a cluster that loads starts and stops by itself
        once += _around(plan, profile, learnt).span
    what = f"loading {load.dataset.family}, {spoken(data)}"
    source = f"{loaded.most / 1e9:.3g} GB, {pace.rate}"
    return TimedStep(what, once.times(data.times, data.most_times), source)


def _loading_pace(
    plan: Plan, profile: Profile, load: Workload, learnt: Learnt, most_bytes: float
) -> Pace:
    cluster = profile.cluster
    default = paces.LOADING.get(cluster.database, paces.LOADING[EXISTING])
    what = paces.load_of(load)
    name = paces.kept_as(what, profile.tier, plan.platform, cluster)
    return paces.pace_of(learnt, name, default, most_bytes)


def _writing(profile: Profile, load: Workload) -> Span:
    """What reaches a node's disk while data are loaded, at the rate of its tier."""
    on_node = bytes_on_node(profile, load)
    rates = _rates(profile.tier)
    least_s = _WRITTEN_LEAST * on_node.least / rates.fastest
    most_s = _WRITTEN_MOST * on_node.most / rates.slowest
    return Span(least_s, most_s)


def _longer(first: Span, second: Span) -> Span:
    """How long two things take that go on at once: as long as the longer one."""
    least_s = max(first.least_s, second.least_s)
    most_s = max(first.most_s, second.most_s)
    return Span(least_s, most_s)


def _restoring(plan: Plan, data: Load, learnt: Learnt) -> TimedStep:
    load = plan.workload(data.workload)
    profile = as_used(plan.profile(data.profile), load)
    copied = restored_bytes(profile, load)
    default = _restoring_by_default(profile.tier, copied)
    name = paces.kept_as(paces.RESTORE, profile.tier, plan.platform, profile.cluster)
    pace = paces.pace_of(learnt, name, default, copied)
    what = f"restoring {load.dataset.family}, {data.restores} times at most"
    least_times = _least_restores(plan, data)
    total = pace.span.times(copied * least_times, copied * data.restores)
    return TimedStep(what, total, pace.rate)


def _least_restores(plan: Plan, data: Load) -> float:
    """How many restores there are at least.

    A run that may load instead may start without a copy.
    """
    if data.most_times > data.times:
        return 0.0
    return data.restores / most_repetitions(plan)


def _restoring_by_default(tier: Tier, copied_bytes: float) -> Pace:
    if not tier.disk.is_real:
        return paces.RESTORING
    # Unchanged data are left alone. At most all is read and written on the same disk.
    byte_s = 2 / _rates(tier).slowest
    if copied_bytes:
        byte_s += _COMPARED_S / copied_bytes
    return Pace(Span(0.0, byte_s), "the tier's rate")


# ------------------------------------------------------------------ truth gates


def _gates(plan: Plan, learnt: Learnt) -> TimedStep:
    """Disk after disk."""
    total = Span()
    sources: dict[str, None] = {}
    for checked in checked_disks(plan).values():
        profile = checked.largest
        tier = profile.tier
        if not tier.disk.has_gate:
            continue
        name = paces.kept_as(paces.GATES, tier, plan.platform)
        pace = paces.pace_of(learnt, name, paces.ONE_GATE)
        sources[pace.source] = None
        gates_of_disk = _gates_of_a_disk(plan, tier, pace)
        disks = _gated_disks(plan, profile)
        if tier.disk.is_real:
            total += gates_of_disk.times(disks, disks)
        else:  # others may be kept from before
            total += gates_of_disk.times(0, disks)
    return TimedStep("disk checks", total, f"of each disk: {listed(list(sources))}")


def _gates_of_a_disk(plan: Plan, tier: Tier, pace: Pace) -> Span:
    """How long the disk checks of a tier take.

    Those of real disks are made between runs too, if asked, and after the last run without
    draining.
    """
    once = pace.span + _renting(tier)
    runs = len(plan.runs) * stages(plan)
    most_runs = round(runs * most_repetitions(plan))
    drained = once + _draining(plan, tier)
    least = _gates_before(runs, plan, tier)
    total = drained.times(least, _gates_before(most_runs, plan, tier))
    if tier.disk.is_real:
        return total + once
    return total


def _gates_before(runs: int, plan: Plan, tier: Tier) -> int:
    if not plan.disk_checks.gate_every or not tier.disk.is_real:
        return 1
    # A gate comes before the first run, and one between runs after each `gate_every` of them.
    return 1 + (runs - 1) // plan.disk_checks.gate_every


def _draining(plan: Plan, tier: Tier) -> Span:
    """How long it takes to drain the burst bucket.

    A rented volume is another one in each run, and is not drained.
    """
    burst = tier.limits.burst
    if not plan.disk_checks.drain or not tier.disk.is_placed_by_profile or not burst:
        return Span()
    if not burst.duration_s:
        return Span()
    return Span(0.0, _DRAINED_LONGER * burst.duration_s + _DRAINED_SEEN_S)


def _gated_disks(plan: Plan, profile: Profile) -> int:
    """Disks that are made are measured on each machine that runs nodes."""
    on_several = plan.platform == "kubernetes" or machines.named(profile)
    gated = node_disks.gated(profile.tier)
    if on_several and not profile.tier.disk.is_real:
        return gated * profile.cluster.nodes
    return gated
