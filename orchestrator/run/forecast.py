"""What a plan would do, take and cost, found out without starting anything.

Times are from bytes and rates (`planning.durations`); space is what `checks` holds against this
machine; costs are of the disks of all nodes, a month at list price, and of what the campaign rents.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator.errors import TierbenchError, UnavailableError, UsageError
from orchestrator.model import Plan, Profile, Workload
from orchestrator.parts import Parts
from orchestrator.planning import costs, durations, planned_loads
from orchestrator.planning.costs import RentedItem
from orchestrator.planning.plan import run_s
from orchestrator.platforms.dry import NotAsked
from orchestrator.powers import World
from orchestrator.run import checks, datasets, observed
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
    """What a profile's disks cost a month, with its machines if tiers are compared on unlike ones;
    `monthly` None: no price is known."""

    profile: str
    disks: int
    monthly: float | None
    price: Price | None
    with_vms: bool


@dataclass(frozen=True)
class Forecast:
    """`steps`: all that takes time, with what may be added. `later`: what may follow when the
    planned runs are made, with the seconds of its windows. `passed`: the checks that found nothing;
    `problems`: what the others found; `unchecked`: what they could not, and why."""

    cells: tuple[CellTime, ...]
    steps: tuple[durations.TimedStep, ...]
    later: tuple[tuple[str, float], ...]
    loads: tuple[planned_loads.Load, ...]
    needs: tuple[checks.Need, ...]
    costs: tuple[Cost, ...]
    rented: tuple[RentedItem, ...]
    passed: tuple[str, ...]
    problems: tuple[TierbenchError, ...]
    unchecked: tuple[str, ...]


def look_ahead(plan: Plan, parts: Parts, world: World) -> Forecast:
    """`world` has a platform that is not asked."""
    runs = Counter(run.workload for run in plan.runs)
    cells = tuple(
        CellTime(load.name, run_s(load), runs[load.name]) for load in plan.measured
    )
    data_sets = loads(plan, parts, world)
    passed: list[str] = []
    problems: dict[str, TierbenchError] = {}  # of several tiers alike, once
    unchecked: list[str] = []
    for name, check in checks.every(plan, parts, world):
        try:
            check()
            passed.append(name)
        except NotAsked as error:
            unchecked.append(f"{name}: {error.what}")
        except (UsageError, UnavailableError) as error:
            problems[f"{error.what} {getattr(error, 'mistakes', '')}"] = error
    return Forecast(
        cells=cells,
        steps=durations.steps(plan, data_sets, observed.learnt(world.cache)),
        later=tuple(_later(plan, cells)),
        loads=data_sets,
        needs=tuple(_needs(plan, parts, world)),
        costs=tuple(_costs(plan)),
        rented=costs.rented(plan),
        passed=tuple(passed),
        problems=tuple(problems.values()),
        unchecked=tuple(unchecked),
    )


def _later(plan: Plan, cells: Sequence[CellTime]) -> Iterator[tuple[str, float]]:
    """What `run.schedule` may add to the plan."""
    runs = sum(cell.runs for cell in cells)
    if plan.latency_at_pct is not None:
        at = f"at {plan.latency_at_pct:g} % of the slowest tier's capacity"
        yield (
            f"then as many runs again ({runs}), {at}",
            sum(cell.total_s for cell in cells),
        )
    if plan.looks and (more := max(plan.looks) - plan.repetitions):
        each = f"one more repetition at a time of a workload whose decision is open, at most {more}"
        times = more / plan.repetitions
        what = f"then {each} of each ({round(runs * times)} runs)"
        yield what, sum(cell.total_s for cell in cells) * times


# What cannot be found out below is a problem that a check has found as well.


def loads(plan: Plan, parts: Parts, world: World) -> tuple[planned_loads.Load, ...]:
    """The data sets of the plan, and which are kept from before."""

    def find(profile: Profile, workload: Workload) -> tuple[str | None, bool] | None:
        with suppress(TierbenchError):
            return datasets.whereabouts(profile, workload, plan.seed, parts, world)
        return None

    return planned_loads.loads(plan, find)


def timed(plan: Plan, parts: Parts, world: World) -> Plan:
    """The plan with how long it takes, by what is kept here and was measured here."""
    return durations.timed(
        plan, loads(plan, parts, world), observed.learnt(world.cache)
    )


def _needs(plan: Plan, parts: Parts, world: World) -> Iterator[checks.Need]:
    for profile in plan.profiles:
        with suppress(TierbenchError):
            yield from checks.needs(
                replace(plan, profiles=(profile,)), parts.tiers, world
            )


def _costs(plan: Plan) -> Iterator[Cost]:
    with_vms, _, _ = costs.compare_prices(plan.tiers)
    for profile in plan.profiles:
        amount = costs.monthly(profile, with_vms)
        disks = costs.bought_disks(profile)
        yield Cost(profile.name, disks, amount, profile.tier.price, with_vms)
