"""How providers call the disks of a run, as far as its facts tell. Pure.

A run's disks may be others than those of the next one: another tier's are beside them on the same
machines, and on Kubernetes each run rents its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.facts import group
from orchestrator.model import Record

_ALL_NODES = "all nodes"
# Linux has the name of an EBS volume as its device's serial number, without the hyphen.
_SERIAL = "vol"
_VOLUME = "vol-"


def of_node(record: Record, node: str) -> frozenset[str]:
    """Names of the disk of a node's data: `lun0`, `vol-0123456789abcdef0`, or that of a disk
    resource. Empty if the facts name none."""
    tier = group(record.facts, "tier")
    names: set[str] = set()
    for key, disk in group(tier, "disks").items():
        if {node, _ALL_NODES} & set(disk.get("used_by", ())):
            names.update(_of_volume(disk.get("made_of")))
            for answer in group(tier, "cloud", "disks", key).values():
                names.update(_of_answer(answer))
    return frozenset(names)


def _of_volume(handle: Any) -> Iterator[str]:
    """A CSI driver's handle is the volume, or the resource that it is."""
    if isinstance(handle, str) and handle:
        yield handle.rpartition("/")[2]


def _of_answer(answer: dict[str, Any]) -> Iterator[str]:
    """What a cloud's metadata service says of a device."""
    if "lun" in answer:
        yield f"lun{answer['lun']}"
    volume = str(answer.get("volume", ""))
    if volume.startswith(_SERIAL):
        yield f"{_VOLUME}{volume.removeprefix(_SERIAL).removeprefix('-')}"
