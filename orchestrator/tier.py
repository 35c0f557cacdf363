"""A disk tier as a profile declares it: limits, burst, latency, price, and where its disks are;
and the gate that holds its limits against a device.

Units as in `orchestrator.model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from orchestrator.facts import GateQuantity, GateWord

DiskKind = Literal["emulated", "cgroup", "mounted", "storage-class", "existing", "none", "dry"]


@dataclass(frozen=True)
class Burst:
    """Credit burst above the base limits; `start_pct` is how full the bucket is at the start."""

    iops: int | None
    bytes_per_s: int | None
    duration_s: float
    start_pct: float


Quantiles = tuple[tuple[float, float], ...]  # (probability, s), from 0 to 1; straight between


@dataclass(frozen=True)
class SlowEpochs:
    """Times in which a disk takes `factor` times as long: their mean length, and that between."""

    factor: float
    slow_dwell_s: float
    good_dwell_s: float


@dataclass(frozen=True)
class LatencyModel:
    """What the latency of each request is drawn from, and whose latencies they are: those of single
    requests at queue depth 1."""

    read: Quantiles
    write: Quantiles
    source: str
    as_of: str
    slow_epochs: SlowEpochs | None = None


@dataclass(frozen=True)
class Price:
    """Monthly list price of one disk, with where and when it was read."""

    monthly: float
    currency: str
    region: str
    as_of: str
    source: str


SnapshotWay = Literal["copy", "reflink", "elsewhere", "command", "none"]


@dataclass(frozen=True)
class Snapshots:
    """How data loaded on a real disk are kept and put back: a `copy` or a `reflink` on the same
    disk, a copy `elsewhere` (at `path`), by the profile's own `save` and `restore`, or not."""

    way: SnapshotWay
    path: str | None = None
    save: str = ""
    restore: str = ""


@dataclass(frozen=True)
class NodeDisks:
    """Where a node's disk is mounted, and where that of its WAL, if it has one of its own.
    `machine`: which of the profile's `machines` has them; "" if it names none."""

    data: str
    wal: str | None = None
    machine: str = ""


@dataclass(frozen=True)
class ClassWanted:
    """A class of volumes of Kubernetes. Without a `provisioner` it is one that is there; else it is
    made, with `parameters`. `size_bytes`: what each claim asks for, because some providers' limits
    follow from it; None: what a node's disk needs. `nodes`: how many have a volume of it."""

    name: str
    provisioner: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int | None = None
    nodes: int = 1


@dataclass(frozen=True)
class Tier:
    """A class of disk: its declared limits (per disk), and the mechanism that enforces them.

    Latencies: one I/O at queue depth 1 on an idle disk. None: not limited, or not declared.
    `io_unit_bytes`: the provider counts a larger I/O as several. `burst`: as run, the provider's
    minutes divided by `burst_time_scale`. `vm_caps`: a sentence for each limit that the machine
    sets, not the disk. `latency_assumed`: directions whose latency nobody promises. `disks`: node →
    where its disks are (`planning.node_disks`). `file_system`, `mount_options`: what must be found
    there. `cloud`: whose metadata service is asked. `catalog_type`: that of its row, if it has one.
    `like`: the kind of disk made, None if the mechanism has that kind's name. `latency_model`: what
    latencies are drawn from, its medians given above; None: constant. `snapshots` None: copies, if
    the real disk has room for them. `storage_class`: that of its volumes on Kubernetes."""

    name: str
    title: str
    enforcement: str
    iops: int | None
    bytes_per_s: int | None
    read_latency_s: float | None = None
    write_latency_s: float | None = None
    burst: Burst | None = None
    io_unit_bytes: int = 262_144
    latency_assumed: tuple[str, ...] = ()
    latency_model: LatencyModel | None = None
    path: str | None = None
    disks: Mapping[str, NodeDisks] = field(default_factory=dict)
    file_system: str | None = None
    mount_options: tuple[str, ...] = ()
    cloud: str | None = None
    catalog_type: str = ""
    allow_root_disk: bool = False
    allow_retained_volumes: bool = False
    snapshots: Snapshots | None = None
    burst_time_scale: float = 1.0
    price: Price | None = None
    source: str = ""
    as_of: str = ""
    notes: str = ""
    vm_caps: tuple[str, ...] = ()
    like: DiskKind | None = None
    storage_class: ClassWanted | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(DiskKind):
            raise ValueError(f"`like` says no kind of disk for the mechanism {self.enforcement!r}")

    @property
    def kind(self) -> DiskKind:
        """What figures mean and reports say depends on this, not on the mechanism's name."""
        return self.like or cast(DiskKind, self.enforcement)

    @property
    def is_real(self) -> bool:
        """Whether its disks are not of our making: they may change while they are used, somebody
        pays for them, and what they do is measured."""
        own = self.kind == "cgroup" and not (self.path or self.disks)
        return not own and self.kind in ("mounted", "storage-class", "existing", "cgroup")

    @property
    def is_as_bought(self) -> bool:
        """Whether they are real ones that nothing here limits."""
        return self.is_real and self.kind != "cgroup"


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
        return self.verdict not in ("slow", "faster than declared (cache or burst)", "failed")


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
