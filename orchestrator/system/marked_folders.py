"""Folders of this computer that carry our mark: how they are made, named, listed and removed.

What removes looks at the mark itself (`marked.py`)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.parts import MarkedFolder
from orchestrator.powers import World
from orchestrator.system import marked


def state_of(content: Mapping[str, Any], machine: str = "") -> MarkedFolder:
    """What `marked` says of a folder."""
    foreign = str(content["foreign"])
    return MarkedFolder(
        str(content["place"]),
        int(content["bytes"]),
        foreign,
        tuple(content["kept"]),
        machine,
        unmarked=foreign in (marked.UNMARKED, marked.UNSAID),
    )


def owner(world: World) -> str:
    """What our mark says of folders that this program makes now."""
    return marked.owner(world.cache, world.platform.campaign)


def named(name: str, world: World, *places: str) -> str:
    """The name that only this cache gives, with these places."""
    text = "\0".join((str(world.cache.resolve()), *places))
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def make(folder: Path, world: World) -> None:
    """Makes a folder of the cache with our mark. One whose mark was cut may be anybody's: it is set
    aside and named. UsageError if it is somebody else's."""
    why = marked.make(str(folder), owner(world))
    if why == marked.UNSAID:
        aside = folder.with_name(f"{folder.name}-aside-{world.platform.campaign}")
        with suppress(OSError):  # a disk that is mounted there stays, and is refused
            folder.rename(aside)
            left = MarkedFolder(str(aside), foreign=marked.UNSAID, unmarked=True)
            world.progress.warn(
                f"{folder} was renamed, and what it held is made again: {left}"
            )
        why = marked.make(str(folder), owner(world))
    if why:
        raise UsageError(
            str(
                MarkedFolder(str(folder), foreign=why, unmarked=why == marked.UNMARKED)
            ),
            advice="let TIERBENCH_CACHE name another folder, or remove this if nobody "
            "needs it",
        )


def is_ours(folder: Path, world: World) -> bool:
    """Whether a folder of the machine with the disks has the mark of this cache."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        mark = json.loads(world.machine.read(f"{folder}/{marked.MARK}"))
        ours = json.loads(owner(world))
        return marked.is_same(mark, ours)
    return False


def here(
    folders: Iterable[Path], world: World, only_list: bool = False
) -> Iterator[MarkedFolder]:
    """Removes folders of this computer, or only lists what would go."""
    for folder in folders:
        yield from owned(folder, owner(world), only_list)


def owned(folder: Path, whose: str, only_list: bool) -> Iterator[MarkedFolder]:
    """Removes a folder of this computer, or only lists it, if its mark says `whose`."""
    content = marked.remove(str(folder), whose, only_list)
    if content:
        yield state_of(content)
