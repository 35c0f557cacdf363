"""Campaigns on this computer: the lock that keeps two apart, and marks of processes.

`root` is "/" in production; tests point it at a fixture tree.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import UnavailableError


def name() -> str:
    return socket.gethostname()


def process_mark(root: Path = Path("/")) -> str:
    """This process, such that no other is ever taken for it: boot, name space, number, start.
    "" where there is no /proc."""
    try:
        return f"{_boot_and_space(root)} {os.getpid()} {_started(os.getpid(), root)}"
    except (OSError, IndexError):
        return ""


def process_lives(mark: str, root: Path = Path("/")) -> bool | None:
    """Whether the process of `process_mark` still runs. None where it cannot be seen from here: it
    is of another machine, boot or process name space."""
    try:
        boot, space, number, started = mark.split()
        if f"{boot} {space}" != _boot_and_space(root):
            return None
    except (OSError, ValueError):
        return None
    try:
        return _started(int(number), root) == started
    except ProcessLookupError:
        return False
    except (OSError, ValueError, IndexError):
        return _hidden(number)


def _hidden(number: str) -> bool | None:
    """None where there is such a process, but /proc does not show others' (`hidepid`)."""
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return None
    except (OSError, ValueError):
        return False
    return None


def _boot_and_space(root: Path) -> str:
    boot = (root / "proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {(root / 'proc/self/ns/pid').readlink()}"


def _started(number: int, root: Path) -> str:
    """In clock ticks since the boot: proc_pid_stat(5), field 22. ProcessLookupError where it has
    ended and nobody has waited for it yet."""
    fields = (root / f"proc/{number}/stat").read_text().rpartition(")")[2].split()
    if fields[0] in "ZX":
        raise ProcessLookupError(f"process {number} has ended")
    return fields[19]


def lock_folder() -> Path:
    """Where all users of this machine can make and open a file: the same answer for each."""
    places = (Path("/run/lock"), Path("/tmp"))
    usable = [place for place in places if place.is_dir() and place.stat().st_mode & 0o002]
    return usable[0] if usable else Path(tempfile.gettempdir())


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Held while a campaign runs: two would disturb each other's figures.

    The kernel frees the lock when the process ends, however it ends. UnavailableError where
    another holds it, or where the file cannot be used. The folder may be open to everybody: no
    link is followed, and nothing is written to a file that does not look like a lock.
    """
    import fcntl

    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(_opened(lock), "rb", closefd=True) as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = held.read(20).decode(errors="replace").strip()
            raise UnavailableError(
                f"another campaign is running here (process {holder or 'unknown'})",
                advice="wait for it to end, or stop it with Ctrl-C where it runs",
            ) from error
        _sign(held.fileno())
        yield


def _opened(lock: Path) -> int:
    """A descriptor of the lock. Without O_CREAT at first: where fs.protected_regular is set, not
    even root may open another user's file in such a folder with it. A file that may only be read
    can be locked as well."""
    never = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    failed: OSError | None = None
    for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
        try:
            opened = os.open(lock, flags | never, 0o666)
        except OSError as error:
            failed = error
            continue
        if stat.S_ISREG(os.fstat(opened).st_mode):
            return opened
        os.close(opened)
        failed = OSError(f"{lock} is not a file")
        break
    raise UnavailableError(
        f"the lock that keeps two campaigns apart cannot be opened: {failed}",
        advice=f"look at `ls -l {lock}` and remove it, as its owner or root, if no campaign runs",
    ) from failed


def _sign(lock: int) -> None:
    """Our process number in the lock, for whoever is refused; and every user may open it."""
    about = os.fstat(lock)
    if about.st_uid == os.geteuid() and about.st_nlink == 1:
        os.fchmod(lock, 0o666)
    holds = os.pread(lock, 21, 0)
    if about.st_nlink == 1 and len(holds) <= 20 and (not holds or holds.strip().isdigit()):
        with contextlib.suppress(OSError):  # one that may only be read is locked all the same
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
