"""Repetitions and windows that fit the time there is, instead of a scale's numbers. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator import errors
from orchestrator.design import boxed_work, costs
from orchestrator.model import Plan, Workload
from orchestrator.units import format_seconds

# The number that a decision needs where runs vary by 3 %, and a plentiful one.
REPETITIONS = 5
MOST_REPETITIONS = 20
LEAST_WARMUP_S = 15.0
LEAST_WINDOW_S = 60.0
# Shares of the scale's windows, from all to a twentieth.
_SHARES = [share / 20 for share in range(20, 0, -1)]


def fitted(
    budget_s: float,
    workloads: Sequence[Workload],
    plans: Callable[[Sequence[Workload], int], Plan],
) -> Plan:
    """The plan with most repetitions that by its longest estimate ends in time.

    With windows as long as they are, or as much shorter as five repetitions need; with
    fewer repetitions only of the shortest windows. UsageError if none ends in time.
    """
    loads = list(workloads)
    for share in _SHARES:
        loads = [_shorter(load, share) for load in workloads]
        plan = plans(loads, REPETITIONS)
        if costs.most_s(plan) > budget_s:
            continue
        # Five repetitions took too long with the next longer windows: little time is left.
        if share < 1:
            return plan
        return _most_repeated(budget_s, loads, plans)
    # `loads` have the shortest windows now. A single repetition would have no interval.
    for repetitions in range(REPETITIONS - 1, 1, -1):
        plan = plans(loads, repetitions)
        if costs.most_s(plan) <= budget_s:
            return plan
    raise _too_short(budget_s, plan.estimate_s, costs.most_s(plan))


def _most_repeated(
    budget_s: float,
    loads: Sequence[Workload],
    plans: Callable[[Sequence[Workload], int], Plan],
) -> Plan:
    """The plan with more repetitions than a decision needs, as far as time allows."""
    # The count goes down from the most, so the first that ends in time is the answer.
    for repetitions in range(MOST_REPETITIONS, REPETITIONS, -1):
        plan = plans(loads, repetitions)
        if costs.most_s(plan) <= budget_s:
            return plan
    return plans(loads, REPETITIONS)


def _too_short(budget_s: float, least_s: float, most_s: float) -> errors.UsageError:
    takes = f"{format_seconds(least_s)} to {format_seconds(most_s)}"
    return errors.UsageError(
        f"{format_seconds(budget_s)} is too short: two repetitions take {takes}",
        advice="allow more --time, or compare fewer tiers or workloads",
    )


def _shorter(load: Workload, share: float) -> Workload:
    # The load's time may be a deadline, for what is written back or for a rebuild.
    if load.settle or load.slow or load.lost_after_s is not None:
        return load
    if boxed_work.ends_with_work(load):
        return load
    return replace(
        load,
        warmup_s=_share_of(load.warmup_s, share, LEAST_WARMUP_S),
        measure_s=_share_of(load.measure_s, share, LEAST_WINDOW_S),
    )


def _share_of(seconds: float, share: float, least_s: float) -> float:
    """No less than `least_s`, unless it was less before."""
    return max(min(seconds, least_s), round(share * seconds))
