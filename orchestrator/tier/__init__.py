"""A disk tier as a profile declares it: limits, latency, price, origin and the disk that has them;
and the gate that holds its limits against a device.

Units as in `orchestrator.model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from orchestrator.facts import GateFacts, GateQuantity, GateWord
from orchestrator.tier import tier_file
from orchestrator.tier.disks import (
    DISKS as DISKS,
    AnyDisk as AnyDisk,
    ClassVolumes as ClassVolumes,
    ClassWanted as ClassWanted,
    DiskKind as DiskKind,
    Emulated as Emulated,
    NodeDisks as NodeDisks,
    NoDisk as NoDisk,
    OthersDisks as OthersDisks,
    RealDisks as RealDisks,
    Snapshots as Snapshots,
    Unlimited as Unlimited,
)

# The direction in which an I/O moves data.
Way = Literal["read", "write"]
WAYS: tuple[Way, ...] = ("read", "write")


@dataclass(frozen=True)
class Burst:
    """More than the base limits, for a time. None: does not burst in that.

    `duration_s`: how long a full bucket holds it; `math.inf`: on demand, billed, without
    end. `start_pct`: how full the bucket is when a run starts.
    """

    iops: int | None
    bytes_per_s: int | None
    duration_s: float
    start_pct: float = 0.0


def times(limit: int | None, count: int) -> int | None:
    """The limit of so many disks together."""
    if limit is None:
        return None
    return limit * count


def lower(first: int | None, second: int | None) -> int | None:
    """The lower of two limits. None means that there is no limit, or that it is not known."""
    if first is None:
        return second
    if second is None:
        return first
    return min(first, second)


def _sum(first: int | None, second: int | None) -> int | None:
    """The sum of two limits; None if either is not limited."""
    if first is None or second is None:
        return None
    return first + second


@dataclass(frozen=True)
class Limits:
    """What a disk, several together, or a VM lets through. None: not limited, or not declared.

    `iops`: of reads, where writes are limited apart. `io_unit_bytes`: a larger I/O counts
    as several.
    """

    iops: int | None = None
    bytes_per_s: int | None = None
    write_iops: int | None = None
    burst: Burst | None = None
    # 256 KiB: the largest I/O that AWS and Azure count as one.
    io_unit_bytes: int = 262_144

    def plus(self, other: Limits) -> Limits:
        """The base limits of both disks together; not limited where either is not."""
        iops = _sum(self.total_iops, other.total_iops)
        rate = _sum(self.bytes_per_s, other.bytes_per_s)
        # Bursts are left out: two buckets need not be empty at the same time.
        return Limits(iops, rate, io_unit_bytes=self.io_unit_bytes)

    @property
    def total_iops(self) -> int | None:
        """The limit if reads and writes have one in common: the lower of the two where they are
        apart."""
        return lower(self.iops, self.write_iops)

    def times(self, disks: int) -> Limits:
        """The limits of so many equal disks together."""
        burst = self.burst
        if burst:
            burst = replace(
                burst,
                iops=times(burst.iops, disks),
                bytes_per_s=times(burst.bytes_per_s, disks),
            )
        return replace(
            self,
            iops=times(self.iops, disks),
            bytes_per_s=times(self.bytes_per_s, disks),
            write_iops=times(self.write_iops, disks),
            burst=burst,
        )


# (probability, s), from 0 to 1; straight between.
Quantiles = tuple[tuple[float, float], ...]


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
    """The latency of one I/O at queue depth 1 on an idle disk. None: not declared.

    `assumed`: directions ("read", "write") of which nobody promises one. `read_measured`,
    `write_measured`: whose published measurement of the real disk they follow; empty: nobody's.
    `model`: what they are drawn from, with the medians `read_s` and `write_s`; None: they are
    constant.
    """

    read_s: float | None = None
    write_s: float | None = None
    assumed: tuple[str, ...] = ()
    model: LatencyModel | None = None
    read_measured: str = ""
    write_measured: str = ""

    def seconds(self, way: Way) -> float | None:
        """The latency of one I/O in that direction."""
        return {"read": self.read_s, "write": self.write_s}[way]

    def is_assumption(self, way: Way) -> bool:
        """Whether that direction rests on nothing but our assumption."""
        return way in self.assumed and self.model is None and not self.measured(way)

    def measured(self, way: Way) -> str:
        """Whose published measurement that direction follows; empty: nobody's."""
        return {"read": self.read_measured, "write": self.write_measured}[way]


@dataclass(frozen=True)
class Price:
    """Monthly list price of one disk, with where and when it was read.

    `verified`: whether that was at the provider's own service or page; None: nobody said, as of a
    price that a profile gives.
    """

    monthly: float
    currency: str
    region: str
    as_of: str
    source: str
    verified: bool | None = None

    @property
    def is_unverified(self) -> bool:
        """Whether somebody read it elsewhere, so that it may not be the provider's."""
        return self.verified is False


# The limits of disks that a machine may set instead.
VmLimit = Literal["IOPS", "throughput", "burst IOPS", "burst throughput"]


