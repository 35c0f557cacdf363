"""`tierbench disk record`: what is asked of the recording, what is written, what is shown."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main
from orchestrator.cli.common.console import LastingConsole
from orchestrator.errors import UsageError
from orchestrator.extensions.standing_disks import recording
from orchestrator.planning import recorded_disk
from orchestrator.system import host
from tests.apps import an_app
from tests.fakes import FakePlatform

FOUND = recorded_disk.RecordedDisk(
    schema_version=1,
    source="a test",
    as_of="2026-01-01",
    limits=recorded_disk.RecordedLimits(
        iops_read=1100,
        iops_write=1090,
        iops_mixed=1095,
        bytes_per_s_read=125e6,
        bytes_per_s_write=124e6,
    ),
    latency=recorded_disk.RecordedLatency(
        read_quantiles_s=((0.0, 0.001), (0.5, 0.002), (1.0, 0.006)),
        write_quantiles_s=((0.0, 0.001), (1.0, 0.003)),
    ),
    burst=recorded_disk.RecordedBurst(iops=3500, base_iops=1095, duration_s=120),
)
Record = Callable[..., str]


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Record:
    """The command as it is called, on a disk of the figures above; what it printed."""

    def ran(path: Path, *options: tuple[str, ...]) -> str:
        def recorded(
            path: Path,
            effort: Any,
            _world: object,
            allow_root_disk: bool,
            fio_at: object,
        ) -> Any:
            asked.append((path, effort, allow_root_disk))
            return FOUND

        monkeypatch.setattr(recording, "record", recorded)
        out = LastingConsole(width=200, file=io.StringIO(), record=True)
        app = an_app(tmp_path, FakePlatform(), out=out)
        words = [word for option in options for word in option]
        main.program(
            ["disk", "record", str(path), *words], standalone_mode=False, obj=app
        )
        return out.export_text()

    return ran


asked: list[tuple[Path, recording.RecordingEffort, bool]] = []


def test_what_was_found_is_shown_and_written(record: Record, tmp_path: Path) -> None:
    file = tmp_path / "p15.json"
    shown = record(Path("/mnt/p15"), ("--out", str(file)), ("--burst-minutes", "2"))
    assert asked.pop() == (
        Path("/mnt/p15"),
        recording.RecordingEffort(hold_s=120.0),
        False,
    )
    assert "read / write / mixed: 1,100 / 1,090 / 1,095" in shown
    assert "read latency at queue depth 1: median 2 ms, p99 5.92 ms" in shown
    assert "burst: 3,500 IOPS for 2 min, then 1,095" in shown
    assert "recorded: p15.json" in shown
    assert recorded_disk.read("x", file.read_text()) == FOUND
    assert list(json.loads(file.read_text())["latency"]["read_quantiles_s"]) == [
        "0",
        "0.5",
        "1",
    ]


def test_the_path_is_looked_at_before_a_campaign_that_is_running(
    tmp_path: Path,
) -> None:
    app = an_app(tmp_path, FakePlatform())
    with host.only_one(app.lock), pytest.raises(UsageError, match="/nosuch"):
        main.program(["disk", "record", "/nosuch"], standalone_mode=False, obj=app)


def test_nothing_is_measured_for_a_file_that_cannot_be_written(
    record: Record, tmp_path: Path
) -> None:
    (tmp_path / "old.json").write_text("{}")
    for name, words in (
        ("old.json", "exists already"),
        ("none/new.json", "does not exist"),
    ):
        with pytest.raises(UsageError, match=words):
            record(Path("/mnt/p15"), ("--out", str(tmp_path / name)))
    assert asked == []
