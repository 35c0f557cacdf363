"""`tierbench clean`: where it looks."""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main, outside
from orchestrator.errors import RunError, UnavailableError
from orchestrator.model import Placing
from orchestrator.run import datasets
from orchestrator.tiers.common.removal import Found
from tests.plans import profile_text
from tests.refused_profiles import cluster_text
from tests.standing import Place


@pytest.mark.parametrize(
    ("with_profile", "expected"),
    [(False, (None, None)), (True, (None, Placing(machines=("vm1",), client_machine="vm2")))],
)
def test_it_cleans_the_machines_of_a_profile(
    with_profile: bool, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, asked = Place(tmp_path), []

    def powers(_root: Any, _cache: Any, _progress: Any, *where: Any) -> Any:
        asked.append(where)
        return nullcontext((place.world, place.engine))

    monkeypatch.setattr(outside, "powers", powers)
    monkeypatch.setattr(outside, "alone", lambda _engine: nullcontext())
    monkeypatch.setattr(datasets, "forget", lambda _world, only_list=False: ())
    profile = tmp_path / "mine.yaml"
    text = profile_text("{iops: 500, throughput: 10MB/s}", cluster=cluster_text())
    text = text.replace("smoke:", "only-here:")  # any scale will do
    profile.write_text(text.rstrip("\n") + "\nmachines: [vm1]\nclient_machine: vm2\n")
    words = ["clean", "--yes", *(["--profile", str(profile)] if with_profile else [])]
    assert main._guarded(lambda: main.app(words, standalone_mode=False)) == 0
    assert asked == [expected]


@pytest.fixture
def cleaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What `datasets.forget` was asked for: only to list?"""
    place, asked = Place(tmp_path), list[bool]()

    def forget(_world: Any, only_list: bool = False) -> list[Found]:
        asked.append(only_list)
        return [Found("/data/datasets/x", 2**20), Found("/mnt/tierbench-data", foreign="is odd")]

    def sweep() -> tuple[str, ...]:
        raise RunError("a namespace hangs")

    monkeypatch.setattr(outside, "powers", lambda *_: nullcontext((place.world, place.engine)))
    monkeypatch.setattr(outside, "alone", lambda _engine: nullcontext())
    monkeypatch.setattr(datasets, "forget", forget)
    monkeypatch.setattr(place.world.platform, "sweep", sweep)
    return asked


def clean(*words: str) -> int:
    return main._guarded(lambda: main.app(["clean", *words], standalone_mode=False))


@pytest.mark.parametrize("words", [["--dry-run"], ["--dry-run", "--yes"]])
def test_a_dry_run_shows_sizes_and_removes_nothing(
    cleaned: list[bool], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert clean(*words) == 0 and cleaned == [True]
    said = capsys.readouterr().out
    assert "would be removed: /data/datasets/x (1 MiB)" in said
    assert "stays: /mnt/tierbench-data is odd" in said


def test_a_sweep_that_fails_does_not_stop_the_rest(
    cleaned: list[bool], capsys: pytest.CaptureFixture[str]
) -> None:
    assert clean("--yes") == RunError("").exit_code and cleaned == [False]
    assert "/data/datasets/x (1 MiB)" in capsys.readouterr().out


def test_without_a_terminal_it_refuses(
    cleaned: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert clean() == 64 and cleaned == []


def test_a_folder_of_another_user_in_the_cache_is_said_with_the_remedy() -> None:
    """As after `sudo tierbench disk up`."""
    with tempfile.TemporaryDirectory() as place:  # below /tmp, so that every user can look there
        folder = Path(place) / "standing"
        folder.mkdir()
        Path(place).chmod(0o777)
        folder.chmod(0o555)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65534)
        try:
            with pytest.raises(UnavailableError, match="standing cannot be written") as raised:
                outside._require_writable(Path(place))
        finally:
            os.seteuid(me)
        assert raised.value.advice.startswith("sudo chown -R ")
        folder.chmod(0o755)
