"""This machine: the lock that keeps two campaigns apart, whose process is whose, and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.common.teardown import TimeIsUp, sweeping
from orchestrator.errors import UnavailableError
from orchestrator.system import host
from tests.fakes import Log, fake_world

OTHER = 65_534  # nobody


# ------------------------------------------------------------------ the lock


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "tierbench.lock"


@pytest.mark.parametrize("text", ["1", None])
def test_a_link_is_not_followed(tmp_path: Path, lock: Path, text: str | None) -> None:
    precious = tmp_path / "precious"
    if text:
        precious.write_text(text)
    lock.symlink_to(precious)
    with pytest.raises(UnavailableError, match="cannot be opened") as refused:
        host.only_one(lock).__enter__()
    assert (precious.read_text() if precious.exists() else None) == text
    assert str(lock) in refused.value.advice


@pytest.mark.parametrize(
    "text", ["a letter\n" * 100, "not a number", "root:x:0:0\n", "1" * 21]
)
def test_a_file_that_is_no_lock_keeps_its_content(lock: Path, text: str) -> None:
    lock.write_text(text)
    with host.only_one(lock):
        pass
    assert lock.read_text() == text


def test_the_number_of_another_process_is_replaced_however_large(lock: Path) -> None:
    """A number of 64 bits has 20 digits at most."""
    lock.write_text(str(2**64 - 1))
    with host.only_one(lock):
        assert lock.read_text() == str(os.getpid())


def test_a_second_name_of_a_file_is_not_written_to(tmp_path: Path, lock: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("42")
    precious.chmod(0o600)
    os.link(precious, lock)
    with host.only_one(lock):
        pass
    assert precious.read_text() == "42"
    assert precious.stat().st_mode & 0o777 == 0o600


def test_a_folder_of_that_name_is_reported(lock: Path) -> None:
    lock.mkdir()
    with pytest.raises(UnavailableError, match="cannot be opened"):
        host.only_one(lock).__enter__()


def as_nobody(lock: Path) -> subprocess.CompletedProcess[str]:
    """Takes the lock as another user, who may not be able to read this program's files."""
    program = (
        "import fcntl, os; from pathlib import Path; from orchestrator.system import host;"
        f"os.setgroups([]); os.setgid({OTHER}); os.setuid({OTHER})\n"
        f"with host.only_one(Path({str(lock)!r})): print('taken')"
    )
    argv = [sys.executable, "-c", program]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user"
)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Like /tmp, and in it: anybody may write, nobody may remove another's files."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


@needs_root
def test_users_take_turns_with_one_lock(open_folder: Path) -> None:
    lock = open_folder / "tierbench.lock"
    with host.only_one(lock):
        refused = as_nobody(lock)
        assert (
            f"another campaign is running here (process {os.getpid()})"
            in refused.stderr
        )
    taken = as_nobody(lock)
    assert taken.stdout == "taken\n", taken.stderr
    with host.only_one(lock):
        assert lock.read_text() == str(os.getpid())


@needs_root
@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_a_lock_that_may_not_be_written_is_used_or_reported(
    open_folder: Path, mode: int
) -> None:
    lock = open_folder / "tierbench.lock"
    lock.write_text("1")
    lock.chmod(mode)
    done = as_nobody(lock)
    if mode == 0o644:
        assert done.stdout == "taken\n", done.stderr
    else:
        assert "UnavailableError" in done.stderr and "Permission denied" in done.stderr


def test_all_users_agree_on_the_place() -> None:
    assert host.lock_folder().stat().st_mode & 0o002


# ------------------------------------------------------------------ processes


def test_a_process_is_known_while_it_runs() -> None:
    program = (
        "from orchestrator.system import host; "
        "print(host.process_mark(), flush=True); input()"
    )
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        mark = other.stdout.readline().strip()
        assert host.process_lives(mark) is True
        other.kill()
        ended = any(host.process_lives(mark) is False for _ in range(100_000))
        assert ended, "also before anybody waits for it"
    assert host.process_lives(mark) is False


def test_processes_elsewhere_are_unknown() -> None:
    boot, space, number, started = host.process_mark().split()
    assert host.process_lives(f"{boot} pid:[7] {number} {started}") is None
    assert host.process_lives(f"0-0 {space} {number} {started}") is None
    assert host.process_lives("") is None
    assert host.process_lives(f"{boot} {space} {number} 1") is False


def test_a_process_that_is_hidden_is_not_taken_for_dead() -> None:
    """With `hidepid` /proc shows nobody the processes of others, such as the first one."""
    with (
        tempfile.TemporaryDirectory() as place
    ):  # below /tmp, so that every user can look there
        root = Path(place)
        (root / "proc/sys/kernel/random").mkdir(parents=True)
        (root / "proc/sys/kernel/random/boot_id").write_text("boot\n")
        (root / "proc/self/ns").mkdir(parents=True)
        (root / "proc/self/ns/pid").symlink_to("pid:[1]")
        root.chmod(0o755)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65534)
        try:
            assert host.process_lives("boot pid:[1] 4194305 1", root) is False
            assert host.process_lives("boot pid:[1] 1 1", root) is None
        finally:
            os.seteuid(me)


# ------------------------------------------------------------------ signals


@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_ignored_stays_ignored(
    tmp_path: Path, sent: signal.Signals
) -> None:
    """`nohup` starts programs so."""
    before = signal.signal(sent, signal.SIG_IGN)
    try:
        with sweeping(fake_world(Log(), tmp_path)):
            os.kill(os.getpid(), sent)
        assert signal.getsignal(sent) is signal.SIG_IGN
    finally:
        signal.signal(sent, before)


def test_what_takes_too_long_is_ended_and_taken_down(tmp_path: Path) -> None:
    before, log = signal.getsignal(signal.SIGALRM), Log()
    with pytest.raises(TimeIsUp), sweeping(fake_world(log, tmp_path), most_s=0.01):
        while True:
            signal.pause()
    assert log.words == ["sweep"]
    assert signal.getsignal(signal.SIGALRM) == before
    with sweeping(fake_world(log, tmp_path), most_s=3600.0):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_signal_that_is_heard_interrupts(tmp_path: Path) -> None:
    log, before = (
        Log(),
        signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )  # tests under `nohup`
    try:
        with pytest.raises(KeyboardInterrupt), sweeping(fake_world(log, tmp_path)):
            os.kill(os.getpid(), signal.SIGHUP)
        assert log.words == ["sweep"]
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
