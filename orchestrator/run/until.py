"""Repetitions where the figures leave a question open (`--until decided`).

After the last planned run the campaign is judged as it stands. Each workload whose decision is open
gets one more repetition on every tier, so that repetitions stay whole, until none is open or the
most that were asked for are made. What is open is said in `decision.py`, the level of each
such judgement in `looks.py`.
"""

from __future__ import annotations

from pathlib import Path

from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.decisions.decision import decisions
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.statistics.looks import repetitions
from orchestrator.analysis.telemetry.bottlenecks import bottlenecks
from orchestrator.model import Plan
from orchestrator.planning.plan import grown
from orchestrator.powers import Progress
from orchestrator.run.schedule import Following
from orchestrator.system import store


def decided(progress: Progress) -> Following:
    """What follows in a campaign whose plan has `looks`; nothing in others."""

    def following(folder: Path) -> Plan | None:
        campaign = store.load(folder)
        plan = campaign.plan
        if not plan.looks:
            return None
        made = decisions(campaign, bottlenecks(campaign), kinds.find(campaign))
        found = [one for one in made if one.is_open]
        more = [one for one in found if repetitions(plan, one.workload) < max(plan.looks)]
        for decision in found:
            progress.note(_told(plan, decision))
        return grown(plan, [one.workload for one in more]) if more else None

    return following


def _told(plan: Plan, decision: Decision) -> str:
    made, most = repetitions(plan, decision.workload), max(plan.looks)
    what = f"one more of at most {most}" if made < most else "no more, as asked"
    return f"{decision.workload} is open after {made} repetitions, {what}: {decision.reason}"
