"""What a campaign keeps in memory does not grow with its runs: their files have all that is known.

Method: before each run the tables, records and telemetry that the garbage collector knows are
counted, which depends on no machine.
"""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.results import Results, RunData
from orchestrator.model import Record
from orchestrator.run import experiment
from orchestrator.run.readings import Readings
from orchestrator.run.run_context import Draft
from tests.fake_parts import fake_parts
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan

COUNTED = (pd.DataFrame, Results, RunData, Record, Draft, Readings)


class Counting(QuietProgress):
    """Counts what is there when a run begins."""

    def __init__(self) -> None:
        super().__init__()
        self.before_runs: list[Counter[str]] = []

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        gc.collect()
        kinds = [kind for kind in map(type, gc.get_objects()) if kind in COUNTED]
        self.before_runs.append(Counter(kind.__name__ for kind in kinds))


@pytest.mark.slow
def test_before_each_run_there_is_no_more_than_before_the_second(
    tmp_path: Path,
) -> None:
    log = Log()
    progress = Counting()
    world = replace(fake_world(log, tmp_path / "cache"), progress=progress)
    plan = a_plan(("premium", "ultra"), ("point-select", "insert"), repetitions=2)
    experiment.execute(plan, fake_parts(log), world, tmp_path / "results", {})
    first, second, *others = progress.before_runs
    assert len(others) == 6
    assert second["Draft"] == first["Draft"], "nothing of the run before"
    for later in others:
        assert later <= second
