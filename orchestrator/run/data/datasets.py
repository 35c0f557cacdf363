"""Loaded data sets, kept as snapshots: loaded once without any limit, then restored for each run.

A snapshot of the disks of all nodes, taken after a clean stop, is one of the data set. So
every run of a tier starts from the same bytes, and repetitions do not drift as tables
grow. Where snapshots lie is the tier mechanism's: files of the cache, or directories on a
real disk.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from orchestrator.design.used_profiles import as_used
from orchestrator.errors import RunError, TierbenchError
from orchestrator.model import Plan, Profile, Workload
from orchestrator.parts import MarkedFolder, Parts, TierMechanism
from orchestrator.powers import World
from orchestrator.run.data import kept_data
from orchestrator.run.data.kept_data import DATASET
from orchestrator.run.data.loading import LOADING, PLACES, load
from orchestrator.system import marked, marked_folders
from orchestrator.units import format_bytes

BLOCK_BYTES = 512  # the unit of `st_blocks`, whatever the file system's own blocks are


def ensure(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> tuple[Path, ...] | None:
    """Snapshots of the loaded data set, one per node; loaded now if they are not kept yet.

    None if the tier or the database cannot start from a copy: then the run loads by
    itself.
    """
    data = kept_data.planned(profile, workload, seed, parts, world)
    if data is None:
        return None
    if not _can_be_restored(data, world):
        load(data, parts, world)
    with suppress(OSError):
        # The date says when the data were used last, by which `hold_to` removes them.
        (kept_data.folder_of(data.snapshots, world) / DATASET).touch()
    return data.snapshots


def _can_be_restored(data: kept_data.DataSet, world: World) -> bool:
    if not kept_data.is_complete(data, world):
        return False
    # The cache may say so while the disks on other machines are gone.
    return data.kept.are_on_nodes(data.snapshots, world)


def whereabouts(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> tuple[str | None, bool]:
    """Which kept data set the runs start from, and whether it is loaded already.

    None if every run loads by itself. Nothing is loaded now.
    """
    data = kept_data.planned(profile, workload, seed, parts, world)
    if data is None:
        return None, False
    name = data.snapshots[0].parent.name
    return name, kept_data.is_complete(data, world)


def addresses_of(snapshots: Sequence[Path] | None, world: World) -> tuple[str, ...]:
    """The nodes' addresses while a kept data set was loaded: some databases start on no others."""
    if snapshots:
        return kept_data.addresses_of(snapshots, world)
    return ()


# ------------------------------------------------------------------ removing all


def forget(
    tiers: Mapping[str, TierMechanism], world: World, only_list: bool
) -> Iterator[MarkedFolder]:
    """Removes all kept data sets, and what a killed run left of its disks, of all `tiers`.

    Only what carries our mark; or only lists them. What fails is said, and the rest goes
    on; then RunError.
    """
    failed: list[str] = []
    for step in _steps(tiers, world, only_list):
        try:
            for marked_folder in step():
                yield marked_folder
                if marked_folder.kept:
                    failed.append(f"{marked_folder.place} cannot be removed")
        except (TierbenchError, OSError) as error:
            failed.append(str(error))
    if failed:
        raise RunError(
            "; ".join(failed), advice="remove the cause, then `tierbench clean` again"
        )


def _steps(
    tiers: Mapping[str, TierMechanism], world: World, only_list: bool
) -> Iterator[Callable[[], Iterable[MarkedFolder]]]:
    """What is elsewhere first: where that is, only the cache says."""
    places = _places(world)
    for mechanism in tiers.values():
        kept = mechanism.abilities.kept_data
        if kept is not None:
            yield partial(kept.forget, places, world, only_list)
    yield partial(marked_folders.remove_ours, folders(world.cache), world, only_list)


# Folders of the cache that are ours → files in them, one of which says that they are.
_SIGNS = {
    "datasets/*": (LOADING, PLACES, DATASET),
    "disks": ("*.img",),
    "gates": ("*.json",),
    "truth-gates": (),
}


def folders(cache: Path) -> list[Path]:
    """What is ours in the cache, or looks so.

    Earlier releases put no mark there, nor on `gates`. The cache may be any folder of a
    person, with a `datasets` or `disks` of theirs.
    """
    signed: list[Path] = []
    for pattern, names in _SIGNS.items():
        signs = (marked.MARK, *names)
        for folder in sorted(cache.glob(pattern)):
            if folder.is_dir() and _has_any(folder, signs):
                signed.append(folder)
    return signed


def _has_any(folder: Path, signs: Iterable[str]) -> bool:
    return any(any(folder.glob(sign)) for sign in signs)


def _places(world: World) -> set[Path]:
    """Folders on real disks that hold, or may hold, snapshots."""
    folders: set[Path] = set()
    for file in (world.cache / "datasets").glob(f"*/{PLACES}"):
        with suppress(OSError, ValueError, TypeError):  # one that was cut says nothing
            places = json.loads(file.read_text(encoding="utf-8"))
            folders |= {Path(place).parent for place in places}
    caches = (world.cache, world.platform.folder(world.cache))
    # Folders in the cache are removed with it, under its own name and under the engine's.
    return folders - {cache / "datasets" for cache in caches}


# ------------------------------------------------------------------ holding to a size


def hold_to(most_bytes: int, plan: Plan, parts: Parts, world: World) -> None:
    """Removes what is ours of the longest unused data sets of the cache.

    Until all have no more than so many bytes (`--cache-max`). Those that `plan` starts
    from stay.
    """
    used = _used_by(plan, parts, world)
    files = list((world.cache / "datasets").glob(f"*/{DATASET}"))
    sizes = {file.parent: _bytes_in(file.parent) for file in files}
    for file in sorted(files, key=_last_used):
        # The longest unused go first; what this plan needs would be loaded again.
        if sum(sizes.values()) <= most_bytes or file.parent.name in used:
            continue
        for gone in marked_folders.remove_ours([file.parent], world, only_list=False):
            world.progress.note(f"removed because of --cache-max: {gone}")
        # A folder without our mark stays, and so does the space that it takes.
        if not file.exists():
            del sizes[file.parent]
    left = sum(sizes.values())
    if left > most_bytes:
        world.progress.warn(
            f"kept data sets take {format_bytes(left)}, which is more than "
            "--cache-max: this campaign's stay"
        )


def _used_by(plan: Plan, parts: Parts, world: World) -> set[str | None]:
    """The names of the data sets that a plan starts from."""
    names: set[str | None] = set()
    for profile in plan.profiles:
        for workload in plan.workloads:
            used = as_used(profile, workload)
            name, _ = whereabouts(used, workload, plan.repeats.seed, parts, world)
            names.add(name)
    return names


def _bytes_in(folder: Path) -> int:
    """The bytes on the disk, which are fewer than the files are long: images have holes."""
    total = 0
    for file in folder.rglob("*"):
        if file.is_file():
            total += file.stat().st_blocks * BLOCK_BYTES
    return total


def _last_used(file: Path) -> float:
    return file.stat().st_mtime
