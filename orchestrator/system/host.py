"""Campaigns on this computer: the lock that keeps two apart, and the identity of processes.

`root` is "/" except in tests, which use a fixture tree."""

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.errors import UnavailableError
from orchestrator.system import files


def name() -> str:
    return socket.gethostname()


def process_mark(root: Path = Path("/")) -> str:
    """Identifies this process uniquely by boot, name space, number and start; "" without /proc."""
    number = os.getpid()
    try:
        return f"{_boot_and_space(root)} {number} {_started(number, root)}"
    except (OSError, IndexError):
        return ""


def process_lives(mark: str, root: Path = Path("/")) -> bool | None:
    """Whether the process with that mark still runs. None if it cannot be seen from here."""
    try:
        boot, space, number, started = mark.split()
        # Numbers of processes mean something within one boot and one name space alone.
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
    """Whether /proc hides the process (`hidepid`): None if the process exists, else False."""
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return None
    except (OSError, ValueError):
        return False
    return None


def _boot_and_space(root: Path) -> str:
    boot = (root / "proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    space = (root / "proc/self/ns/pid").readlink()
    return f"{boot} {space}"


def _started(number: int, root: Path) -> str:
    """Its start in ticks: proc_pid_stat(5), field 22. ProcessLookupError if it has ended."""
    text = (root / f"proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    # The name of the program comes before, in brackets, and may have brackets in it.
    _, _, behind_name = text.rpartition(")")
    fields = behind_name.split()
    # A zombie, or one that is just gone: nothing of it works any more.
    if fields[0] in "ZX":
        raise ProcessLookupError(f"process {number} has ended")
    return fields[19]


def lock_folder() -> Path:
    """Returns a folder, the same for all users, in which each of them can make and open a file."""
    for folder in (Path("/run/lock"), Path("/tmp")):
        # All users must find one another's lock, so it is in a folder that all may write.
        if folder.is_dir() and folder.stat().st_mode & 0o002:
            return folder
    return Path(tempfile.gettempdir())


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Holds the lock, which the kernel frees when this process ends. UnavailableError if another
    holds it. The folder may be open to all users: no link is followed, and nothing is written to a
    file that does not look like a lock."""
    import fcntl

    files.make_folder(lock.parent)
    with open(_opened(lock), "rb", closefd=True) as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = held.read(20).decode(errors="replace").strip() or "unknown"
            raise UnavailableError(
                f"another campaign is running here (process {holder})",
                advice="wait for it to end, or stop it with Ctrl-C where it runs",
            ) from error
        _sign(held.fileno())
        yield


def _opened(lock: Path) -> int:
    """A descriptor of the lock, first without O_CREAT: with fs.protected_regular not even root may
    use it on another user's file. One that may only be read can be locked as well."""
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    reason: OSError | None = None
    creating = os.O_RDWR | os.O_CREAT | os.O_EXCL
    for flags in (os.O_RDWR, creating, os.O_RDWR, os.O_RDONLY):
        try:
            descriptor = os.open(lock, flags | safe, 0o666)
        except OSError as error:
            reason = error
            continue
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        reason = OSError(f"{lock} is not a file")
        break
    raise UnavailableError(
        f"the lock that keeps two campaigns apart cannot be opened: {reason}",
        advice=f"look at `ls -l {lock}` and remove it, as its owner or root, "
        "if no campaign runs",
    ) from reason


def _sign(lock: int) -> None:
    """Writes our process number into the lock, for the message to others, and opens it to all."""
    status = os.fstat(lock)
    # A second name could be that of any file of this user, put there by another.
    if status.st_uid == os.geteuid() and status.st_nlink == 1:
        os.fchmod(lock, 0o666)
    content = os.pread(lock, 21, 0)
    has_number = len(content) <= 20 and content.strip().isdigit()
    # A file with another name, or with something else in it, is nobody's lock.
    if status.st_nlink != 1 or (content and not has_number):
        return
    with suppress(OSError):  # a lock that may only be read still locks
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
