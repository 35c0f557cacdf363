"""Loaded disks that a tier mechanism keeps as snapshots, and what becomes of them."""

import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.model import (
    Volume,
)
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.units import format_bytes


@dataclass(frozen=True)
class NodesData:
    """What the nodes' disks are to hold: how many bytes at most, and the snapshots of loaded data;
    none: they are empty. `resumed`: a load goes on from the snapshots that an earlier one left."""

    sizes_bytes: Sequence[int]
    snapshots: Sequence[Path] = ()
    resumed: bool = False


@dataclass(frozen=True)
class MarkedFolder:
    """A folder that carries, or might carry, our mark."""

    place: str
    size_bytes: int
    # Why it is not touched.
    foreign: str = ""
    # The parts of it that cannot be removed.
    kept: tuple[str, ...] = ()
    # The machine on which it is, if that is not this computer.
    machine: str = ""
    # It has no mark, or one that does not say whose it is.
    unmarked: bool = False

    def __str__(self) -> str:
        place = self.place
        if self.machine:
            place = f"{self.place} of {self.machine}"
        if self.unmarked:
            return (
                f"{place} {self.foreign}, so it is left alone. If an earlier "
                "release made it and nobody needs it: rm -r --one-file-system -- "
                f"{shlex.quote(self.place)}"
            )
        if self.foreign:
            return f"{place} {self.foreign}: it is left alone"
        left = ""
        if self.kept:
            left = f"; these stay: {'; '.join(self.kept)}"
        return f"{place} ({format_bytes(self.size_bytes)}){left}"


def _discards_nothing(_snapshots: Sequence[Path], _world: World) -> None:
    """What is kept is in the cache of this computer, or goes with what holds it."""


def _keeps_nothing_elsewhere(
    _folders: Collection[Path], _world: World, _only_list: bool
) -> Iterable[MarkedFolder]:
    """All that is kept is in the cache of this computer, or goes with the campaign."""
    return ()


def _all_exist(snapshots: Sequence[Path], _world: World) -> bool:
    missing: list[Path] = []
    for snapshot in snapshots:
        if not snapshot.exists():
            missing.append(snapshot)
    return not missing


def _no_further_look(_snapshots: Sequence[Path], _world: World) -> bool:
    return True


@dataclass(frozen=True)
class KeptData:
    """How a tier mechanism keeps loaded disks as snapshots, and restores them for each run."""

    # (tier, bytes of each node's disk, name, world): where the snapshots of the data set of that
    # name lie, one per node, in a folder whose name differs wherever they do; none if every run
    # loads. A snapshot that exists is whole.
    snapshots: Callable[[Tier, Sequence[int], str, World], tuple[Path, ...]]
    # Attaches volumes without limits for loading. Their content is the snapshots when the block has
    # ended well. The database makes them in a cluster that others run.
    loading: Callable[
        [Tier, NodesData, World], AbstractContextManager[tuple[Volume, ...]]
    ]
    # Says at once whether the snapshots are there, as far as that can be told; without it they are
    # files of this computer.
    are_there: Callable[[Sequence[Path], World], bool] = _all_exist
    # Makes sure, on the machines of their nodes, which may take seconds.
    are_on_nodes: Callable[[Sequence[Path], World], bool] = _no_further_look
    # Removes what lies on other machines and no later load can go on from.
    discard: Callable[[Sequence[Path], World], None] = _discards_nothing
    # (folders in which data sets lie, world, only list): removes, or only lists, all that is kept
    # outside of the cache of this computer, as far as it carries our mark.
    forget: Callable[[Collection[Path], World, bool], Iterable[MarkedFolder]] = (
        _keeps_nothing_elsewhere
    )
