"""A disk tier as a profile declares it: limits, latency, price, origin and the disk that has them;
and the gate that holds its limits against a device.

Units as in `orchestrator.model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.facts import GateQuantity, GateWord
from orchestrator.tier.disks import DISKS as DISKS
from orchestrator.tier.disks import AnyDisk as AnyDisk
from orchestrator.tier.disks import Cgroup as Cgroup
from orchestrator.tier.disks import ClassVolumes as ClassVolumes
from orchestrator.tier.disks import ClassWanted as ClassWanted
from orchestrator.tier.disks import DiskKind as DiskKind
from orchestrator.tier.disks import Emulated as Emulated
from orchestrator.tier.disks import NodeDisks as NodeDisks
from orchestrator.tier.disks import NoDisk as NoDisk
from orchestrator.tier.disks import OthersDisks as OthersDisks
from orchestrator.tier.disks import RealDisks as RealDisks
from orchestrator.tier.disks import Snapshots as Snapshots
from orchestrator.tier.disks import Unlimited as Unlimited


@dataclass(frozen=True)
class Burst:
    """More than the base limits, for a time. None: does not burst in that."""

    iops: int | None
    bytes_per_s: int | None
    duration_s: float  # a full bucket holds it so long; math.inf: on demand, billed, without end
    start_pct: float = 0.0  # how full the bucket is when a run starts


def times(limit: int | None, count: int) -> int | None:
    """That of so many together."""
    if limit is None:
        return None
    return limit * count


def lower(first: int | None, second: int | None) -> int | None:
    """The lower of two limits, of which either may be unknown."""
    return min((limit for limit in (first, second) if limit is not None), default=None)


@dataclass(frozen=True)
class Limits:
    """What a disk, several together, or a VM lets through. None: not limited, or not declared."""

    iops: int | None = None  # of reads, where writes are limited apart
    bytes_per_s: int | None = None
    write_iops: int | None = None
    burst: Burst | None = None
    io_unit_bytes: int = 262_144  # a larger I/O counts as several

    def plus(self, other: Limits) -> Limits:
        """The base limits of both disks together; not limited where either is not."""
        pairs = (
            (self.total_iops, other.total_iops),
            (self.bytes_per_s, other.bytes_per_s),
        )
        iops, rate = (None if a is None or b is None else a + b for a, b in pairs)
        return Limits(iops, rate, io_unit_bytes=self.io_unit_bytes)

    @property
    def total_iops(self) -> int | None:
        """For one total of reads and writes: the lower of the two where they are apart."""
        return lower(self.iops, self.write_iops)

    def times(self, disks: int) -> Limits:
        """Those of so many equal disks together."""
        burst = self.burst
        if burst:
            iops = times(burst.iops, disks)
            rate = times(burst.bytes_per_s, disks)
            burst = replace(burst, iops=iops, bytes_per_s=rate)
        return replace(
            self,
            iops=times(self.iops, disks),
            bytes_per_s=times(self.bytes_per_s, disks),
            write_iops=times(self.write_iops, disks),
            burst=burst,
        )


Quantiles = tuple[
    tuple[float, float], ...
]  # (probability, s), from 0 to 1; straight between


@dataclass(frozen=True)
class SlowEpochs:
    """Times in which a disk takes `factor` times as long: their mean length, and that between."""

    factor: float
    slow_dwell_s: float
    good_dwell_s: float


@dataclass(frozen=True)
class LatencyModel:
    """What the latency of each request is drawn from: that of single requests at queue depth 1."""

    read: Quantiles
    write: Quantiles
    source: str
    as_of: str
    slow_epochs: SlowEpochs | None = None


@dataclass(frozen=True)
class Latencies:
    """Of one I/O at queue depth 1 on an idle disk. None: not declared."""

    read_s: float | None = None
    write_s: float | None = None
    assumed: tuple[
        str, ...
    ] = ()  # directions ("read", "write") of which nobody promises one
    model: LatencyModel | None = (
        None  # what they are drawn from, its medians above; None: constant
    )


@dataclass(frozen=True)
class Price:
    """Monthly list price of one disk, with where and when it was read."""

    monthly: float
    currency: str
    region: str
    as_of: str
    source: str


@dataclass(frozen=True)
class Origin:
    """Where a tier's figures are from, and what is to be said about them."""

    catalog_type: str = ""  # that of its row, if it has one
    source: str = ""
    as_of: str = ""
    notes: str = ""
    vm_caps: tuple[
        str, ...
    ] = ()  # a sentence for each limit that the machine sets, not the disk


