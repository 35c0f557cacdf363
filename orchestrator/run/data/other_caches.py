"""What other machines, or earlier names of this one, have left in the cache folder.

`tierbench clean` shows it, and removes that of one owner by the marks that its folders carry, as it
would have removed it itself."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import RunError, UsageError
from orchestrator.parts import MarkedFolder
from orchestrator.run.data import datasets
from orchestrator.system import machine_caches, marked, marked_folders
from orchestrator.system.machine_caches import MachineIdentity
from orchestrator.texts.prose import listed
from orchestrator.units import format_bytes, format_seconds


@dataclass(frozen=True)
class OtherCache:
    """A part of the cache folder that another machine has signed. `used_s`: when a file of it was
    changed last, in Unix time; `size_bytes`: what its data take on the disk."""

    folder: Path
    owner: MachineIdentity
    size_bytes: int
    used_s: float

    def described(self, now_s: float) -> str:
        age = format_seconds(max(0.0, now_s - self.used_s))
        size = format_bytes(self.size_bytes)
        return (
            f"{self.folder} belongs to {self.owner.name}: {size}, used {age} "
            f"ago (`tierbench clean --owner {self.owner.name}` removes it)"
        )

    def warning(self, now_s: float) -> str:
        """What is to be said before it is removed. Locks are of one machine alone."""
        age = format_seconds(max(0.0, now_s - self.used_s))
        return (
            f"{self.owner.name} may be using {self.folder} now, and this "
            f"machine cannot see it. Its newest file changed {age} ago"
        )


def found(cache: Path) -> Iterator[OtherCache]:
    """Other caches beside the `cache` of this machine that hold something."""
    shared = cache
    # The first machine owns the folder itself, and each later one has a part in it.
    if cache.parent.name == machine_caches.PARTS:
        shared = cache.parent.parent
    for folder in machine_caches.parts(shared):
        owner = machine_caches.owner_of(folder)
        if folder == cache or owner is None:
            continue
        other = _measured(folder, owner)
        if other is not None:
            yield other


def _measured(folder: Path, owner: MachineIdentity) -> OtherCache | None:
    """A part of the cache with its size and age; None if there is nothing in it."""
    size_bytes = 0
    changes_s: list[float] = []
    for data in datasets.folders(folder):
        for file in data.rglob("*"):
            # The cache's machine may be at work, and remove a file meanwhile.
            with suppress(OSError):
                status = file.lstat()
                # Blocks are counted, as images have holes and are longer than the space that they
                # take.
                size_bytes += status.st_blocks * datasets.BLOCK_BYTES
                changes_s.append(status.st_mtime)
    if not changes_s:
        return None
    return OtherCache(folder, owner, size_bytes, max(changes_s))


def forget(cache: Path, owner: str, only_list: bool) -> Iterator[MarkedFolder]:
    """Removes what the machine of that name has in the cache folder, or only lists it. UsageError
    if it has nothing, RunError if something cannot be removed."""
    others = list(found(cache))
    named: list[OtherCache] = []
    for other in others:
        if other.owner.name == owner:
            named.append(other)
    if not named:
        names = listed(sorted({other.owner.name for other in others})) or "no machine"
        raise UsageError(
            f"no other machine {owner} has data in this cache",
            advice=f"there are some of {names}",
        )
    stays: list[str] = []
    for other in named:
        # The marks of that machine decide, so that nothing of a third one goes.
        whose = marked.owned_by(owner, other.owner.id, other.folder, "")
        for folder in datasets.folders(other.folder):
            for marked_folder in marked_folders.remove_owned(folder, whose, only_list):
                yield marked_folder
                if marked_folder.kept:
                    stays.append(marked_folder.place)
    if stays:
        raise RunError(
            f"{listed(stays)} cannot be removed",
            advice="remove the cause, then give the same command again",
        )
