"""What a plan would do, take and cost, found out without starting anything.

Times are from bytes and rates (`planning.durations`); space is what `checks` holds against
this machine; costs are of the disks of all nodes, a month at list price, and of what the
campaign rents.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from orchestrator.design import costs, purchase_prices
from orchestrator.design.costs import RentedItem
from orchestrator.errors import (
    NotAsked,
    RunError,
    TierbenchError,
    UnavailableError,
    UsageError,
)
from orchestrator.model import Plan, Profile, Workload
from orchestrator.parts import Parts
from orchestrator.planning import durations, planned_loads
from orchestrator.planning.time_left import run_s
from orchestrator.powers import World
from orchestrator.run.beforehand import checks, resource_needs
from orchestrator.run.data import datasets
from orchestrator.run.runs_ahead import spent_times
from orchestrator.tier import Price


@dataclass(frozen=True)
class CellTime:
    """One workload on each tier: `run_s` for the windows of one run, `total_s` for all of them."""

    workload: str
    run_s: float
    runs: int

    @property
    def total_s(self) -> float:
        return self.run_s * self.runs


@dataclass(frozen=True)
class Cost:
    """What a profile's disks cost a month, with its machines if tiers are compared on unlike
    ones. `monthly` None: no price is known."""

    profile: str
    disks: int
    monthly: float | None
    price: Price | None
    with_vms: bool


@dataclass(frozen=True)
class Forecast:
    """What a plan would do, take and cost."""

    cells: tuple[CellTime, ...]
    # All that takes time, with what may be added.
    steps: tuple[durations.TimedStep, ...]
    # Windows that may follow the planned runs, with their seconds.
    later: tuple[tuple[str, float], ...]
    loads: tuple[planned_loads.Load, ...]
    needs: tuple[resource_needs.Need, ...]
    costs: tuple[Cost, ...]
    rented: tuple[RentedItem, ...]
    # The checks that found nothing; what the others found; what could not be checked, and why.
    passed: tuple[str, ...]
    problems: tuple[TierbenchError, ...]
    unchecked: tuple[str, ...]


def look_ahead(plan: Plan, parts: Parts, world: World) -> Forecast:
    """`world` has a platform that is not asked."""
    cells = tuple(_cells(plan))
    data_sets = loads(plan, parts, world)
    steps = durations.steps(plan, data_sets, spent_times.learnt_paces(world.cache))
    checked = _ChecksCarriedOut()
    for name, check in checks.every(plan, parts, world):
        checked.carry_out(name, check)
    return Forecast(
        cells,
        steps,
        later=tuple(_later(plan, cells)),
        loads=data_sets,
        needs=tuple(_needs(plan, parts, world)),
        costs=tuple(_costs(plan)),
        rented=costs.rented(plan),
        passed=tuple(checked.passed),
        problems=tuple(checked.problems.values()),
        unchecked=tuple(checked.unchecked),
    )


def _cells(plan: Plan) -> Iterator[CellTime]:
    runs = Counter(run.workload for run in plan.runs)
    for load in plan.measured:
        yield CellTime(load.name, run_s(load), runs[load.name])


@dataclass
class _ChecksCarriedOut:
    """What checks found; of several tiers alike, once."""

    passed: list[str] = field(default_factory=list)
    problems: dict[str, TierbenchError] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)

    def carry_out(self, name: str, check: Callable[[], None]) -> None:
        try:
            check()
            self.passed.append(name)
        # A dry run asks no cluster and no engine, so what only these know stays open.
        except NotAsked as error:
            self.unchecked.append(f"{name}: {error.what}")
        except (UsageError, UnavailableError, RunError) as error:
            # Profiles with one and the same problem are shown it once.
            self.problems[f"{error.what} {error.mistakes}"] = error


def _later(plan: Plan, cells: Sequence[CellTime]) -> Iterator[tuple[str, float]]:
    """What the schedule of a campaign may add to the plan."""
    runs = sum(cell.runs for cell in cells)
    windows_s = sum(cell.total_s for cell in cells)
    if plan.latency_at_pct is not None:
        load = f"{plan.latency_at_pct:g} % of the slowest tier's capacity"
        yield f"then as many runs again ({runs}), at {load}", windows_s
    if not plan.repeats.looks:
        return
    more = max(plan.repeats.looks) - plan.repeats.repetitions
    if not more:
        return
    times = more / plan.repeats.repetitions
    what = (
        "then one more repetition at a time for each open workload, at "
        f"most {more} of each ({round(runs * times)} runs)"
    )
    yield what, windows_s * times


# Anything that cannot be found out below is a problem that a check has found as well.


def loads(plan: Plan, parts: Parts, world: World) -> tuple[planned_loads.Load, ...]:
    """The data sets of the plan, and which are kept from before."""

    def find(profile: Profile, workload: Workload) -> tuple[str | None, bool] | None:
        with suppress(TierbenchError):
            return datasets.whereabouts(
                profile, workload, plan.repeats.seed, parts, world
            )
        return None

    return planned_loads.loads(plan, find)


def timed(plan: Plan, parts: Parts, world: World) -> Plan:
    """The plan with how long it takes, by what is kept here and was measured here."""
    data_sets = loads(plan, parts, world)
    return durations.timed(plan, data_sets, spent_times.learnt_paces(world.cache))


def _needs(plan: Plan, parts: Parts, world: World) -> Iterator[resource_needs.Need]:
    for profile in plan.profiles:
        # Profiles are checked one by one, so that a problem of one hides nothing of the others.
        alone = replace(plan, profiles=(profile,))
        with suppress(TierbenchError):
            yield from resource_needs.needs(alone, parts.tiers, world)


def _costs(plan: Plan) -> Iterator[Cost]:
    with_vms = purchase_prices.compare_prices(plan.tiers).with_vms
    for profile in plan.profiles:
        yield Cost(
            profile=profile.name,
            disks=purchase_prices.bought_disks(profile),
            monthly=purchase_prices.monthly(profile, with_vms),
            price=profile.tier.price,
            with_vms=with_vms,
        )
