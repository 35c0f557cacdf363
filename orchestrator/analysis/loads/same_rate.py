"""All tiers at one arrival rate: what follows once the capacity of each is measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from orchestrator.analysis import results
from orchestrator.analysis.results import Results
from orchestrator.model import Note, Plan, Profile, Workload
from orchestrator.planning import load_points, plan

_DIGITS = 3  # of the rate: more would claim to know the capacity better than it is known


def grown(campaign: Results) -> Plan | None:
    """The plan with each workload once more, at its share of the slowest tier's capacity; None if
    none was asked for, or it is there already.

    Capacity is the median throughput of a tier's finished closed-loop runs. A tier without one is
    left out, which a note says.
    """
    made = campaign.plan
    share_pct = made.latency_at_pct
    if share_pct is None or any(one.point is not None for one in made.workloads):
        return None
    cells: list[tuple[Workload, list[Profile]]] = []
    notes: list[Note] = []
    for workload in made.workloads:
        capacities = dict(_capacities(campaign, workload))
        measured = [one for one in made.profiles if one.name in capacities]
        left_out = [one for one in made.profiles if one.name not in capacities]
        notes += [_left_out(one, workload) for one in left_out]
        if measured:
            rate = float(f"{share_pct / 100 * min(capacities.values()):.{_DIGITS}g}")
            cells.append((load_points.at(workload, "same rate", "rate", rate), measured))
    return plan.followed_by(made, cells, notes)


def _capacities(campaign: Results, workload: Workload) -> Iterator[tuple[str, float]]:
    """Tier → transactions/s of those with figures."""
    for profile in campaign.plan.profiles:
        runs = results.finished(campaign, profile.name, workload.name)
        rates = [results.value_of(run.record, "throughput_per_s") for run in runs]
        if found := [rate for rate in rates if rate]:
            yield profile.name, median(found)


def _left_out(profile: Profile, workload: Workload) -> Note:
    text = (
        f"left out of {workload.name} at the same rate, because no run of it found this tier's "
        "capacity"
    )
    return Note("other", text, profile.name)
