"""The runs of a campaign in their order, while its plan may grow by what they find.

When all planned runs are made, `Following` decides from the campaign's files alone if the
plan grows: by those that failed, and with `--until decided` by one repetition on every tier
of each workload that is open (`decision.py`; the level of each such judgement: `looks.py`).

One failure costs one run (`Setbacks`). Before the next begins the engine must answer again,
and leftovers are removed. If three runs in a row fail for the same cause, the campaign ends.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.decisions.decision import decisions_so_far
from orchestrator.analysis.doubts import noted
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics.looks import repetitions
from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.model import Doubt, Note, Plan, Run
from orchestrator.planning.plan import attempts, grown, interruptions, numbered
from orchestrator.powers import Platform, Progress, World
from orchestrator.system import campaign_writing, clock, store
from orchestrator.units import format_seconds

IN_A_ROW = 3
ENGINE_BACK_S = 1800.0  # the longest upgrade of a cluster's control plane
# These parts of a message are blanked, so that one cause has one text.
_NUMBER = re.compile(r"\d+(\.\d+)?")
# The campaign's folder → its plan with further runs behind those made, or None: it adds nothing.
Following = Callable[[Path], Plan | None]


@dataclass
class Schedule:
    """`plan` is what stands now, as written in the campaign's folder.

    The first of `following` that adds anything lets it grow. `warn` is told what stays
    open because the runs could not be judged. `recorded`: numbers of runs that have a
    record.
    """

    plan: Plan
    folder: Path
    following: Sequence[Following]
    warn: Callable[[str], None]
    recorded: set[int]

    def __iter__(self) -> Iterator[Run]:
        if not self.left:
            self._grow()  # the program was ended before it asked
        while self.left:
            run = self.left[0]
            yield run
            self.recorded.add(run.number)

    @property
    def left(self) -> tuple[Run, ...]:
        """The runs that have no record yet, in their order."""
        return tuple(run for run in self.plan.runs if run.number not in self.recorded)

    def after(self, run: Run) -> None:
        """Is called when `run` has its record. After the last run it lets the plan grow."""
        if self.is_last(run):
            self._grow()

    def _grow(self) -> None:
        try:
            grown = self._grown()
        except Exception as error:
            # The last gate and the report are made all the same of what was measured.
            grown = self._not_judged(error)
        if grown is not None:
            campaign_writing.save_plan(self.folder, grown)
            self.plan = grown

    def _grown(self) -> Plan | None:
        # The plan grows by one at a time: when its runs are made, all are asked again.
        for following in self.following:
            plan = following(self.folder)
            if plan:
                return plan
        return None

    def _not_judged(self, error: Exception) -> Plan:
        what = repr(error)
        if isinstance(error, TierbenchError):
            what = error.what
        text = f"whether more runs are needed is not known: {what}"
        self.warn(text)
        note = Note("other", text)
        return replace(self.plan, notes=(*self.plan.notes, note))

    def is_last(self, run: Run) -> bool:
        """Whether no run is planned after `run`."""
        return not any(ahead.number > run.number for ahead in self.left)


class _FailedRun(NamedTuple):
    """`cause`: why it failed, without names of containers, times and sizes."""

    run: Run
    cause: str


class Setbacks:
    """What went wrong in the runs so far."""

    def __init__(
        self, schedule: Schedule, world: World, left: RunError | None = None
    ) -> None:
        """`left`: why what an earlier campaign left could not be removed."""
        self._schedule = schedule
        self._world = world
        self._row: list[_FailedRun] = []  # those that failed in a row
        self._left = left

    def doubts(self, run: Run) -> list[Doubt]:
        """Doubts about a run that begins now."""
        doubts = []
        if self._left is not None:
            left = self._left.what
            advice = self._left.advice
            doubts.append(noted.leftovers(run.number, left, advice))
        for first in self._schedule.plan.runs[: run.number - 1]:
            # The same but for its number: it is made again behind all others.
            if replace(first, number=run.number) == run:
                doubts.append(noted.out_of_order(run.number, first.number, first.slug))
        return doubts

    def after(self, run: Run, failure: str | None, trouble: Exception | None) -> None:
        """Prepares for the next run.

        `failure` is why `run` failed, None if it is done; `trouble`: the exception raised,
        even if only taking down failed. UnavailableError if the engine stays away or
        another campaign has it; that or RunError after three runs with one cause.
        """
        # Another campaign may have measured at the same time if the guard was lost.
        self._world.platform.guard.beats.require()
        self._count(run, failure)
        if trouble is not None:
            self._stop_after_three(failure, trouble)
        # A good run leaves nothing behind, so neither engine nor leftovers are asked for.
        in_the_way = trouble is not None or self._left is not None
        if in_the_way and not self._schedule.is_last(run):
            self._clean_up()

    def _count(self, run: Run, failure: str | None) -> None:
        if failure is None:
            # A run that is done shows that nothing holds all of them up.
            self._row.clear()
            return
        # Each run has other names and times in the words of one cause.
        cause = _NUMBER.sub("#", failure)
        if self._row and self._row[-1].cause != cause:
            # Another cause: the row begins anew with this run.
            self._row.clear()
        self._row.append(_FailedRun(run, cause))

    def _stop_after_three(self, why: str | None, trouble: Exception) -> None:
        if len(self._row) < IN_A_ROW:
            return
        last = self._row[-1].run
        failed = {failure.run.workload for failure in self._row}
        planned = {run.workload for run in self._schedule.plan.runs[last.number :]}
        # The runs of one workload on all tiers stand in a row: it must not cost the others theirs.
        if len(failed) == 1 and planned - failed:
            return
        progress = f"{last.number} of {len(self._schedule.plan.runs)}"
        raise _three_failed(progress, why, trouble, self._schedule.folder) from trouble

    def _clean_up(self) -> None:
        world = self._world
        is_back = clock.wait_until(
            world.platform.answers,
            deadline_s=ENGINE_BACK_S,
            clock=world.clock,
            every_s=2.0,
        )
        if not is_back:
            raise _engine_stays_away(self._schedule.folder)
        world.platform.guard.beats.renew()  # it may have lapsed while the engine was away
        try:
            for line in _swept(world.platform):
                world.progress.note(f"removed a leftover: {line}")
            self._left = None
        except RunError as error:
            self._left = error
            world.progress.warn(error.what)


def _swept(platform: Platform) -> Iterable[str]:
    sweep = platform.abilities.sweep_between_runs
    if sweep is None:
        return platform.sweep()
    return sweep()


def _three_failed(
    progress: str, why: str | None, trouble: Exception, folder: Path
) -> TierbenchError:
    """`progress`: how far the campaign came, as `3 of 9`."""
    mend = "mend that"
    evidence = ""
    if isinstance(trouble, TierbenchError):
        mend = trouble.advice or mend
        evidence = trouble.evidence
    kind: type[TierbenchError] = RunError
    # It keeps its exit code, which says that something outside is missing.
    if isinstance(trouble, UnavailableError):
        kind = UnavailableError
    return kind(
        "three runs in a row failed for the same cause. The campaign ends "
        f"after run {progress}: {why}",
        advice=f"{mend}; then go on: `tierbench resume {shlex.quote(str(folder))}`; "
        "`tierbench analyze` reports the finished runs",
        evidence=evidence,
    )


def _engine_stays_away(folder: Path) -> UnavailableError:
    longest = format_seconds(ENGINE_BACK_S)
    return UnavailableError(
        f"the container engine did not answer again within {longest}",
        advice="start it (`tierbench setup` does, as root on Debian) and go on: "
        f"`tierbench resume {shlex.quote(str(folder))}`",
    )


def retried(folder: Path) -> Plan | None:
    """Each run that failed once more behind all others, under another number.

    As often as the plan allows, and as often again each time that the campaign is gone on
    with: what made them fail may be mended by then.
    """
    # Outcomes stand in the records, so that no table need be read.
    campaign = store.load_without_tables(folder)
    plan = campaign.plan
    again = _last_attempts(plan, _failed(campaign))
    if not again:
        return None
    return replace(plan, runs=numbered((*plan.runs, *again)))


def _failed(campaign: Results) -> set[int]:
    """Numbers of the runs that failed."""
    numbers: set[int] = set()
    for data in campaign.runs:
        if data.record.outcome == "failed":
            numbers.add(data.record.run.number)
    return numbers


def _last_attempts(plan: Plan, failed: set[int]) -> list[Run]:
    """For each run that may be made once more, its last attempt, which failed."""
    most = plan.repeats.retry_failed * (1 + interruptions(plan))
    again: list[Run] = []
    for runs in attempts(plan):
        # The first attempt is no retry: as many attempts as retries leave one more.
        if len(runs) <= most and runs[-1].number in failed:
            again.append(runs[-1])
    return again


def decided(progress: Progress, folder: Path) -> Plan | None:
    """What follows in a campaign whose plan has `looks`; nothing in others."""
    looks = store.plan_of(folder).repeats.looks
    if not looks:
        return None
    # Tables are loaded, as causes and doubts by telemetry may leave a decision open.
    campaign = store.load(folder)
    plan = campaign.plan
    most = max(looks)
    more: list[str] = []
    decisions, _ = decisions_so_far(campaign)
    for decision in decisions:
        if not decision.is_open:
            continue
        # The plan decides: a look is that of the planned repetitions, whichever runs were lost.
        done = repetitions(plan, decision.workload)
        progress.note(_open_in_words(decision, done, most))
        # Each look has its share of the error, fixed beforehand. Beyond the last there is none.
        if done < most:
            more.append(decision.workload)
    if not more:
        return None
    return grown(plan, more)


def _open_in_words(decision: Decision, done: int, most: int) -> str:
    follows = "no more, as asked"
    if done < most:
        follows = f"one more of at most {most}"
    after = f"{decision.workload} is open after {done} repetitions"
    return f"{after}, {follows}: {decision.reason}"
