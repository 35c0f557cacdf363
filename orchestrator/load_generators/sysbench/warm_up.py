"""When the warm-up of a run is over, told from sysbench's own report of each second.

After its fixed time; or, where asked for, when throughput has become steady. Then the program is
told in a file when the window ends (read in workloads/lib/loop.lua), so that it runs no longer.
Whether throughput is steady decides, and never how high it is.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator import model, parts, units
from orchestrator.analysis.statistics import steadiness
from orchestrator.load_generators.common import program_output
from orchestrator.load_generators.sysbench.command_lines import (
    BEGINS_FILE,
    ENDS_FILE,
    longest_s,
)
from orchestrator.system import files

SHORTEST_S = 2 * steadiness.BATCHES  # fewer seconds cannot be judged
# Looks: one a second would find a steady moment in any noise.
IN_A_ROW = 10
_FACTS_FILE = "warm-up.json"


class SteadyRule:
    """Whether throughput has become steady, by the limits of the doubt `unsteady throughput`. They
    must hold over the last half of the warm-up so far, and at ten looks in a row."""

    def __init__(self) -> None:
        self._rates: list[float] = []
        self._in_a_row = 0
        self.drift: steadiness.Steadiness | None = None

    def add(self, rate: float) -> bool:
        """`rate`: of the second that has just ended."""
        self._rates.append(rate)
        # Half of the warm-up: in a few seconds a slow rise is not seen.
        looked_at = max(SHORTEST_S, len(self._rates) // 2)
        last = self._rates[-looked_at:]
        self.drift = steadiness.steadiness(range(len(last)), last)
        if self.drift is not None and self.drift.within_limits:
            self._in_a_row += 1
        else:
            self._in_a_row = 0
        return self._in_a_row >= IN_A_ROW


class WarmUp:
    """One run: `line` gets each line that sysbench prints, and the window is begun in time. Threads
    of a share wait, connected, for a file that says when all begin, and when they end if their
    warm-up has a fixed time; those of an only client begin when they are ready. Each second the
    clients agree whether the window could begin; an only one begins it as soon as it could. Then a
    file says when the window ends. `put` puts a file, of a name and a line, into the client."""

    def __init__(self, load: parts.ClientLoad, put: Callable[[str, str], None]) -> None:
        self._workload = load.workload
        self._out = load.out
        self._world = load.world
        self._share = load.share
        self._put = put
        self._rule = SteadyRule()
        self._start_s: float | None = None
        self._middle_s: float | None = None

    def line(self, text: str) -> None:
        if text.startswith(program_output.STARTED):
            self._start_s = self._begin_load()
            if self._workload.warmup_most_s is None:
                self._begin(self._start_s + self._workload.warmup_s)
            return
        report = program_output.reported(text)
        if report:
            second, per_s = report
            if self._middle_s is None and self._start_s is not None:
                self._judge(per_s, self._start_s, self._world.clock.now())
            self._show(second, per_s)

    def _begin_load(self) -> float:
        if self._share is None:
            return self._world.clock.now()
        begin_s = self._share.begin()
        # The end of the window is known already with a fixed warm-up.
        line = f"{begin_s:.6f}"
        if not self._workload.warmup_most_s:
            line += f" {begin_s + longest_s(self._workload):.6f}"
        self._put(BEGINS_FILE, line)
        return begin_s

    def _judge(self, rate: float, start_s: float, now_s: float) -> None:
        """Begins the window, if throughput is steady or the longest warm-up is over."""
        load = self._workload
        elapsed_s = now_s - start_s
        if elapsed_s < 0.5:
            return  # the threads waited in this second for those of other clients
        steady = self._rule.add(rate)
        # A report may come a moment before its second is over.
        over = elapsed_s >= (load.warmup_most_s or 0.0) - 0.5
        could_begin = over or (elapsed_s >= load.warmup_s and steady)
        middle_s = self._window_begin(could_begin, now_s)
        if middle_s is None:
            return
        ends_s = self._begin(middle_s)
        facts: dict[str, Any] = {"warmup_s": middle_s - start_s}
        if self._rule.drift is not None:
            facts |= vars(self._rule.drift)
        facts["steady"] = steady
        files.write_json(self._out / _FACTS_FILE, facts)
        self._put(ENDS_FILE, f"{ends_s:.6f}")

    def _window_begin(self, could_begin: bool, now_s: float) -> float | None:
        """When the window begins, as all clients agree; None: not yet."""
        if self._share:
            return self._share.agree(could_begin)
        if could_begin:
            return now_s
        return None

    def _begin(self, middle_s: float) -> float:
        self._middle_s = middle_s
        self._world.window_begins(middle_s)
        return middle_s + self._workload.measure_s

    def _show(self, second: int, per_s: float) -> None:
        self._world.throughput_seen(per_s)
        load = self._workload
        if self._middle_s is None or self._start_s is None:
            rate = f"{units.format_number(per_s)} transactions/s"
            step = f"warm-up {second} s, until steady, {load.warmup_most_s:g} s at most: {rate}"
        else:
            begins_s = self._middle_s - self._start_s
            step = program_output.progress(second, begins_s, load.measure_s, per_s)
        self._world.progress.step(step)

    def phases(
        self, began_s: float | None = None
    ) -> tuple[model.Phase, model.Phase] | None:
        """The phases of a run that is over; None if it ended before its window began.

        `began_s`: when its threads began, as they noted it. If the program ends by its own time, a
        fixed warm-up counts from there.
        """
        if self._start_s is None or self._middle_s is None:
            return None
        # A busy computer hears of the start late. A window as late would go on after the last
        # transaction.
        ends_by_itself = self._workload.warmup_most_s is None and self._share is None
        late_s = 0.0
        if began_s is not None and ends_by_itself:
            late_s = max(0.0, self._start_s - began_s)
        start_s = self._start_s - late_s
        middle_s = self._middle_s - late_s
        measure = model.Phase("measure", middle_s, middle_s + self._workload.measure_s)
        return model.Phase("warm-up", start_s, middle_s), measure


def steady_facts(out: Path) -> dict[str, Any]:
    """What was found of a warm-up without a fixed time; empty with one."""
    return files.content(out / _FACTS_FILE)
