"""The folder of an observation: its own, or one in which the same command goes on.

A live observation is called by what it reads, `observed-HASH-TIME`. The same command goes on in the
newest folder of that hash whose time is not over and into which no other program reads; otherwise
it makes a new one, so that what was read before is never taken for what is read now."""

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from orchestrator import powers
from orchestrator.errors import NotWrittenError
from orchestrator.extensions.observe.observation_files import live
from orchestrator.system import campaign_writing, clock
from orchestrator.units import format_moment, format_seconds

# A command of each night begins some seconds early or late. It would read only the end of an
# observation with less than this share of its time left. It would then report the night before.
_OVER_SHARE = 0.01


def name_of(asked: Sequence[object], places: Sequence[str]) -> str:
    """The beginning of a live observation's name. `asked`: the options that say what is read;
    `places`: what says which disks a profile's nodes are read of, if one is named."""
    words = [str(value) for value in asked if value]
    # A checksum of the options, so that the same command finds its folder again.
    text = " ".join([*words, *places])
    return f"observed-{zlib.crc32(text.encode()):08x}"


def begun_s(folder: Path) -> float | None:
    """When its first reading was, which the folders of its samples are called by; None before."""
    begins_s: list[float] = []
    for file in live(folder):
        begin, _, _every_s = file.parent.name.partition("-")
        begins_s.append(float(begin))
    return min(begins_s, default=None)


@contextmanager
def new(results: Path, name: str) -> Iterator[Path]:
    """Makes a folder of that name, or with a number behind it if there is one. It is gone
    afterwards if nothing was written into it. Where none can be made it is only named: what was
    observed can be shown all the same, and who writes it says that it is not kept."""
    try:
        folder = campaign_writing.fresh_folder(results, name)
    except NotWrittenError:
        yield results / name
        return
    try:
        yield folder
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


@contextmanager
def of_live(
    results: Path, name: str, length_s: float, now_s: float, progress: powers.Progress
) -> Iterator[Path]:
    """The folder in which the observation `name` of that length goes on, else a new one. Says
    which. Meanwhile no other program goes on in it."""
    # The name ends with the time, so the newest comes first.
    for folder in sorted(results.glob(f"{name}*"), reverse=True):
        first_s = begun_s(folder)
        if first_s is None:
            continue
        left_s = first_s + length_s - now_s
        if left_s <= _OVER_SHARE * length_s:
            progress.note(
                f"the observation in {folder} is over, so a new one begins; --file "
                f"{folder} judges the old one again"
            )
            # The next ones are older, so they are over too.
            break
        with _read_into(folder) as is_alone:
            if not is_alone:
                continue
            begin = format_moment(first_s)
            left = format_seconds(left_s)
            progress.note(f"{folder} goes on: it began at {begin}, and {left} are left")
            yield folder
            return
    stamp = clock.stamp(now_s)
    with new(results, f"{name}-{stamp}") as folder, _read_into(folder):
        yield folder


@contextmanager
def _read_into(folder: Path) -> Iterator[bool]:
    """Marks a folder as one that is read into, until the block or this program ends. Whether no
    other program has marked it; also where a file system has no such marks."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        is_alone = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_alone = False
        except OSError:  # NFS marks no folders
            pass
        yield is_alone
    finally:
        os.close(descriptor)
