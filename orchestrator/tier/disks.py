"""The disk of a tier: devices of ours, real disks, volumes, others' disks.

A tier has exactly one of these records; what is true of its kind is asked of the record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

DiskKind = Literal["emulated", "mounted", "storage-class", "existing", "none", "dry"]


# `reflink` is read of campaigns of earlier releases.
SnapshotWay = Literal["copy", "reflink", "elsewhere", "command", "none"]


@dataclass(frozen=True)
class Snapshots:
    """How data loaded on a real disk are kept and put back: a `copy` on the same disk or
    `elsewhere` (at `path`), by the profile's own `save` and `restore`, or not."""

    way: SnapshotWay
    path: str | None = None
    save: str = ""
    restore: str = ""


@dataclass(frozen=True)
class NodeDisks:
    """Where a node's disk is mounted, and its disk for WAL, if it has one of its own.

    `machine`: which of the profile's `machines` has them; "" if it names none.
    """

    data: str
    wal: str | None = None
    machine: str = ""


@dataclass(frozen=True)
class ClassWanted:
    """A class of volumes of Kubernetes.

    Without a `provisioner` the class is there already; else it is made, with `parameters`.

    `size_bytes`: what each claim asks for, because some providers' limits follow from it;
    None: what a node's disk needs. `nodes`: how many have a volume of it.
    """

    name: str
    provisioner: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int | None = None
    nodes: int = 1


@dataclass(frozen=True, kw_only=True)
class Disk:
    """What makes the disk of a tier. `kind`: what figures mean and reports say depends on it;
    `enforcement`: the mechanism, which may be another than the one with the kind's name."""

    kind: DiskKind
    enforcement: str

    # Whether its disks are not of our making: they may change while they are used, somebody pays
    # for them, and what they do is measured.
    is_real: ClassVar[bool] = False
    # Whether its limits are held against a measurement before it is used.
    has_gate: ClassVar[bool] = True
    # Whether something is declared of them that could be held against a measurement.
    has_limits: ClassVar[bool] = True
    # Whether a server of ours holds them to their limits, while something is measured.
    holds_limits: ClassVar[bool] = False
    # Whether loaded data can be copied on them, and put back for the next run.
    can_keep_data: ClassVar[bool] = True
    # Whether each run rents disks of its own, which no run before it has used.
    is_rented_for_each_run: ClassVar[bool] = False
    # Whether they are those of a cluster that others run.
    is_of_others: ClassVar[bool] = False
    # Whether the profile says where they are mounted.
    is_placed_by_profile: ClassVar[bool] = False

    @property
    def of_nodes(self) -> Mapping[str, NodeDisks]:
        """Node → where its disks are mounted, if the tier names them."""
        return {}

    # Properties that other kinds do not have.

    @property
    def path(self) -> str | None:
        return None

    @property
    def storage_class(self) -> ClassWanted | None:
        return None

    @property
    def snapshots(self) -> Snapshots | None:
        return None

    @property
    def cloud(self) -> str | None:
        return None

    @property
    def allow_retained_volumes(self) -> bool:
        return False

    @property
    def burst_time_scale(self) -> float:
        return 1.0

    @property
    def in_memory(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class Emulated(Disk):
    """Devices of ours with limits, burst and latency.

    `burst_time_scale`: by which the provider's minutes of burst are divided. `in_memory`:
    its file is in the memory of the machine that serves it.
    """

    kind: Literal["emulated"] = "emulated"
    enforcement: str = "emulated"
    burst_time_scale: float = 1.0
    in_memory: bool = False
    holds_limits: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class RealDisks(Disk):
    """Real disks as they are, mounted at the one `path` of all nodes, or where `disks` says
    (see `planning.node_disks`).

    `file_system` and `mount_options` must be found there. `snapshots` None: copies, if
    the disk has room for them. `cloud`: whose metadata service is asked about them.
    """

    kind: Literal["mounted"] = "mounted"
    enforcement: str = "mounted"
    path: str | None = None
    disks: Mapping[str, NodeDisks] = field(default_factory=dict)
    file_system: str | None = None
    mount_options: tuple[str, ...] = ()
    allow_root_disk: bool = False
    snapshots: Snapshots | None = None
    cloud: str | None = None
    is_real: ClassVar[bool] = True
    is_placed_by_profile: ClassVar[bool] = True

    @property
    def of_nodes(self) -> Mapping[str, NodeDisks]:
        return self.disks


@dataclass(frozen=True, kw_only=True)
class ClassVolumes(Disk):
    """Volumes of a class of Kubernetes, rented for each run.

    `snapshots` None: the driver's, if it makes some.
    """

    kind: Literal["storage-class"] = "storage-class"
    enforcement: str = "storage-class"
    storage_class: ClassWanted | None = None
    allow_retained_volumes: bool = False
    snapshots: Snapshots | None = None
    is_real: ClassVar[bool] = True
    is_rented_for_each_run: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class OthersDisks(Disk):
    """The disks of an existing cluster, which others run."""

    kind: Literal["existing"] = "existing"
    enforcement: str = "existing"
    is_real: ClassVar[bool] = True
    # The disk's limits are only declared, and held against nothing here.
    has_gate: ClassVar[bool] = False
    is_of_others: ClassVar[bool] = True
    # What others keep is not ours to restore.
    can_keep_data: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Unlimited(Disk):
    """This machine's own disk, of which nothing is declared."""

    kind: Literal["none"] = "none"
    enforcement: str = "none"
    has_gate: ClassVar[bool] = False
    has_limits: ClassVar[bool] = False
    # A plain volume has no copies.
    can_keep_data: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class NoDisk(Disk):
    """The disk of a rehearsal: none is made."""

    kind: Literal["dry"] = "dry"
    enforcement: str = "dry"
    has_gate: ClassVar[bool] = False
    has_limits: ClassVar[bool] = False


AnyDisk = Emulated | RealDisks | ClassVolumes | OthersDisks | Unlimited | NoDisk
DISKS: Mapping[DiskKind, type[AnyDisk]] = {
    kind.kind: kind for kind in get_args(AnyDisk)
}
