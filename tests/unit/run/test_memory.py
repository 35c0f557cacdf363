"""What a campaign keeps in memory does not grow with its runs: their files have all that is known.

Method: before each run the rows of tables and the telemetry that the garbage collector knows are
counted, which depends on no machine.
"""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.run import experiment
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.run_context import Draft
from tests.fake_parts import fake_parts
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan

# A run's figures, by which the campaign is judged while it goes on, stay from its record on; what
# else a run needs is gone before the next.
GONE = (Draft, Readings)


class Counting(QuietProgress):
    """Counts what is there when a run begins."""

    def __init__(self) -> None:
        super().__init__()
        self.before_runs: list[Counter[str]] = []

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        gc.collect()
        there: Counter[str] = Counter()
        for thing in gc.get_objects():
            if type(thing) in GONE:
                there[type(thing).__name__] += 1
            if type(thing) is pd.DataFrame:
                there["rows of tables"] += len(thing)
        self.before_runs.append(there)


@pytest.mark.slow
def test_nothing_is_left_of_a_run_but_its_record(tmp_path: Path) -> None:
    log = Log()
    progress = Counting()
    world = replace(fake_world(log, tmp_path / "cache"), progress=progress)
    plan = a_plan(("premium", "ultra"), ("point-select", "insert"), repetitions=2)
    experiment.execute(plan, fake_parts(log), world, tmp_path / "results", {})
    _, second, *later = progress.before_runs
    assert len(later) == 6
    assert later == [second] * 6
