"""What a plan would do, take and cost, found out without starting anything.

The times are the plan's own estimate; space is what `checks` holds against this machine; costs are
of the disks of all nodes, a month at list price, and of what the campaign itself rents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator.errors import TierbenchError, UnavailableError, UsageError
from orchestrator.model import Dataset, Plan
from orchestrator.parts import Parts
from orchestrator.planning.costs import Rented, rented
from orchestrator.planning.plan import as_used, run_s
from orchestrator.platforms.unasked import NotAsked
from orchestrator.powers import World
from orchestrator.run import checks, datasets, space
from orchestrator.tier import Price


@dataclass(frozen=True)
class Cell:
    """One workload on each tier: `run_s` for one run, `total_s` for all on all tiers."""

    workload: str
    run_s: float
    runs: int

    @property
    def total_s(self) -> float:
        return self.run_s * self.runs


@dataclass(frozen=True)
class Load:
    """A data set: how many times it is loaded for all runs, and how many of its copies are kept
    from before. Tiers on the same kind of disk share one."""

    dataset: Dataset
    times: int
    kept: int


@dataclass(frozen=True)
class Cost:
    """What a profile's disks cost a month; `monthly` None: no price is known."""

    profile: str
    disks: int
    monthly: float | None
    price: Price | None


@dataclass(frozen=True)
class Forecast:
    """`beside_s`: loading and gates, roughly. `later`: what may follow when the planned runs are
    made, with the seconds that it takes at most. `passed`: the checks that found nothing;
    `problems`: what the others found; `unchecked`: what they could not, and why."""

    cells: tuple[Cell, ...]
    beside_s: float
    later: tuple[tuple[str, float], ...]
    loads: tuple[Load, ...]
    needs: tuple[space.Need, ...]
    costs: tuple[Cost, ...]
    rented: tuple[Rented, ...]
    passed: tuple[str, ...]
    problems: tuple[TierbenchError, ...]
    unchecked: tuple[str, ...]


def look_ahead(plan: Plan, parts: Parts, world: World) -> Forecast:
    """`world` has a platform that is not asked (`platforms.unasked`)."""
    of_each = [sum(run.workload == load.name for run in plan.runs) for load in plan.workloads]
    cells = [
        Cell(load.name, run_s(load), runs)
        for load, runs in zip(plan.workloads, of_each, strict=True)
    ]
    runs_s = sum(cell.total_s for cell in cells)
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
        cells=tuple(cells),
        beside_s=max(0.0, plan.estimate_s - runs_s * (2 if plan.latency_at_pct else 1)),
        later=tuple(_later(plan, cells)),
        loads=tuple(_loads(plan, parts, world)),
        needs=tuple(_needs(plan, parts, world)),
        costs=tuple(_costs(plan)),
        rented=rented(plan),
        passed=tuple(passed),
        problems=tuple(problems.values()),
        unchecked=tuple(unchecked),
    )


def _later(plan: Plan, cells: Sequence[Cell]) -> Iterator[tuple[str, float]]:
    """What `run.schedule` may add to the plan."""
    runs = sum(cell.runs for cell in cells)
    if plan.latency_at_pct is not None:
        at = f"at {plan.latency_at_pct:g} % of the slowest tier's capacity"
        yield f"then as many runs again ({runs}), {at}", sum(cell.total_s for cell in cells)
    if plan.looks and (more := max(plan.looks) - plan.repetitions):
        each = f"one more repetition at a time of a workload whose decision is open, at most {more}"
        times = more / plan.repetitions
        yield (
            f"then {each} of each ({round(runs * times)} runs)",
            sum(cell.total_s for cell in cells) * times,
        )


# What cannot be found out below is a problem that a check has found as well.


def _loads(plan: Plan, parts: Parts, world: World) -> Iterator[Load]:
    cells = Counter((run.profile, run.workload) for run in plan.runs)
    for dataset in {repr(load.dataset): load.dataset for load in plan.workloads}.values():
        shared: dict[str, bool] = {}
        by_run = 0
        for (profile, workload), runs in cells.items():
            load = plan.workload(workload)
            if load.dataset != dataset:
                continue
            used = as_used(plan.profile(profile), load)
            name, is_there = None, False
            with suppress(TierbenchError):
                name, is_there = datasets.whereabouts(used, load, plan.seed, parts, world)
            by_run += runs if name is None else 0
            shared |= {name: is_there} if name is not None else {}
        kept = sum(shared.values())
        yield Load(dataset, by_run + len(shared) - kept, kept)


def _needs(plan: Plan, parts: Parts, world: World) -> Iterator[space.Need]:
    for profile in plan.profiles:
        with suppress(TierbenchError):
            yield from space.needs(replace(plan, profiles=(profile,)), parts.tiers, world)


def _costs(plan: Plan) -> Iterator[Cost]:
    for profile in plan.profiles:
        price, disks = profile.tier.price, profile.cluster.nodes
        monthly = round(price.monthly * disks, 2) if price else None
        yield Cost(profile.name, disks, monthly, price)
