"""States of files, by which one that has changed since is told without being read."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# A file may change twice within one tick of its file system, and look alike both times.
_SETTLED_S = 2.0


class FileState(NamedTuple):
    """A file at a moment. Each change of it gives another.

    number: of its inode. changed_ns: when its content or name was last changed, in Unix time."""

    path: str
    number: int
    size_bytes: int
    changed_ns: int


def below(folder: Path | str) -> Iterator[FileState]:
    """The files below a folder, if there is one. Folders that are links are passed over."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from below(entry.path)
            elif entry.is_file():
                yield _state(entry.path, entry.stat())


def existing(files: Iterable[Path]) -> Iterator[FileState]:
    """The states of these files, but of those that do not exist."""
    for file in files:
        if file.is_file():
            yield _state(str(file), file.stat())


def have_settled(states: Iterable[FileState], now_s: float) -> bool:
    """Whether a next change of any of them would be seen in its state."""
    last_s = now_s - _SETTLED_S
    return all(state.changed_ns / 1e9 < last_s for state in states)


def _state(path: str, status: os.stat_result) -> FileState:
    return FileState(path, status.st_ino, status.st_size, status.st_ctime_ns)
