"""`tierbench clean`: where it looks."""

from __future__ import annotations

import io
import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.app import require_writable
from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.model import Placing
from orchestrator.parts import MarkedFolder
from orchestrator.system import marked_folders
from orchestrator.tiers.common.any_disk import removal
from tests.apps import Terminal, tierbench
from tests.plans import profile_text
from tests.refused_profiles import cluster_text
from tests.standing import Engine, Place


@pytest.mark.parametrize(
    ("with_profile", "expected"),
    [(False, Placing()), (True, Placing(machines=("vm1",), client_machine="vm2"))],
)
def test_it_cleans_the_machines_of_a_profile(
    with_profile: bool, expected: Placing, tmp_path: Path
) -> None:
    place, asked = Place(tmp_path), []

    def connected(_clock: Any, placing: Placing) -> Any:
        asked.append(placing)
        return place.engine

    profile = tmp_path / "mine.yaml"
    text = profile_text("{iops: 500, throughput: 10MB/s}", cluster=cluster_text())
    text = text.replace("smoke:", "only-here:")  # any scale will do
    profile.write_text(text.rstrip("\n") + "\nmachines: [vm1]\nclient_machine: vm2\n")
    words = ["clean", "--yes", *(["--profile", str(profile)] if with_profile else [])]
    assert tierbench(place.app(connect=connected), *words) == 0
    assert asked == [expected]


@dataclass
class Steps:
    """What removing finds. `asked`: of each step, whether it should only list."""

    engine: tuple[str, ...] | TierbenchError = ("volume tierbench-1-data",)
    folders: tuple[MarkedFolder, ...] = (
        MarkedFolder("/data/datasets/x", 2**20),
        MarkedFolder("/mnt/tierbench-data", 0, foreign="is odd"),
    )
    asked: list[tuple[str, bool]] = field(default_factory=list)
    app: Any = None

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        self.asked.append(("sweep", only_list))
        if isinstance(self.engine, TierbenchError):
            raise self.engine
        return self.engine

    def forgotten(
        self, _folders: Any, _world: Any, only_list: bool = False
    ) -> tuple[MarkedFolder, ...]:
        self.asked.append(("forget", only_list))
        return self.folders


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Steps:
    steps = Steps()

    class Swept(Engine):
        def sweep(self, only_list: bool = False) -> Any:
            return steps.sweep(only_list)

    place = Place(tmp_path)
    place.engine = Swept(place.proc)
    steps.app = place.app()
    monkeypatch.setattr(removal, "forget", steps.forgotten)
    return steps


def clean(steps: Steps, *words: str) -> int:
    return tierbench(steps.app, "clean", *words)


@pytest.mark.parametrize("words", [["--dry-run"], ["--dry-run", "--yes"]])
def test_a_dry_run_names_each_thing_and_removes_nothing(
    steps: Steps, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert clean(steps, *words) == 0
    assert steps.asked == [("sweep", True), ("forget", True)]
    said = capsys.readouterr().out
    assert "would be removed: volume tierbench-1-data" in said
    assert "would be removed: /data/datasets/x (1 MiB)" in said
    assert "stays: /mnt/tierbench-data is odd" in said


def test_a_dry_run_that_finds_nothing_says_so(
    steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.engine, steps.folders = (), ()
    assert clean(steps, "--dry-run") == 0
    assert "nothing to remove" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--yes",), ("--dry-run",)])
def test_a_sweep_that_fails_does_not_stop_the_rest(
    steps: Steps, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    steps.engine = RunError("a namespace hangs")
    assert clean(steps, *words) == RunError("").exit_code
    assert "/data/datasets/x (1 MiB)" in capsys.readouterr().out


def test_what_cannot_be_removed_ends_with_the_code_of_a_removal_that_failed(
    steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = "/data/datasets/x/busy: Device or resource busy"
    steps.folders = (
        MarkedFolder("/data/datasets/x", 2**20, kept=(kept,)),
        MarkedFolder("/data/disks", 2**20),
    )
    assert clean(steps, "--yes") == RunError("").exit_code
    said = capsys.readouterr()
    assert kept in said.out and "/data/disks (1 MiB)" in said.out
    assert "/data/datasets/x cannot be removed" in said.err


def test_a_step_that_fails_ends_with_its_code_and_the_rest_goes_on(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied", "/cache/datasets")
        yield

    monkeypatch.setattr(marked_folders, "remove_ours", denied)
    assert clean(steps, "--yes") == RunError("").exit_code
    said = capsys.readouterr()
    assert "/data/datasets/x (1 MiB)" in said.out and "Permission denied" in said.err


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_at_a_terminal_it_shows_then_asks(steps: Steps, answer: str) -> None:
    steps.app = replace(steps.app, stdin=Terminal(answer))
    clean(steps)
    removed = [("sweep", False), ("forget", False)] if answer == "y\n" else []
    assert steps.asked == [("sweep", True), ("forget", True), *removed]
    steps.asked, steps.engine, steps.folders = [], (), ()
    assert clean(steps) == 0 and len(steps.asked) == 2, (
        "nobody is asked where nothing is to go"
    )


def test_without_a_terminal_it_refuses(steps: Steps) -> None:
    steps.app = replace(steps.app, stdin=io.StringIO())
    assert clean(steps) == 64 and steps.asked == []


def test_a_folder_of_another_user_in_the_cache_is_said_with_the_remedy() -> None:
    """As after `sudo tierbench disk up`."""
    with (
        tempfile.TemporaryDirectory() as place
    ):  # below /tmp, so that every user can look there
        folder = Path(place) / "standing"
        folder.mkdir()
        Path(place).chmod(0o777)
        folder.chmod(0o555)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65534)
        try:
            with pytest.raises(
                UnavailableError, match="standing cannot be written"
            ) as raised:
                require_writable(Path(place))
        finally:
            os.seteuid(me)
        assert raised.value.advice.startswith("sudo chown -R ")
        folder.chmod(0o755)
