"""Folders of this computer that carry our mark: naming, making, recognising and removing them.

A mark is a small file in a folder. It says which cache of which user made the folder, and for which
campaign (`marked.py`). Only a folder whose mark is ours is removed. What carries no mark, or that
of somebody else, is left alone and named to the user.
"""

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


def owner(world: World) -> str:
    """The text of the mark in folders that this program makes now."""
    return marked.owner(world.cache, world.platform.campaign)


def unique_name(name: str, world: World, *places: str) -> str:
    """`name` with a suffix that differs for other caches and for other `places`.

    So two users of a machine never take each other's folders for their own."""
    cache = str(world.cache.resolve())
    # No path has a NUL, so that two lists of places never give one text.
    text = "\0".join((cache, *places))
    suffix = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name}-{suffix}"


# ------------------------------------------------------------------ making


def make(folder: Path, world: World) -> None:
    """Makes a folder of the cache with our mark.

    A folder whose mark was cut off may be anybody's: it is renamed, and the user is told.
    UsageError if the folder is somebody else's."""
    foreign = marked.make(str(folder), owner(world))
    if foreign == marked.UNSAID:
        _set_aside(folder, world)
        foreign = marked.make(str(folder), owner(world))
    if foreign:
        unmarked = foreign == marked.UNMARKED
        refused = MarkedFolder(str(folder), 0, foreign, unmarked=unmarked)
        raise UsageError(
            str(refused),
            advice="let TIERBENCH_CACHE name another folder, or remove this if nobody "
            "needs it",
        )


def _set_aside(folder: Path, world: World) -> None:
    """Renames a folder. What is mounted there cannot be renamed: it stays, and is refused."""
    aside = folder.with_name(f"{folder.name}-aside-{world.platform.campaign}")
    with suppress(OSError):
        folder.rename(aside)
        left = MarkedFolder(str(aside), 0, marked.UNSAID, unmarked=True)
        world.progress.warn(
            f"{folder} was renamed, and its data are made again: {left}"
        )


def is_ours(folder: Path, world: World) -> bool:
    """Whether a folder has the mark of this cache, on the machine that has the disks."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        # A mark that cannot be read or understood is not called ours, so its folder is never
        # removed.
        mark = json.loads(world.machine.read(f"{folder}/{marked.MARK}"))
        ours = json.loads(owner(world))
        return marked.is_same(mark, ours)
    return False


# ------------------------------------------------------------------ removing


def remove_ours(
    folders: Iterable[Path], world: World, only_list: bool
) -> Iterator[MarkedFolder]:
    """Removes folders with our mark; `only_list`: only yields what would go."""
    for folder in folders:
        yield from remove_owned(folder, owner(world), only_list)


def remove_owned(folder: Path, whose: str, only_list: bool) -> Iterator[MarkedFolder]:
    """Removes a folder whose mark is `whose`; `only_list`: only yields it."""
    content = marked.remove(str(folder), whose, only_list)
    if content:
        yield state_of(content)


def state_of(content: Mapping[str, Any], machine: str = "") -> MarkedFolder:
    """A folder as `marked` reports it. `machine`: the one that has it; "" for this computer."""
    place = str(content["place"])
    size_bytes = int(content["bytes"])
    foreign = str(content["foreign"])
    kept = tuple(content["kept"])
    unmarked = foreign in (marked.UNMARKED, marked.UNSAID)
    return MarkedFolder(place, size_bytes, foreign, kept, machine, unmarked)
