"""A tier in result files: all its keys on one level, as they were before it had parts.

`flat` writes what `parts` reads. Both take and give plain content, as of JSON.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from orchestrator.errors import UsageError


class _Place(NamedTuple):
    """Where in a tier the value of a key of its file is.

    `part`: the part of the tier; empty if it is the tier itself. `unused`: what the file says if
    the tier has no such part, as with disks of other kinds.
    """

    part: str
    name: str
    unused: Any = None


_PLACES: Mapping[str, _Place] = {
    "enforcement": _Place("disk", "enforcement"),
    "iops": _Place("limits", "iops"),
    "bytes_per_s": _Place("limits", "bytes_per_s"),
    "read_latency_s": _Place("latency", "read_s"),
    "write_latency_s": _Place("latency", "write_s"),
    "burst": _Place("limits", "burst"),
    "io_unit_bytes": _Place("limits", "io_unit_bytes"),
    "latency_assumed": _Place("latency", "assumed"),
    "latency_model": _Place("latency", "model"),
    "read_latency_measured": _Place("latency", "read_measured", unused=""),
    "write_latency_measured": _Place("latency", "write_measured", unused=""),
    "path": _Place("disk", "path"),
    "disks": _Place("disk", "disks", unused={}),
    "file_system": _Place("disk", "file_system"),
    "mount_options": _Place("disk", "mount_options", unused=()),
    "cloud": _Place("disk", "cloud"),
    "catalog_type": _Place("origin", "catalog_type"),
    "allow_root_disk": _Place("disk", "allow_root_disk", unused=False),
    "allow_retained_volumes": _Place("disk", "allow_retained_volumes", unused=False),
    "snapshots": _Place("disk", "snapshots"),
    "burst_time_scale": _Place("disk", "burst_time_scale", unused=1.0),
    "price": _Place("", "price"),
    "source": _Place("origin", "source"),
    "as_of": _Place("origin", "as_of"),
    "notes": _Place("origin", "notes"),
    "vm_caps": _Place("origin", "vm_caps"),
    "size_bytes": _Place("origin", "size_bytes"),
    "product": _Place("origin", "product", unused=""),
    "bought_iops": _Place("origin", "bought_iops"),
    "bought_bytes_per_s": _Place("origin", "bought_bytes_per_s"),
    "like": _Place("disk", "kind"),
    "storage_class": _Place("disk", "storage_class"),
    "in_memory": _Place("disk", "in_memory"),
}
# Files have the sentences of a machine's limits, and under the other key which limit each is of.
_VM_CAPS = "vm_caps"
_VM_LIMITS = "vm_limits"
# Earlier releases told that by the words with which a sentence begins.
_VM_LIMIT_WORDS = ("IOPS", "throughput", "burst IOPS", "burst throughput")
# Keys that most tiers do not use. An amount that is 0 is known, so only None leaves it out.
_LEFT_OUT_IF_EMPTY = (
    *("in_memory", "product"),
    *("read_latency_measured", "write_latency_measured"),
)
_LEFT_OUT_IF_UNKNOWN = ("size_bytes", "bought_iops", "bought_bytes_per_s")
# A kind of disk that earlier releases had.
_CONTROL_GROUP = "cgroup"
# These have the same name in both.
_OF_THE_TIER = ("name", "title", "count", "shared", "machine", "wal")


def flat(tier: Mapping[str, Any]) -> dict[str, Any]:
    """Turns a tier into the flat mapping that result files keep.

    `like` is the disk's kind where its mechanism has another name.
    """
    content = {"name": tier["name"], "title": tier["title"]}
    for key, place in _PLACES.items():
        part = tier
        if place.part:
            part = tier[place.part]
        content[key] = part.get(place.name, place.unused)
    # Most mechanisms have the name of their kind of disk, and files of earlier releases no `like`.
    if content["like"] == content["enforcement"]:
        content["like"] = None
    _leave_out_unused(content)
    _split_vm_caps(content)
    content.update(_rare_keys_of_the_tier(tier))
    return content


def _leave_out_unused(content: dict[str, Any]) -> None:
    """Removes keys that most tiers do not use, so that files of earlier releases are alike."""
    for key in _LEFT_OUT_IF_EMPTY:
        if not content[key]:
            del content[key]
    for key in _LEFT_OUT_IF_UNKNOWN:
        if content[key] is None:
            del content[key]


def _split_vm_caps(content: dict[str, Any]) -> None:
    """Writes the machine's limits as sentences, and beside them which limit each is of."""
    if not content[_VM_CAPS]:
        return
    limit_of_sentence: dict[str, str | None] = {}
    for cap in content[_VM_CAPS]:
        limit_of_sentence[cap["text"]] = cap["limit"]
    content[_VM_CAPS] = list(limit_of_sentence)
    content[_VM_LIMITS] = limit_of_sentence


def _rare_keys_of_the_tier(tier: Mapping[str, Any]) -> dict[str, Any]:
    """What few tiers have beside their parts; a tier has one disk if no `count` says more."""
    content: dict[str, Any] = {}
    if tier["wal"]:
        content["wal"] = tier["wal"]
    if tier["count"] > 1:
        content["count"] = tier["count"]
    if tier["shared"]:
        content["shared"] = tier["shared"]
    if tier["machine"]:
        content["machine"] = tier["machine"]
    return content


def parts(content: Any) -> Any:
    """Turns the flat mapping of a result file into a tier with its parts; anything else stays as it
    is.

    UsageError if its disk is of a kind that only earlier releases judge.
    """
    # A tier that has its parts already, as within this program.
    if not isinstance(content, Mapping) or "disk" in content:
        return content
    tier: dict[str, Any] = {
        "limits": {},
        "latency": {},
        "origin": {},
        "disk": {},
    }
    for name in _OF_THE_TIER:
        if name in content:
            tier[name] = content[name]
    for key, place in _PLACES.items():
        if key not in content:
            continue
        part = tier
        if place.part:
            part = tier[place.part]
        part[place.name] = content[key]
    tier["origin"]["vm_caps"] = list(_vm_caps(content))
    kind = content.get("like") or content["enforcement"]
    if kind == _CONTROL_GROUP:
        raise _control_groups_error(content.get("name"))
    tier["disk"]["kind"] = kind
    return tier


def _vm_caps(content: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each limit that the machine sets: which one it is, and the sentence."""
    limits = content.get(_VM_LIMITS, {})
    for text in content.get(_VM_CAPS, ()):
        if text in limits:
            yield {"limit": limits[text], "text": text}
        else:
            yield {"limit": _limit_in_sentence(text), "text": text}


def _limit_in_sentence(text: str) -> str | None:
    begin, _, _ = text.partition(":")
    if begin in _VM_LIMIT_WORDS:
        return begin
    return None


def _control_groups_error(name: object) -> UsageError:
    return UsageError(
        f"the disks of {name} were limited by control groups, which this version cannot judge",
        advice="read these results with the version that wrote them, or measure again with "
        "`enforcement: emulated`",
    )
