"""A run, and the time and cost of a campaign, each as a line: from records alone."""

from collections.abc import Iterator

from orchestrator import model
from orchestrator.analysis import results
from orchestrator.design import costs
from orchestrator.planning.plan import TimeLeft
from orchestrator.run import campaign_time
from orchestrator.run.judged_runs import JudgedRun
from orchestrator.units import counted, format_moment, format_quantity, format_seconds


def line_of_run(
    record: model.Record, campaign: results.Results, judged: JudgedRun
) -> str:
    """`run 3 of 20, premium × tpcc: 1,234/s, p99 12 ms, limited by the disk's IOPS, 2 doubts`."""
    number = f"run {record.run.number} of {len(campaign.plan.runs)}"
    title = f"{number}, {record.run.profile} × {record.run.workload}"
    if record.outcome != "done":
        return f"{title}: {record.outcome}: {record.failure or ''}"
    parts = list(_figures(record))
    if judged.limit:
        parts.append(judged.limit)
    parts.append(counted(judged.doubts, "doubt"))
    return f"{title}: {', '.join(parts)}"


def _figures(record: model.Record) -> Iterator[str]:
    """The main figures of a run, as far as it has them."""
    figures: dict[str, float] = {}
    for measurement in record.measurements:
        if measurement.scope == "all":
            figures[measurement.metric] = measurement.value
    if "throughput_per_s" in figures:
        yield f"{format_quantity(figures['throughput_per_s'], '')}/s"
    if "nopm" in figures:
        yield f"{format_quantity(figures['nopm'], '')} NOPM"
    if "latency_p99_s" in figures:
        yield f"p99 {format_quantity(figures['latency_p99_s'], 's')}"


def time_and_cost(
    campaign: results.Results, now_s: float, is_going: bool = True
) -> str:
    """How long it has taken and will take, and what it has cost so far. `now_s`: until when its
    last part has taken, which is said to go on."""
    plan = campaign.plan
    elapsed_s = campaign_time.elapsed_s(campaign, now_s)
    parts = [f"{format_seconds(elapsed_s)} so far"]
    left_s = _left_s(campaign, now_s)
    if left_s is not None:
        left = f"about {format_seconds(left_s)} left"
        if is_going:
            left += f", until {format_moment(now_s + left_s)}"
        parts.append(left)
    share = elapsed_s / max(costs.most_s(plan), 1.0)
    amount = costs.total_in_words(costs.rented(plan), share)
    if amount:
        parts.append(f"about {amount} so far")
    return ", ".join(parts)


def _left_s(campaign: results.Results, now_s: float) -> float | None:
    """None after the last run."""
    left = TimeLeft()
    recorded: set[int] = set()
    ended_s = campaign_time.began_s(campaign, now_s)
    for run in campaign.runs:
        recorded.add(run.record.run.number)
        phases = run.record.phases
        if phases:
            ended_s = phases[-1].end_s
            left.took(run.record.workload, ended_s - phases[0].start_s)
    for pause in campaign.plan.pauses:
        ended_s = max(ended_s, pause.ended_s)
    ahead = [run for run in campaign.plan.runs if run.number not in recorded]
    if ahead:
        return max(0.0, left.before(ahead, campaign.plan) - (now_s - ended_s))
    return None