@dataclass(frozen=True)
class Tier:
    """A class of disk: what it is declared to do (each disk), and what makes it. `wal`: that of the
    disks which `disks` names for the nodes' WAL; None: they are of this tier, and not judged.
    `count`: equal disks striped to one; limits and price are those of all together. `shared`: what
    the disks of all nodes let through together, if less than each by itself."""

    name: str
    title: str
    limits: Limits
    disk: AnyDisk
    latency: Latencies = Latencies()
    price: Price | None = None
    origin: Origin = Origin()
    wal: Tier | None = None
    count: int = 1
    shared: Limits | None = None

    def without_burst(self) -> Tier:
        return replace(self, limits=replace(self.limits, burst=None))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """A tier is read in the layout of result files (`in_layout`)."""
        from pydantic_core import core_schema

        inner = handler.resolve_ref_schema(handler(source))
        ref = inner.pop(
            "ref", None
        )  # else a second tier beside the first would be read as it is
        return core_schema.no_info_before_validator_function(_of_layout, inner, ref=ref)


# fmt: off
# Key of a tier in result files → the part that has it, and its name there.
_LAYOUT: Mapping[str, tuple[str, str]] = {
    "enforcement": ("disk", "enforcement"),
    "iops": ("limits", "iops"), "bytes_per_s": ("limits", "bytes_per_s"),
    "read_latency_s": ("latency", "read_s"), "write_latency_s": ("latency", "write_s"),
    "burst": ("limits", "burst"), "io_unit_bytes": ("limits", "io_unit_bytes"),
    "latency_assumed": ("latency", "assumed"), "latency_model": ("latency", "model"),
    "path": ("disk", "path"), "disks": ("disk", "disks"), "file_system": ("disk", "file_system"),
    "mount_options": ("disk", "mount_options"), "cloud": ("disk", "cloud"),
    "catalog_type": ("origin", "catalog_type"),
    "allow_root_disk": ("disk", "allow_root_disk"),
    "allow_retained_volumes": ("disk", "allow_retained_volumes"),
    "snapshots": ("disk", "snapshots"), "burst_time_scale": ("disk", "burst_time_scale"),
    "price": ("", "price"), "source": ("origin", "source"), "as_of": ("origin", "as_of"),
    "notes": ("origin", "notes"), "vm_caps": ("origin", "vm_caps"), "like": ("disk", "kind"),
    "storage_class": ("disk", "storage_class"), "in_memory": ("disk", "in_memory"),
}
# What a disk of another kind has there.
_UNUSED: Mapping[str, Any] = {
    "disks": {}, "mount_options": (), "allow_root_disk": False, "allow_retained_volumes": False,
    "burst_time_scale": 1.0,
}
# fmt: on


def in_layout(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The `dict_factory` of `asdict` for what is written: a tier has all its keys on one level, as
    it had before it was made of parts. `like`: the kind, if the mechanism has another name."""
    content = dict(pairs)
    if not {"limits", "latency", "origin", "disk"} <= content.keys():
        return content
    flat = {"name": content["name"], "title": content["title"]}
    for key, (part, name) in _LAYOUT.items():
        flat[key] = (content[part] if part else content).get(name, _UNUSED.get(key))
    if not flat["in_memory"]:
        del flat["in_memory"]
    if content["wal"]:
        more = {"wal": content["wal"]}
    else:
        more = {}
    more |= {"count": content["count"]} if content["count"] > 1 else {}
    more |= {"shared": content["shared"]} if content["shared"] else {}
    return {
        **flat,
        "like": None if flat["like"] == flat["enforcement"] else flat["like"],
        **more,
    }


def _of_layout(content: Any) -> Any:
    """The parts of a tier that is read; anything else as it is."""
    if not isinstance(content, Mapping) or "disk" in content:
        return content
    alike = ("name", "title", "count", "shared", "wal")
    parts: dict[str, Any] = {key: content[key] for key in alike if key in content}
    for key, (part, name) in _LAYOUT.items():
        held = parts
        if part:
            held = parts.setdefault(part, {})
        if key in content:
            held[name] = content[key]
    parts["disk"]["kind"] = content.get("like") or content["enforcement"]
    return parts


@dataclass(frozen=True)
class GateCheck:
    """One declared limit held against fio; docs/GLOSSARY.md explains the words of `verdict`.
    `declared` None: measured for information only. `disk`: which one, if the tier names its disks;
    `nodes`: those whose data are on it."""

    limit: str
    unit: str
    declared: float | None
    measured: float
    tolerance_pct: float | None
    verdict: GateWord
    quantity: GateQuantity | None = None
    disk: str = ""
    nodes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict not in (
            "slow",
            "faster than declared (cache or burst)",
            "failed",
        )


@dataclass(frozen=True)
class Gate:
    """The truth gate of one tier on one device: what fio measured before the tier was used.
    `reused`: taken before this campaign, on the same limits, mechanism and machine."""

    tier: str
    taken_s: float
    checks: tuple[GateCheck, ...]
    device: Mapping[str, Any] = field(default_factory=dict)
    reused: bool = False

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)
