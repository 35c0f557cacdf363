"""The runs of a campaign in their order, while its plan may grow by what they find.

A campaign with a fixed number of repetitions is its plan. Others ask, when all planned runs are
made, for a plan with more of them: `Following` decides, from the campaign's files alone.

Runs that failed are repeated first. With `--until decided` the campaign is then judged as it
stands. Each workload whose decision is open gets one more repetition on every tier, so that
repetitions stay whole, until none is open or the most that were asked for are made. What is open is
said in `decision.py`, the level of each such judgement in `looks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.decisions.decision import decisions
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.statistics.looks import repetitions
from orchestrator.analysis.telemetry.bottlenecks import bottlenecks
from orchestrator.errors import TierbenchError
from orchestrator.model import Note, Plan, Run
from orchestrator.planning.plan import grown
from orchestrator.powers import Progress
from orchestrator.system import store

# The campaign's folder → its plan with further runs behind those made, or None: it is done.
Following = Callable[[Path], Plan | None]


def nothing(_: Path) -> Plan | None:
    """A campaign whose runs are all planned before the first."""
    return None


def first_of(*several: Following) -> Following:
    """What the first of them adds that adds anything."""

    def following(folder: Path) -> Plan | None:
        return next((plan for one in several if (plan := one(folder)) is not None), None)

    return following


class Schedule:
    """`plan` is what stands now, as written in the campaign's folder. `warn` is told what stays
    open because the runs could not be judged. `made`: numbers of runs that have their record."""

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        following: Following,
        warn: Callable[[str], None],
        made: Collection[int] = (),
    ) -> None:
        self.plan, self._made = plan, set(made)
        self.folder, self._following, self._warn = folder, following, warn

    def __iter__(self) -> Iterator[Run]:
        if not self.left:
            self._grow()  # the program was ended before it asked
        while left := self.left:
            yield left[0]
            self._made.add(left[0].number)

    @property
    def left(self) -> tuple[Run, ...]:
        """The runs that have no record yet, in their order."""
        return tuple(run for run in self.plan.runs if run.number not in self._made)

    def after(self, run: Run) -> None:
        """To be called when `run` has its record: lets the plan grow if it was the last."""
        if self.is_last(run):
            self._grow()

    def _grow(self) -> None:
        try:
            grown = self._following(self.folder)
        except Exception as error:  # what was measured gets its last gate and report all the same
            what = error.what if isinstance(error, TierbenchError) else repr(error)
            text = f"whether more runs are wanted could not be told: {what}"
            self._warn(text)
            grown = replace(self.plan, notes=(*self.plan.notes, Note("other", text)))
        if grown is not None:
            store.save_plan(self.folder, grown)
            self.plan = grown

    def is_last(self, run: Run) -> bool:
        """Whether no run is planned after `run`."""
        return not any(one.number > run.number for one in self.left)


def retried(folder: Path) -> Plan | None:
    """Each run that failed once more behind all others, as often as the plan allows: the same cell,
    repetition and seed under another number."""
    campaign = store.load(folder, tables=False)
    plan = campaign.plan
    failed = {one.record.run.number for one in campaign.runs if one.record.outcome == "failed"}
    attempts: dict[Run, list[Run]] = {}
    for run in plan.runs:
        attempts.setdefault(replace(run, number=0), []).append(run)
    again = [
        replace(made[-1], number=0)
        for made in attempts.values()
        if made[-1].number in failed and len(made) <= plan.retry_failed
    ]
    more = [replace(run, number=n) for n, run in enumerate(again, start=len(plan.runs) + 1)]
    return replace(plan, runs=(*plan.runs, *more)) if more else None


def decided(progress: Progress) -> Following:
    """What follows in a campaign whose plan has `looks`; nothing in others."""

    def following(folder: Path) -> Plan | None:
        campaign = store.load(folder)
        plan = campaign.plan
        if not plan.looks:
            return None
        limits, doubts = bottlenecks(campaign), kinds.find(campaign)
        found = [one for one in decisions(campaign, limits, doubts) if one.is_open]
        more = [one for one in found if repetitions(plan, one.workload) < max(plan.looks)]
        for decision in found:
            progress.note(_told(plan, decision))
        return grown(plan, [one.workload for one in more]) if more else None

    return following


def _told(plan: Plan, decision: Decision) -> str:
    made, most = repetitions(plan, decision.workload), max(plan.looks)
    what = f"one more of at most {most}" if made < most else "no more, as asked"
    return f"{decision.workload} is open after {made} repetitions, {what}: {decision.reason}"
