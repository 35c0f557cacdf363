"""What a campaign keeps in memory does not grow with its runs: their files have all that is known.

Method: before each run the tables, records and telemetry that the garbage collector knows are
counted, which depends on no machine.
"""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.results import Results, RunData
from orchestrator.cli.console import WarningsAlone
from orchestrator.cli.options import Request
from orchestrator.model import Record
from orchestrator.run.recording import Draft
from orchestrator.run.telemetry import Readings
from tests.apps import an_app

COUNTED = (pd.DataFrame, Results, RunData, Record, Draft, Readings)


def counted_now() -> Counter[str]:
    gc.collect()
    kinds = [kind for kind in map(type, gc.get_objects()) if kind in COUNTED]
    return Counter(kind.__name__ for kind in kinds)


@pytest.mark.slow
def test_before_each_run_there_is_no_more_than_before_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_runs: list[Counter[str]] = []

    def count(*_run: object) -> None:
        before_runs.append(counted_now())

    # A rehearsal tells its person nothing of a run, but is told of each when it begins.
    monkeypatch.setattr(WarningsAlone, "run", count)
    request = Request(
        profiles=["premium", "ultra"],
        workloads=["point-select", "insert"],
        scale="smoke",
        nodes=1,
        repetitions=2,
        results=tmp_path,
    )
    an_app(tmp_path / "cache").rehearse(request)
    first, second, *others = before_runs
    assert len(others) == 6 and second["Draft"] == first["Draft"] + 1, (
        "that of the run before"
    )
    for later in others:
        assert later <= second
