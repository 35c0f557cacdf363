"""Processes; and the revision of the code, from git itself; nothing where git has none to give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from orchestrator.errors import RunError, UnavailableError
from orchestrator.powers import Completed
from orchestrator.system import at_once, shell
from orchestrator.system.shell import SystemShell

SHELL = SystemShell()
AS_SOMEBODY = ["-c", "user.name=n", "-c", "user.email=e@example.org"]

CODE = ("orchestrator", "docker", "workloads")


def git(root: Path, *words: str) -> str:
    done = SHELL.run(["git", "-C", str(root), *AS_SOMEBODY, *words], timeout_s=20)
    assert done.exit_code == 0, done.err
    return done.out.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "orchestrator").mkdir()
    (tmp_path / "orchestrator" / "a.py").write_text("1")
    (tmp_path / "README.md").write_text("r")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "m", "--no-verify")
    return tmp_path


def test_a_clean_checkout_and_a_changed_one(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert shell.git_revision(checkout, CODE, SHELL) == {
        "revision": head,
        "revision_changed": False,
    }
    (checkout / "README.md").write_text("words change no figure")
    assert shell.git_revision(checkout, CODE, SHELL)["revision_changed"] is False
    (checkout / "orchestrator" / "new.py").write_text("2")
    assert shell.git_revision(checkout, CODE, SHELL) == {
        "revision": head,
        "revision_changed": True,
    }


def test_a_copy_inside_another_checkout_has_no_revision_of_its_own(
    checkout: Path,
) -> None:
    assert shell.git_revision(checkout / "orchestrator", CODE, SHELL) == {}


def test_without_a_checkout_a_commit_or_git_nothing_is_said(tmp_path: Path) -> None:
    assert shell.git_revision(tmp_path, CODE, SHELL) == {}
    git(tmp_path, "init", "-q")
    assert shell.git_revision(tmp_path, CODE, SHELL) == {}

    class NoGit(SystemShell):
        def run(
            self,
            argv: Sequence[str],
            *,
            timeout_s: float,
            env: Mapping[str, str] | None = None,
        ) -> Completed:
            raise UnavailableError("the command git is not installed")

    assert shell.git_revision(tmp_path, CODE, NoGit()) == {}


def test_a_process_hears_signals_whatever_thread_begins_it() -> None:
    """SigBlk of proc(5): signals that a process does not hear. Threads of `at_once` hear few."""
    blocked = ("grep", "SigBlk", "/proc/self/status")
    own = SHELL.run(blocked, timeout_s=20).out
    of_threads = at_once.each(lambda _: SHELL.run(blocked, timeout_s=20).out, range(2))
    assert of_threads == [own, own]
    beside = at_once.begun(lambda: list(shell.Beside(blocked).lines())).result()
    assert [f"{line}\n" for line in beside] == [own]


def test_a_command_past_its_time_is_ended() -> None:
    with pytest.raises(RunError, match="sleep 60 did not end within"):
        SHELL.run(("sleep", "60"), timeout_s=0.2)
    with pytest.raises(UnavailableError, match=r"no-such-command is not installed"):
        SHELL.run(("no-such-command",), timeout_s=5)
