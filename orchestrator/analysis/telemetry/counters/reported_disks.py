"""How samples call the disks of which a provider reports: a node may have several. Pure.

Those of the data are `node-1/lun0`, and those of its log alone `node-1.wal/lun2`. Campaigns of an
earlier program have one disk a node, which is called as the node itself.
"""

from collections.abc import Iterable

_BEHIND = "/"


def series(disk_place: str, disk: str) -> str:
    """The node of the samples of one disk."""
    return f"{disk_place}{_BEHIND}{disk}"


def disks_at(disk_place: str, sampled: Iterable[str]) -> dict[str, str]:
    """The series of each disk of a place among the nodes that were sampled, by the disk's name."""
    begins = series(disk_place, "")
    disks: dict[str, str] = {}
    for name in sorted(sampled):
        if name.startswith(begins):
            disks[name.removeprefix(begins)] = name
    return disks
