"""Reading files that somebody else may have put there: plain ones only, and none that is too large.

A link may name any file of the user, a pipe waits for ever, and a device never ends. So a file is
opened without following a link and without waiting, and is looked at before it is read."""

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator.errors import CutError, NotReadableError
from orchestrator.units import format_bytes

MOST_BYTES = 64 * 2**20  # size of a file of JSON; that of a run has some 50 kB
MOST_WRITTEN_BYTES = 2**20  # size of a file that a person writes; takes seconds to read
# A link that is not to be followed, and a socket.
_NOT_OPENED = (errno.ELOOP, errno.EMLINK, errno.ENXIO)


def read(
    file: Path, most_bytes: int | None = None, *, through_links: bool = False
) -> bytes:
    """The content of a file, of `MOST_BYTES` if nothing else is said. `through_links`: of one that
    its user has named. CutError if it is no plain file, or larger; NotReadableError; other
    OSError as `open` has it."""
    most_bytes = most_bytes or MOST_BYTES
    number = open_plain(file, through_links=through_links)
    with os.fdopen(number, "rb") as opened:
        is_larger = os.fstat(number).st_size > most_bytes
        if not is_larger:
            # One byte more than allowed tells a file that has grown since.
            content = opened.read(most_bytes + 1)
            is_larger = len(content) > most_bytes
    if is_larger:
        raise CutError(
            f"{file} is larger than {format_bytes(most_bytes)}",
            advice="files of this kind are smaller: look at what is in it",
        )
    return content


def open_plain(file: Path, *, through_links: bool = False) -> int:
    """A descriptor to read a plain file by; raises as `read` does."""
    # Opening a pipe without O_NONBLOCK waits until somebody writes to it.
    how = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if not through_links:
        how |= os.O_NOFOLLOW
    try:
        number = os.open(file, how)
    except OSError as error:
        if error.errno in _NOT_OPENED:
            raise not_plain(file) from error
        if isinstance(error, PermissionError):
            raise _not_readable(file) from error
        raise
    # The open file is looked at. It could be replaced between a look at the path and the opening.
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        place = file
        if through_links:
            place = file.resolve()
        raise not_plain(place)
    return number


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What the block may not read of a file or folder is a NotReadableError."""
    try:
        yield
    # It has named its place already.
    except NotReadableError:
        raise
    except PermissionError as error:
        raise _not_readable(path) from error


def _not_readable(path: Path) -> NotReadableError:
    """Names the nearest folder that can be looked at: below it nothing can."""
    for place in (path, *path.parents):
        with suppress(OSError):
            user = _user(place.stat().st_uid)
            return NotReadableError(
                f"{place} belongs to {user}, and you may not read it"
            )
    return NotReadableError(f"you may not read {path}")


def _user(number: int) -> str:
    with suppress(KeyError):  # a user of another machine, or of a container
        return pwd.getpwuid(number).pw_name
    return f"user {number}"


def not_plain(path: Path) -> CutError:
    """What is to be said of something that is neither a plain file nor a folder, or is the one in
    the place of the other."""
    return CutError(
        f"{path} is {kind_of(path)} where something else belongs",
        advice="remove it, or put the file or folder itself there",
    )


_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_of(path: Path) -> str:
    """`a file`, `a link`, …; of a link not what it points to. `nothing` if it is not there;
    NotReadableError if its folder does not tell."""
    try:
        mode = os.lstat(path).st_mode
    except PermissionError as error:
        raise _not_readable(path) from error
    except OSError:
        return "nothing"
    return _KINDS.get(stat.S_IFMT(mode), "an unknown kind of file")


def is_file(path: Path) -> bool:
    return kind_of(path) == "a file"


def is_folder(path: Path) -> bool:
    return kind_of(path) == "a folder"


def others_below(folder: Path) -> Iterator[Path]:
    """What is neither a plain file nor a folder, at any depth. OSError if a folder cannot be
    read."""
    folders = [folder]
    # A list and no recursion: folders of others may be nested without end.
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
