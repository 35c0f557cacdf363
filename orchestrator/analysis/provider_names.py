"""How providers call the disks of a run, as far as its facts tell. Pure.

A run's disks may be others than those of the next one: another tier's are beside them on the same
machines, and on Kubernetes each run rents its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from orchestrator.facts import group
from orchestrator.model import Record
from orchestrator.tier.slow_disk import LOG_OF_NODE

_ALL_NODES = "all nodes"
# Ends the name of a node that has its WAL at a path.
_LOG_OF_PATH = "'s WAL"
# Linux has the name of an EBS volume as its device's serial number, without the hyphen.
_SERIAL = "vol"
_VOLUME = "vol-"
_NUMBER = "lun"

# Clouds that report of the limits of their disks.
Cloud = Literal["azure", "aws"]
_CLOUDS: tuple[Cloud, ...] = ("azure", "aws")
# Ends the name of a cloud's CSI driver.
_DRIVERS: Mapping[Cloud, str] = {"azure": ".azure.com", "aws": ".aws.com"}


def cloud(record: Record) -> Cloud | None:
    """Whose disks a run is on: by its tier's row of the catalog, the driver of its volumes, or what
    the disks are called. None if nothing tells that, or the cloud reports of no limits."""
    row = record.profile.tier.origin.catalog_type
    driver = record.read_facts.tier.provisioner or ""
    for name in _CLOUDS:
        if row.startswith(f"{name}/") or driver.endswith(_DRIVERS[name]):
            return name
    for node in record.nodes:
        for disk in of_disks(record, node.name, of_log=False):
            if disk.startswith(_NUMBER):
                return "azure"
            if disk.startswith(_VOLUME):
                return "aws"
    return None


def of_disks(record: Record, node: str, *, of_log: bool) -> frozenset[str]:
    """Names of the disks of a node's data, or of those of its log alone: `lun0`,
    `vol-0123456789abcdef0`, or that of a disk resource. Several are striped to one. Empty if the
    facts name none."""
    users = {node, _ALL_NODES}
    if of_log:
        users = {f"{node}{LOG_OF_NODE}", f"{node}{_LOG_OF_PATH}"}
    facts = record.read_facts
    names: set[str] = set()
    for key, disk in facts.tier.disks.items():
        if users & set(disk.get("used_by", ())):
            names.update(_of_volume(disk.get("made_of")))
            names.update(_of_cloud(group(facts.cloud.disks, key)))
    return frozenset(names)


def _of_cloud(answers: Mapping[str, Any]) -> Iterator[str]:
    """What a cloud's metadata service says of the devices of one disk."""
    for answer in answers.values():
        yield from _of_answer(answer)


def _of_volume(handle: Any) -> Iterator[str]:
    """A CSI driver's handle is the volume, or the resource that it is."""
    # What a path's disk is striped of has spaces: `raid0 of sdc, sdd`.
    if isinstance(handle, str) and handle and " " not in handle:
        yield handle.rpartition("/")[2]


def _of_answer(answer: dict[str, Any]) -> Iterator[str]:
    """What a cloud's metadata service says of a device."""
    if "lun" in answer:
        yield f"{_NUMBER}{answer['lun']}"
    volume = str(answer.get("volume", ""))
    if volume.startswith(_SERIAL):
        yield f"{_VOLUME}{volume.removeprefix(_SERIAL).removeprefix('-')}"