@dataclass(frozen=True)
class VmCap:
    """A limit that the machine sets, because the disks could do more. text: the same in a sentence.

    limit: of the disk of a node's data; None if data and log have it together (`MachineLimits`).
    """

    limit: VmLimit | None
    text: str


@dataclass(frozen=True)
class Origin:
    """Where a tier's figures are from, and what is to be said about them.

    `catalog_type`: the type of its catalog row, if it has one. `product`: what its provider calls
    the disk, with the name of its size; empty: no row says.

    `size_bytes`, `bought_iops`, `bought_bytes_per_s`: what each disk has as bought, whatever its
    machine lets through; None: not known.
    """

    catalog_type: str = ""
    source: str = ""
    as_of: str = ""
    notes: str = ""
    vm_caps: tuple[VmCap, ...] = ()
    size_bytes: int | None = None
    product: str = ""
    bought_iops: int | None = None
    bought_bytes_per_s: int | None = None


@dataclass(frozen=True)
class MachineLimits:
    """What a node's machine (`vm`) lets through of the disks of its data and its log together.

    Only what is less than both by themselves; no bursts.
    """

    vm: str
    limits: Limits


@dataclass(frozen=True)
class Tier:
    """A class of disk: what it is declared to do (each disk), and what makes it.

    `wal`: the tier of the disks for the nodes' WAL. None: real disks that are named for
    it are of this tier, and not judged; of others there are none.

    `count`: equal disks striped to one; limits and price are those of all together.

    `shared`: what the disks of all nodes let through together, if less than each by
    itself. `machine`: what both disks of a node do, of its data and of its log.
    """

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
    machine: MachineLimits | None = None

    def awaited_latency(self, way: Way) -> Latencies:
        """The latencies of the disk for which sessions wait in that direction.

        They wait for writes of the log alone, wherever it is.
        """
        # A commit waits for its log; pages of data are written later, and no session waits.
        if way == "write" and self.wal is not None:
            return self.wal.latency
        return self.latency

    def without_burst(self) -> Tier:
        return replace(self, limits=replace(self.limits, burst=None))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """A tier is read as result files have it (`tier_file`)."""
        from pydantic_core import core_schema

        inner = handler.resolve_ref_schema(handler(source))
        # The reference goes to the outer schema: else a second tier in a file, such as the one of
        # the WAL, would refer to the inner one and be read without `tier_file`.
        ref = inner.pop("ref", None)
        return core_schema.no_info_before_validator_function(
            tier_file.parts, inner, ref=ref
        )


# Most of what a record holds, which is written as it is.
_PLAIN = frozenset({str, int, float, bool, type(None)})


def as_written(value: Any) -> Any:
    """A record as result files have it: like `asdict`, and each tier in it on one level."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Tier):
        return tier_file.flat(_fields(value))
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {as_written(key): as_written(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_written(item) for item in value]
    return value


def _fields(record: Any) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for field_of_record in fields(record):
        name = field_of_record.name
        written[name] = as_written(getattr(record, name))
    return written


# `disk` of a check of the emulated disk that holds only WAL.
LOG_DISK = "the WAL's disk"
# The same of a check of both at once.
BOTH_DISKS = "the data's and the WAL's disk at once"


@dataclass(frozen=True)
class GateCheck:
    """One declared limit held against fio; docs/GLOSSARY.md explains the words of `verdict`.

    `declared` None: measured for information only. `disk`: which disk in words, if the tier names
    its disks, and `disk_key`: by which the gate's facts know it. `nodes`: those whose data are on
    it. `holds_log_alone`: it has the WAL and no data.
    """

    limit: str
    unit: str
    declared: float | None
    measured: float
    tolerance_pct: float | None
    verdict: GateWord
    quantity: GateQuantity | None = None
    disk: str = ""
    nodes: tuple[str, ...] = ()
    holds_log_alone: bool = False
    disk_key: str = ""

    @property
    def is_of_log(self) -> bool:
        """Whether the disk has the WAL and no data."""
        # Files of earlier releases tell the emulated one by its name alone.
        return self.holds_log_alone or self.disk == LOG_DISK

    @property
    def passed(self) -> bool:
        # Limits that were not judged, as one out of reach, are no failure.
        return self.verdict not in (
            "slow",
            "faster than declared (cache or burst)",
            "failed",
        )


@dataclass(frozen=True)
class Gate:
    """The truth gate of one tier on one device: what fio measured before the tier was used.

    `reused`: taken before this campaign, on the same limits, mechanism and machine.
    """

    tier: str
    taken_s: float
    checks: tuple[GateCheck, ...]
    device: Mapping[str, Any] = field(default_factory=dict)
    reused: bool = False

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def facts(self) -> GateFacts:
        """What `device` has."""
        return GateFacts.read(self.device)

    @property
    def facts_of_disks(self) -> Mapping[str, GateFacts]:
        """Place of a disk → its facts; none of a gate of one."""
        return GateFacts.read_each(self.facts.disks)
