"""After a run that failed: if and when the campaign goes on, and what is doubted then.

One failure costs one run. Before the next begins the engine must answer again, and leftovers are
removed. If three runs in a row fail for the same cause, the campaign ends.
"""

from __future__ import annotations

import re
from dataclasses import replace

from orchestrator.errors import RunError, UnavailableError
from orchestrator.model import Doubt, Run
from orchestrator.platforms.common.claims import RentsVolumes
from orchestrator.powers import Clock, World
from orchestrator.run.schedule import Schedule
from orchestrator.system.clock import wait_until
from orchestrator.units import format_seconds

IN_A_ROW = 3
ENGINE_BACK_S = 1800.0  # of a cluster whose control plane is being upgraded
# A clock that is slewed, not set, runs off by at most 500 parts in a million (adjtimex(2)).
CLOCK_STEP_S, CLOCK_SLEW = 0.5, 0.0005


class Setbacks:
    """What went wrong in the runs so far."""

    def __init__(self, schedule: Schedule, world: World, left: RunError | None = None) -> None:
        """`left`: why what an earlier campaign left could not be removed."""
        self._schedule, self._world = schedule, world
        self._row: list[tuple[Run, str]] = []  # failed runs in a row, each with its cause
        self._left = left

    def doubts(self, run: Run) -> list[Doubt]:
        """Doubts about a run that begins now."""
        doubts = []
        if self._left is not None:
            what = "what an earlier run left could not be removed and may have disturbed"
            text = f"{what}: {self._left.what}"
            doubts.append(Doubt("leftovers", text, self._left.advice, run.number))
        for first in self._schedule.plan.runs[: run.number - 1]:
            if replace(first, number=run.number) == run:
                text = f"repeats run {first.number}, which failed, out of order"
                advice = (
                    f"see why that failed; what changed since {first.slug} is in this run alone"
                )
                doubts.append(Doubt("out of order", text, advice, run.number))
        return doubts

    def after(self, run: Run, failure: str | None, trouble: Exception | None) -> None:
        """Prepares for the next run. `failure` is why `run` failed, None if it is done; `trouble`:
        the exception raised, even if only taking down failed.

        UnavailableError if the engine stays away, or another campaign has taken its place; that or
        RunError after three runs with one cause.
        """
        self._world.platform.guard.beats.require()
        cause = re.sub(r"\d+(\.\d+)?", "#", failure or "")  # names of containers, times, sizes
        if failure is None or (self._row and self._row[-1][1] != cause):
            self._row.clear()
        if failure is not None:
            self._row.append((run, cause))
        if trouble is not None:
            self._stop_after_three(failure, trouble)
        if not self._schedule.is_last(run) and (trouble is not None or self._left is not None):
            self._clean_up()

    def _stop_after_three(self, failure: str | None, trouble: Exception) -> None:
        if len(self._row) < IN_A_ROW:
            return
        last = self._row[-1][0]
        failed = {run.workload for run, _ in self._row}
        planned = {run.workload for run in self._schedule.plan.runs[last.number :]}
        # The runs of one workload on all tiers stand in a row: it must not cost the others theirs.
        if len(failed) == 1 and planned - failed:
            return
        kind = UnavailableError if isinstance(trouble, UnavailableError) else RunError
        raise kind(
            f"three runs in a row failed for the same cause, so the campaign ends after run "
            f"{last.number} of {len(self._schedule.plan.runs)}: {failure}",
            advice=f"mend that and go on: `tierbench resume {self._schedule.folder}`; "
            "`tierbench analyze` reports the finished runs",
            evidence=getattr(trouble, "evidence", ""),
        ) from trouble

    def _clean_up(self) -> None:
        world = self._world
        if not wait_until(
            world.platform.answers, deadline_s=ENGINE_BACK_S, clock=world.clock, every_s=2.0
        ):
            raise UnavailableError(
                f"the container engine did not come back within {format_seconds(ENGINE_BACK_S)}",
                advice="start it (`make setup` does, as root on Debian) and go on: "
                f"`tierbench resume {self._schedule.folder}`",
            )
        world.platform.guard.beats.renew()  # it may have lapsed while the engine was away
        try:
            platform = world.platform
            if isinstance(platform, RentsVolumes):
                removed = platform.sweep_between_runs()
            else:
                removed = platform.sweep()
            for line in removed:
                world.progress.note(f"removed a leftover: {line}")
            self._left = None
        except RunError as error:
            self._left = error
            world.progress.warn(error.what)


class ClockWatch:
    """Notices if the clock was set in a run, whose window is cut by the time of day."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.now(), clock.monotonic()

    def doubts(self, run: Run) -> list[Doubt]:
        """Doubts about the time since the watch was made."""
        began_s, began_monotonic_s = self._began
        passed_s = self._clock.monotonic() - began_monotonic_s
        off_s = self._clock.now() - began_s - passed_s
        if abs(off_s) <= CLOCK_STEP_S + CLOCK_SLEW * passed_s:
            return []
        direction = "forward (or this machine slept)" if off_s > 0 else "back"
        text = f"while this was measured the clock went {direction} by {format_seconds(abs(off_s))}"
        text += ": the window and the rates in it may be wrong"
        advice = "repeat the run, with the clock set before the start and the machine kept awake"
        return [Doubt("clock set", text, advice, run.number)]
