"""The second part of a campaign with `--latency-at`: all tiers are measured at the same rate.

The first part measures each tier's capacity. The rate is a share of the slowest tier's capacity.
"""

from statistics import median

from orchestrator.analysis import metric_values, results
from orchestrator.analysis.figures import slowed
from orchestrator.design import varied_workloads
from orchestrator.model import Note, Plan, Profile, Workload
from orchestrator.planning import plan

# Significant digits of the rate. More would claim to know the capacity better than it is known.
_DIGITS = 3


def plan_at_same_rate(campaign: results.Results) -> Plan | None:
    """The plan with each workload once more, at a share of the slowest tier's capacity.

    A tier's capacity is the median throughput of its finished closed-loop runs. A tier without
    capacity is left out, which a note says. None if no such part was asked for, or if the plan has
    it already.
    """
    first = campaign.plan
    share_pct = first.latency_at_pct
    if share_pct is None:
        return None
    # It is asked after each part: the second must not be planned again.
    if any(varied_workloads.asked_value(load, "same rate") for load in first.workloads):
        return None
    cells: list[tuple[Workload, list[Profile]]] = []
    notes: list[Note] = []
    for workload in first.workloads:
        capacities = _capacities(campaign, workload)
        measured: list[Profile] = []
        for profile in first.profiles:
            if profile.name in capacities:
                measured.append(profile)
            else:
                notes.append(_without_capacity(workload, profile))
        if capacities:
            # The slowest tier counts: at a rate that it cannot carry, its queue would be measured.
            rate_per_s = _rounded(share_pct / 100 * min(capacities.values()))
            load = varied_workloads.at_load(
                workload, varied_workloads.same_rate(rate_per_s)
            )
            cells.append((load, measured))
    return plan.followed_by(first, cells, notes)


def _rounded(rate_per_s: float) -> float:
    return float(f"{rate_per_s:.{_DIGITS}g}")


def _capacities(campaign: results.Results, workload: Workload) -> dict[str, float]:
    """Profile → its median throughput (1/s). Profiles without a finished run are left out."""
    capacities: dict[str, float] = {}
    for profile in campaign.plan.profiles:
        runs = results.finished(campaign, profile.name, workload.name)
        # Of a window with a slow disk the time before tells what the tier can do.
        scope = "all"
        if workload.slow:
            scope = slowed.BEFORE
        rates: list[float] = []
        for run in runs:
            rate = metric_values.value_of(run.record, "throughput_per_s", scope)
            if rate:
                rates.append(rate)
        if rates:
            capacities[profile.name] = median(rates)
    return capacities


def _without_capacity(workload: Workload, profile: Profile) -> Note:
    return Note(
        "other",
        f"left out of {workload.name} at the same rate, because no run of it found this "
        "tier's capacity",
        profile.name,
    )
