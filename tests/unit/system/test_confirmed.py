"""What a user has confirmed: where it lies, and that it cannot be made up elsewhere."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.system import confirmed


def test_it_lies_in_the_user_s_own_folder_which_nobody_else_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    state = confirmed.folder()
    assert state == tmp_path / "state" / "tierbench"
    digest = confirmed.keep_command("mail dba", state)
    assert confirmed.command(digest, state) == "mail dba"
    for folder in (state, state / "commands", state / "allowed"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    monkeypatch.setenv("XDG_STATE_HOME", "of/this/folder")
    assert confirmed.folder().is_absolute()


def test_a_command_that_is_not_what_it_is_called_by_does_not_run(
    tmp_path: Path,
) -> None:
    digest = confirmed.keep_command("mail dba", tmp_path)
    (tmp_path / "commands" / digest).write_text("rm -r data")
    assert confirmed.command(digest, tmp_path) is None
    assert confirmed.command("../allowed/x", tmp_path) is None


def test_a_user_without_a_home_can_keep_nothing_and_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert confirmed.folder(no_home) == Path("/nonexistent/.local/state/tierbench")


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnavailableError, match="cannot be written"):
        confirmed.keep_command("mail dba", tmp_path / "file" / "state")
