"""A campaign whose program was killed goes on, with real containers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from orchestrator.system import store
from tests.integration.conftest import HERE, Program, leftovers, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

# Whose gate cannot fail on a busy machine.
UNLIMITED = str(HERE / "profiles" / "unlimited.yaml")
SHORT = str(HERE / "workloads" / "short.yaml")


def test_killed_in_its_second_run_it_makes_the_rest(tmp_path: Path) -> None:
    options = [
        "--scale",
        "smoke",
        "--nodes",
        "1",
        "--db",
        "postgresql",
        "--repeats",
        "2",
    ]
    kept = ["--results", str(tmp_path)]
    program = Program.start(
        "run", "--profile", UNLIMITED, "--workload", SHORT, *options, *kept
    )
    program.until("[2/2]")
    program.until("measuring")
    os.kill(program.process.pid, signal.SIGKILL)
    program.end()
    assert leftovers(), (
        "a killed program cannot have cleaned up: this test would test nothing"
    )
    folder = (tmp_path / "latest").resolve()
    (first,) = folder.glob("runs/*/record.json")
    before = first.read_bytes()
    # Whoever works on this program may change it while its tests run.
    code, text = tierbench(
        "resume", "latest", *kept, "--accept-inconclusive", "--despite", "code"
    )
    assert code == 0, text
    runs = store.load(folder).runs
    assert [one.record.run.number for one in runs] == [1, 2]
    assert [one.record.outcome for one in runs] == ["done", "done"]
    assert first.read_bytes() == before
    assert (
        "Interruption 1: 1 of 2 runs were finished"
        in (folder / "report.md").read_text()
    )
    assert list(folder.glob("interrupted/02-*-1/raw"))
