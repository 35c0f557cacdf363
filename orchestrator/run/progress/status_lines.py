"""A run, and the time and cost of a campaign, each as a line: from records alone."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from orchestrator.design import costs
from orchestrator.model import Plan
from orchestrator.planning.time_left import TimeLeft
from orchestrator.run.progress import campaign_time
from orchestrator.run.progress.judged_runs import JudgedRun
from orchestrator.run.progress.outlines import CampaignOutline, RunOutline
from orchestrator.texts.prose import counted
from orchestrator.units import format_moment, format_seconds


def line_of_run(judged: JudgedRun, runs: int) -> str:
    """`run 3 of 20, premium × tpcc: 1,234/s, p99 12 ms, limited by the disk's IOPS, 2 notes`.
    `runs`: how many are planned."""
    findings = [counted(judged.doubts, "note")]
    if judged.limit:
        findings.insert(0, judged.limit)
    return _line(judged.outline, findings, runs)


def line_of_unjudged_run(outline: RunOutline, runs: int) -> str:
    """The line of a run of which only the record is known: without its limit and its notes."""
    return _line(outline, ["not judged yet"], runs)


def _line(outline: RunOutline, findings: Sequence[str], runs: int) -> str:
    """`findings`: what was judged of a run that finished."""
    run = outline.run
    title = f"run {run.number} of {runs}, {run.profile} × {run.workload}"
    # A run that failed has no figures, only why.
    if outline.outcome != "done":
        return f"{title}: {outline.outcome}: {outline.failure}"
    return f"{title}: {', '.join([*outline.figures, *findings])}"


def not_judged(unjudged: int, finished: int, folder: Path) -> str:
    """How many finished runs are not judged, or not with all others, and which command judges
    them."""
    command = f"`tierbench analyze {shlex.quote(str(folder))}`"
    if unjudged:
        runs = counted(finished, "finished run")
        return f"{unjudged} of {runs} not judged yet: {command} does it"
    return (
        "what the runs so far decide is not judged yet: "
        f"the end of the next run does it, or {command}"
    )


def time_and_cost(campaign: CampaignOutline, now_s: float, is_going: bool) -> str:
    """How long it has taken and will take, and what it has cost so far. `now_s`: until when its
    last part has taken, which is said to go on."""
    plan = campaign.plan
    elapsed_s = campaign_time.elapsed_s(campaign, now_s)
    parts = [f"{format_seconds(elapsed_s)} so far"]
    left_s = _left_s(campaign, now_s)
    # A run may take longer than expected.
    if left_s is not None and left_s <= 0:
        parts.append("longer than expected")
    elif left_s is not None:
        left = f"about {format_seconds(left_s)} left"
        if is_going:
            left += f", until {format_moment(now_s + left_s)}"
        parts.append(left)
    amount = cost_so_far(plan, elapsed_s)
    if amount:
        parts.append(f"about {amount} so far")
    return ", ".join(parts)


def cost_so_far(plan: Plan, elapsed_s: float) -> str:
    """What was rented in that time, at list price; empty if nothing is, or no price is known."""
    # The price of all is of the longest time that the plan may take.
    share = elapsed_s / max(costs.most_s(plan), 1.0)
    return costs.total_in_words(costs.rented(plan), share)


def _left_s(campaign: CampaignOutline, now_s: float) -> float | None:
    """How many seconds the campaign still takes; None after the last run. Below 0: it should have
    ended so long ago."""
    plan = campaign.plan
    recorded = {outline.run.number for outline in campaign.runs}
    ahead = [run for run in plan.runs if run.number not in recorded]
    if not ahead:
        return None
    left = TimeLeft()
    # The first run is in progress since the campaign began, until a run has ended.
    ended_s = campaign_time.began_s(campaign, now_s)
    for outline in campaign.runs:
        if outline.began_s is not None and outline.ended_s is not None:
            ended_s = outline.ended_s
            workload = plan.workload(outline.run.workload)
            left.took(workload, ended_s - outline.began_s)
    # A pause is no part of the run in progress, which began when it was over.
    for pause in plan.pauses:
        ended_s = max(ended_s, pause.ended_s)
    return left.before(ahead, plan) - (now_s - ended_s)
