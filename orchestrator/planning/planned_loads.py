"""Which data sets a plan loads, how often, and how many runs start from copies of them. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from orchestrator.design.used_profiles import as_used
from orchestrator.model import Dataset, Plan, Profile, Workload
from orchestrator.planning.paces import Span


@dataclass(frozen=True)
class Load:
    """A data set on the disk of a tier."""

    profile: str
    workload: str
    dataset: Dataset
    # The least and the most number of times that it is loaded.
    times: int
    most_times: int
    # The number of its copies that are kept from before.
    kept: int = 0
    # Runs that start from a copy, at most.
    restores: int = 0


def most_repetitions(plan: Plan) -> float:
    """Times the planned runs that may be made."""
    if plan.repeats.looks:
        return max(plan.repeats.looks) / plan.repeats.repetitions
    return 1.0


@dataclass(frozen=True)
class PlannedCell:
    """A workload on a profile as it uses it, with its runs at least and at most."""

    profile: Profile
    workload: Workload
    runs: int
    most_runs: int

    def in_all(self, of_a_run: Span) -> Span:
        return of_a_run.times(self.runs, self.most_runs)


def cells(plan: Plan) -> Iterator[PlannedCell]:
    for load in plan.measured:
        for profile in plan.profiles:
            runs = _planned_runs(plan, profile, load)
            if not runs:
                continue
            used = as_used(profile, load)
            # A probe is measured once, whatever is added to the plan.
            if load in plan.probes:
                yield PlannedCell(used, load, runs, runs)
                continue
            runs *= stages(plan)
            most_runs = round(runs * most_repetitions(plan))
            yield PlannedCell(used, load, runs, most_runs)


def _planned_runs(plan: Plan, profile: Profile, load: Workload) -> int:
    cell = (profile.name, load.name)
    return sum((run.profile, run.workload) == cell for run in plan.runs)


def stages(plan: Plan) -> int:
    """How often each run is made: once more at a given load, if latency is asked for."""
    if plan.latency_at_pct is None:
        return 1
    return 2


# The kept data set from which a cell starts, and whether it is loaded already. The inner None:
# every run loads. The outer None: that cannot be told.
Find = Callable[[Profile, Workload], tuple[str | None, bool] | None]


def _untold(_profile: Profile, _load: Workload) -> None:
    """A `Find` that can tell of no cell."""


@dataclass(frozen=True)
class _Start:
    """What the runs of a cell start from: `data`, if the name of the kept data set is known."""

    data: str | None
    is_loaded: bool
    each_run_loads: bool


def _start_of(cell: PlannedCell, find: Find) -> _Start:
    kept = find(cell.profile, cell.workload)
    if kept is not None:
        data, is_loaded = kept
        return _Start(data, is_loaded, each_run_loads=data is None)
    if not cell.profile.tier.disk.holds_limits:
        return _Start(None, is_loaded=False, each_run_loads=False)
    # Copies on files of ours have no limits: all tiers start from the same one.
    cluster = cell.profile.cluster
    copies = f"{cluster.nodes} {cluster.replication_factor}"
    return _Start(
        f"shared {cell.workload.dataset} {copies}",
        is_loaded=False,
        each_run_loads=False,
    )


def loads(plan: Plan, find: Find = _untold) -> tuple[Load, ...]:
    """The data sets that a plan loads or starts from. Tiers on one kind of disk share theirs."""
    data_sets: dict[str, Load] = {}
    for cell in cells(plan):
        start = _start_of(cell, find)
        key = f"{start.data or cell.profile.name} {cell.workload.dataset}"
        before = data_sets.get(key)
        is_first = before is None
        if before is None:
            before = _not_loaded_yet(cell, start)
        data_sets[key] = _with_runs_of(cell, start, before, is_first)
    return tuple(data_sets.values())


def _not_loaded_yet(cell: PlannedCell, start: _Start) -> Load:
    return Load(
        profile=cell.profile.name,
        workload=cell.workload.name,
        dataset=cell.workload.dataset,
        times=0,
        most_times=0,
        kept=int(start.is_loaded),
    )


def _with_runs_of(
    cell: PlannedCell, start: _Start, before: Load, is_first: bool
) -> Load:
    """A data set with what one more cell loads and copies of it."""
    if start.each_run_loads:
        return replace(
            before,
            times=before.times + cell.runs,
            most_times=before.most_times + cell.most_runs,
        )
    # The first cell loads the data set, and all others start from its copy.
    once = int(is_first and not start.is_loaded)
    most = once
    # It cannot be told whether a run can start from a copy: at most each loads.
    if start.data is None:
        most = cell.most_runs
    return replace(
        before,
        times=before.times + once,
        most_times=before.most_times + most,
        restores=before.restores + cell.most_runs,
    )


def spoken(load: Load) -> str:
    """How many times it is loaded."""
    if load.times != load.most_times:
        return f"{load.times} to {load.most_times} times"
    if load.times == 0:
        return "not at all"
    if load.times == 1:
        return "once"
    return f"{load.times} times"
