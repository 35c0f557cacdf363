"""The order of everything a campaign does, word for word, also on failure and interrupt.

Method: fake parts write what happens to one log; the log is compared whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.results import Results
from orchestrator.errors import LoadError, NodeError
from orchestrator.run import experiment
from orchestrator.system import store
from tests.fakes import DOWN, Log, fake_parts, fake_world
from tests.plans import a_plan

CHECKS = ["sweep", "check premium", "check database", "check point-select"]
LOADING = [
    "unlimited disks up",
    "network up",
    "database up",
    "client up",
    "load",
    "settle",
    "client down",
    "database down",
    "network down",
    "unlimited disks down",
]
GATE = ["gate of premium"]
UP = ["disks of premium up", "network up", "database up", "client up"]
MEASURED = ["warm", "begin measuring", "run point-select", "verify"]
READ = ["read"]


def carry_out(log: Log, folder: Path, **parts: object) -> Results:
    world = fake_world(log, folder / "cache")
    made = fake_parts(log, **parts)  # type: ignore[arg-type]
    return store.load(experiment.execute(a_plan(), made, world, folder / "results", {}))


def test_a_run_in_order(tmp_path: Path) -> None:
    log = Log()
    campaign = carry_out(log, tmp_path)
    assert log.words == CHECKS + LOADING + GATE + UP + MEASURED + READ + DOWN
    record = campaign.runs[0].record
    assert record.outcome == "done"
    assert [phase.name for phase in record.phases][-2:] == ["warm-up", "measure"]
    assert record.measurements[0].value == 42.0


def test_a_data_set_is_loaded_once_and_the_gate_taken_once(tmp_path: Path) -> None:
    log = Log()
    world, parts = fake_world(log, tmp_path / "cache"), fake_parts(log)
    experiment.execute(a_plan(repetitions=3), parts, world, tmp_path / "results", {})
    assert log.words.count("load") == 1
    assert log.words.count("gate of premium") == 1
    assert log.words.count("run point-select") == 3


def test_without_snapshots_every_run_loads_on_the_tier(tmp_path: Path) -> None:
    log = Log()
    carry_out(log, tmp_path, restores=False)
    loaded = ["load", "settle"]
    assert log.words == CHECKS + GATE + UP + loaded + MEASURED + READ + DOWN


@pytest.mark.parametrize(
    ("word", "error"),
    [("run point-select", NodeError("node-1 died")), ("warm", LoadError("no table"))],
)
def test_a_failing_run_is_recorded_and_taken_down(
    tmp_path: Path, word: str, error: Exception
) -> None:
    log = Log(broken={word: error})
    campaign = carry_out(log, tmp_path)
    assert log.words[-len(DOWN) :] == DOWN
    record = campaign.runs[0].record
    assert (record.outcome, record.failure) == ("failed", str(error))
    assert record.measurements == ()


def test_the_next_run_goes_on_after_a_failure(tmp_path: Path) -> None:
    log = Log(broken={"warm": NodeError("died")})
    world, parts = fake_world(log, tmp_path / "cache"), fake_parts(log)
    folder = experiment.execute(a_plan(repetitions=2), parts, world, tmp_path / "results", {})
    assert [data.record.outcome for data in store.load(folder).runs] == ["failed", "failed"]
    assert log.words.count("database up") == 3


def test_a_lying_disk_is_never_measured(tmp_path: Path) -> None:
    log = Log()
    campaign = carry_out(log, tmp_path, gate="slow")
    assert log.words == [*CHECKS, *LOADING, *3 * GATE]
    record = campaign.runs[0].record
    assert record.outcome == "failed"
    assert "not what the tier declares" in str(record.failure)
    assert record.gate is not None and not record.gate.passed


@pytest.mark.parametrize("word", [*UP, *MEASURED])
def test_an_interrupt_anywhere_takes_everything_down(tmp_path: Path, word: str) -> None:
    log = Log(broken={word: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        carry_out(log, tmp_path)
    ups = [w.removesuffix(" up") for w in log.words if w.endswith(" up") and w != word]
    downs = [w.removesuffix(" down") for w in log.words if w.endswith(" down")]
    assert sorted(ups) == sorted(downs)
    runs = store.load(tmp_path / "results" / "latest").runs
    assert [data.record.outcome for data in runs] == ["interrupted"]


def test_an_interrupted_load_leaves_no_half_data_set(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        carry_out(Log(broken={"load": KeyboardInterrupt()}), tmp_path)
    assert list((tmp_path / "cache" / "datasets").iterdir()) == []


def test_finished_runs_survive_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    world, parts = fake_world(log, tmp_path / "cache"), fake_parts(log)
    original = parts.databases["postgresql"].warm
    calls: list[int] = []

    def warm(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        original(*arguments)

    monkeypatch.setattr(parts.databases["postgresql"], "warm", warm)
    with pytest.raises(KeyboardInterrupt):
        experiment.execute(a_plan(repetitions=3), parts, world, tmp_path / "results", {})
    runs = store.load(tmp_path / "results" / "latest").runs
    assert [data.record.outcome for data in runs] == ["done", "interrupted"]
