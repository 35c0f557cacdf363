"""The outside powers, as protocols: clock, shell, platform, progress. No implementation here.

`World` is made once, in `cli`, and passed down; tests make it from fakes. Only its members read
the clock, start a process or a container."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack

from orchestrator import guards


class Clock(Protocol):
    def now(self) -> float:
        """Returns Unix seconds: for records, never for durations."""

    def monotonic(self) -> float:
        """Returns seconds since some fixed start: for durations and deadlines."""

    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Completed:
    """A finished command and its output."""

    argv: tuple[str, ...]
    exit_code: int
    out: str
    err: str
    duration_s: float

    def tail(self) -> str:
        """Returns the end of both streams, as evidence of an error."""
        # The end tells why a command failed, and before it there may be megabytes.
        return (self.out + self.err)[-4000:]


class Shell(Protocol):
    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Runs to the end. A non-zero exit is returned, not raised. RunError past the deadline;
        UnavailableError if the command is not installed."""


@dataclass(frozen=True)
class Mount:
    """A named volume, or a folder (starts with "/") of the container's machine, which is made if it
    is not there, at a path in the container. alone: without what is mounted below the folder, which
    the container would keep from being unmounted; such a folder must be there."""

    source: str
    target: str
    read_only: bool = False
    alone: bool = False


HOST_NETWORK = "host"  # the network of the machine itself
NETWORK_OF = "container:"  # begins the network of another container, before its name
UNLIMITED = "unlimited"  # a limit of a container's processes, as the kernel writes it


@dataclass(frozen=True)
class ContainerSpec:
    """One container to start."""

    name: str
    image: str
    command: tuple[str, ...]
    role: str
    entrypoint: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    # Path → name → content: its own, and there before its command begins. For a few small files:
    # any other can be `put` into it later. It may write into a folder without any.
    folders: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict, repr=False)
    network: str | None = None
    address: str | None = None
    # Container port → port on 127.0.0.1; None for any free one.
    ports: Mapping[int, int | None] = field(default_factory=dict)
    cpus: float | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    shared_memory_bytes: int | None = None
    # `nofile`, `nproc`: wishes, which an engine may refuse.
    ulimits: Mapping[str, int] = field(default_factory=dict)
    init: bool = False
    host_devices: bool = False
    # All that it has of root's (without CAP_), and it gains no others; None: the engine's own.
    # With these it is in no network unless `network` names one, as far as the platform can.
    capabilities: tuple[str, ...] | None = None
    stop_timeout_s: int = 20
    # Kept with a container that stands (`Platform.stand`).
    note: str = ""
    # Containers of one placement run on one machine, as those of a node and of its disk's server
    # ("node-1"). Nodes are spread over the machines; "" runs on any.
    placement: str = ""


@dataclass(frozen=True)
class ContainerEntry:
    """A container as a platform lists it. `note`: its spec's, "" if it does not stand; `state`:
    "running", "exited", …"""

    name: str
    note: str
    state: str


@dataclass(frozen=True)
class Network:
    """A network, with one address (IP or DNS name) for each node."""

    name: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class MachineFacts:
    """`instance_type`: the cloud's name for its kind. 0 and "": unknown."""

    hostname: str
    kernel: str
    system: str
    cpus: int
    cpu_model: str
    memory_bytes: int
    instance_type: str = ""


@dataclass(frozen=True)
class ClockOffset:
    """How much later a clock elsewhere is than this computer's, and how far that may be off."""

    offset_s: float
    within_s: float

    @property
    def shift_s(self) -> float:
        """What to take off the machine's times: nothing where the clocks may well be equal."""
        # A shift that may be wrong by more than itself would make times worse.
        if abs(self.offset_s) > self.within_s:
            return self.offset_s
        return 0.0

    def may_equal(self, other: ClockOffset) -> bool:
        """Whether one clock that nobody has set can have shown both."""
        apart_s = abs(self.offset_s - other.offset_s)
        return apart_s <= self.within_s + other.within_s


class Machine(Protocol):
    """A computer that runs containers or has their disks: its /proc, /sys, /dev and folders. Paths
    are absolute. OSError if one does not exist, or if the machine cannot be reached from here."""

    name: str

    @property
    def facts_told(self) -> MachineFacts | None:
        """What the platform says of a machine elsewhere, if it does."""
        return None

    @property
    def clock_offset(self) -> ClockOffset | None:
        """How much later the clock of a machine elsewhere is, if that is known by now."""
        return None

    def facts(self) -> MachineFacts: ...

    def read(self, path: str) -> str:
        """Returns the text of a small file."""

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def listing(self, path: str) -> tuple[str, ...]:
        """Returns the names in a folder, sorted."""

    def real_path(self, path: str) -> str:
        """Returns the path with all links followed."""

    def free_bytes(self, path: str) -> int:
        """Returns the free space at `path`, or at its nearest existing parent."""

    def refresh(self) -> None:
        """Reads anew, in one go, all files that `read` has been asked for lately, where asking for
        each costs a way over the network: `read` then returns what was found."""


class Conversation(Protocol):
    """A command that runs in a container and is talked with: lines to its standard input, and from
    its standard output. RunError if it has ended, or gives no line within the timeout."""

    def send(self, line: str) -> None: ...

    def receive(self, timeout_s: float) -> str: ...


class How(TypedDict, total=False):
    """How a command is run. `on_line` gets each line of its standard output. NodeError if one of
    `watch` no longer runs."""

    env: Mapping[str, str] | None
    on_line: Callable[[str], None] | None
    watch: Sequence[Container]
    user: str


@dataclass(frozen=True)
class ContainerLimits:
    """How the limits of a running container are changed.

    `lift` takes away those of processors and memory. `set_cpus` changes how many processors it may
    use, until it ends or is told again; None: all. `find_cpus` returns how many it may use; None:
    all that its machine has.
    """

    lift: Callable[[], None]
    set_cpus: Callable[[float | None], None]
    find_cpus: Callable[[], float | None]


class Container(Protocol):
    """A container by its name, and what can be done with it; to have one asks nothing. All but the
    name is known only if this program has started it."""

    name: str
    id: str
    # None if only its machine knows.
    process_id: int | None
    # The address of its spec, or the one that a pod got.
    address: str | None
    # Container port → port on `host`, as seen from here.
    ports: Mapping[int, int]
    # The limits of its spec that are in force, a number or UNLIMITED; empty if unread.
    ulimits: Mapping[str, str]
    host: str

    @property
    def limits(self) -> ContainerLimits | None:
        """How its limits are changed while it runs; None: they cannot be."""
        return None

    def exec(
        self, argv: Sequence[str], *, timeout_s: float, **how: Unpack[How]
    ) -> Completed:
        """Runs a command to its end. RunError past the deadline. A non-zero exit is returned."""

    def conversation(self, argv: Sequence[str]) -> AbstractContextManager[Conversation]:
        """Runs a command in it until the block ends, and talks with that."""

    def put(self, source: Path, target: str) -> None:
        """Copies a file to the path `target`, or a folder's files into a folder that is there."""

    def fetch(self, folder: str, target: Path) -> None:
        """Copies all files of a folder, while it runs, into the folder `target` of this computer.
        RunError if one would be outside of that."""

    def stop(self, timeout_s: float) -> None:
        """Stops politely (TERM, then KILL past the timeout); the container and its logs stay."""

    def remove(self, timeout_s: float) -> None:
        """Stops politely and removes it, if it is there. RunError if it stays."""

    def state(self) -> str:
        """Returns "running", "exited (137)", "gone", …: for messages and liveness checks."""

    def logs(self, tail: int | None = None) -> str: ...

    def find_machine(self) -> Machine:
        """Returns the machine that runs it. RunError if that is not known."""

    def find_image(self) -> str:
        """Returns the id of the image that it was made from; "" if it is gone."""


class Images(Protocol):
    def present(self, tag: str) -> bool:
        return self.id(tag) is not None

    def id(self, tag: str) -> str | None:
        """Returns the id of the image that a tag names now; None if it is not here."""

    @property
    def architecture(self) -> str:
        """The architecture of the machines that run images, as images name it (amd64, arm64).

        "" if it is not known or machines differ.
        """

    def mismatch(self, tag: str) -> str:
        """Returns how the architecture of an image that is here differs from that of its engine, in
        words; "" if it does not, or if that is not known."""

    def pull(self, tag: str) -> bool:
        """Returns whether the image could be pulled."""

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        """Builds the image that `folder` describes. RunError with the last lines of output."""

    def ways_to_get(self, tag: str) -> str:
        """Returns how a person can bring an image here, as part of an advice."""


# ------------------------------------------------------------------ volumes that are rented


@dataclass(frozen=True)
class VolumeSource:
    """What a new volume is a copy of: a claim, or a snapshot, of this campaign, by its name."""

    kind: Literal["claim", "snapshot"]
    name: str


@dataclass(frozen=True)
class RentedVolume:
    """What a claim got, as the platform says."""

    name: str
    storage_class: str
    driver: str
    # The size as the provider rounded it.
    size_bytes: int
    # The provider's name of the disk.
    handle: str = ""
    fstype: str = ""
    mount_options: tuple[str, ...] = ()
    # Attributes that its driver noted.
    attributes: Mapping[str, str] = field(default_factory=dict)
    # Labels that a machine must have to use it, `key=value`.
    machines: tuple[str, ...] = ()


@dataclass(frozen=True)
class StorageClass:
    """A class that exists."""

    name: str
    provisioner: str
    parameters: Mapping[str, str]
    # A claim gets its volume only when a container uses it.
    waits: bool
    is_default: bool = False
    mount_options: tuple[str, ...] = ()
    # The volumes of the class stay, and cost money, when their claims are gone.
    retains: bool = False


@dataclass(frozen=True)
class SnapshotClass:
    """`retains`: what a snapshot holds stays, and costs money, when the snapshot is gone."""

    name: str
    retains: bool


class Claims(Protocol):
    """Names of claims and snapshots are those of the caller; a `Mount` names a claim as its source.
    All may raise UnavailableError, if rights are missing or nothing answers."""

    def storage_classes(self) -> tuple[StorageClass, ...]:
        """Returns all classes that exist, ours and others', by name."""

    def storage_class(
        self, manifest: Mapping[str, Any]
    ) -> AbstractContextManager[StorageClass]:
        """Makes the class of a manifest (as in YAML), and yields it. One of ours that has its name
        is replaced; UnavailableError if one that is not ours has it."""

    def claim(
        self,
        name: str,
        storage_class: str,
        size_bytes: int,
        source: VolumeSource | None = None,
        stays: bool = False,
    ) -> AbstractContextManager[str]:
        """Makes a claim, empty or as a copy, and yields its name; removes it at the end, and its
        volume with it. UnavailableError if the class is missing, or its quota exceeded. `stays`:
        until the end of the campaign, unless the block raises. The volume may come only when a
        container uses it."""

    def rented(self, claim: str, timeout_s: float) -> RentedVolume:
        """Waits for a claim's volume, and returns what it is; of a class that `waits`, while a
        container uses it. RunError, with what the provisioner says, if none comes in time."""

    def snapshot_class(self, driver: str) -> SnapshotClass | None:
        """Returns a driver's class of snapshots, rather one that does not keep them, if any."""

    def holds(self, source: VolumeSource) -> bool:
        """Returns whether a claim or a snapshot of this campaign is there."""

    def retained(self) -> tuple[str, ...]:
        """Returns what this campaign rented and outlives it, because its class keeps it."""

    def snapshot(
        self, name: str, claim: str, timeout_s: float, stays: bool = False
    ) -> AbstractContextManager[str]:
        """Keeps the content of a claim that nothing writes to; yields when it may be a
        `VolumeSource`. RunError, with the driver's words, if that is not in time. `stays`: as of a
        claim."""


# ------------------------------------------------------------------ platforms


@dataclass(frozen=True)
class CertificateFile:
    """A file of certificates on this computer by which something is reached. `what`: it, in
    words; `is_authority`: it says whom to believe, not who asks."""

    what: str
    file: str
    is_authority: bool = False


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `ok` None: only a campaign can tell; `text` says how."""

    subject: str
    ok: bool | None
    text: str


@dataclass(frozen=True)
class SharedNetwork:
    """How a program of ours is run in the network of a container. `need`: UnavailableError if its
    image is not here. `run` (container, program and its words, world): to its end."""

    need: Callable[[World], None]
    run: Callable[[str, Sequence[str], World], Completed]


def _brings_nothing(_images: Sequence[str]) -> None:
    """All machines have what one has."""


@dataclass(frozen=True)
class PlatformAbilities:
    """What only some platforms can do. None: it cannot."""

    # (placement): its machines are platforms themselves, each with a node in a known place.
    engine_of: Callable[[str], Platform] | None = None
    # (images): those of ours that all machines get when its guard is held. Without a call they get
    # all of ours.
    bring_only: Callable[[Sequence[str]], None] = _brings_nothing
    # Other computers may reach the ports of its containers. Returns where; "" if only this
    # computer does.
    open_to: Callable[[], str] | None = None
    # (nodes): a container starts only if all that it asks for is free for it. Returns how many
    # CPUs each of so many nodes of a database may ask for now.
    free_cpus: Callable[[int], float] | None = None
    # Volumes can be rented.
    claims: Claims | None = None
    # `Platform.sweep` without what is rented until the end of the campaign.
    sweep_between_runs: Callable[[], tuple[str, ...]] | None = None
    # Certificates by which it is reached now; none where it is reached by other means.
    certificates: Callable[[], Sequence[CertificateFile]] | None = None
    # Findings about its abilities and lacks; makes nothing.
    examine: Callable[[], tuple[Finding, ...]] | None = None
    # A container can be in the network of another (`NETWORK_OF`).
    shared_network: SharedNetwork | None = None


class Platform(Protocol):
    """Where containers run. Everything it makes carries our label and is removed by `sweep`."""

    name: str
    campaign: str  # its name is on everything that the platform makes

    @property
    def images(self) -> Images: ...
    @property
    def guard(self) -> guards.Guard: ...
    @property
    def abilities(self) -> PlatformAbilities:
        """What it can do beside this."""
        return PlatformAbilities()

    def facts(self) -> Mapping[str, Any]:
        """Returns versions, and as "ID" the identity of the engine, for the record."""

    def machines(self) -> tuple[Machine, ...]:
        """Returns those that run its containers, as far as it knows them by now: at least one."""

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        """Returns those that may run nodes of a database."""
        return self.machines()

    def folder(self, cache: Path) -> Path:
        """Returns where files of disks are kept on its machines: in `cache`, a folder of this
        computer, if that is its only machine."""

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        """Starts, yields, then stops (politely) and removes with its anonymous volumes. RunError if
        it cannot be removed, unless the block itself raised."""

    def stand(self, spec: ContainerSpec) -> Container:
        """Starts a container that stays when this program ends, and that `sweep` leaves alone.
        Nothing stays of one that cannot be started."""

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        """Runs to the end and removes it; `out` holds both streams. RunError past the deadline."""

    def container(self, name: str) -> Container:
        """Returns the container of this name; nothing is asked, it may not be there."""

    def find_containers(self, role: str = "") -> tuple[ContainerEntry, ...]:
        """Returns our containers that are there, by name; with `role`, those of it."""

    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> AbstractContextManager[Network]:
        """Makes a network for a cluster. Its nodes get `addresses` if those are given and free:
        some databases start from copies of their disks only where they were loaded."""

    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> AbstractContextManager[str]:
        """Makes a volume with the file system `fstype` of a block device of the machine that runs
        `placement`; without a device, one on that machine's own disk."""

    def answers(self) -> bool:
        """Returns whether the engine answers now."""

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        """Removes everything that carries our label, except what stands, and what belongs to
        another campaign that is alive. Returns what was removed, one line each; or only lists what
        earlier programs have left. RunError if something stays."""


class Progress(Protocol):
    """Messages for the person at the console. Never part of a result."""

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        """Shows that run `number` of `total` begins, with `left_s` seconds left for all."""

    def step(self, text: str, expected_s: float | None = None) -> None:
        """Shows a new step of the current run in place of the one before."""

    def note(self, text: str) -> None:
        """Prints a line that stays."""

    def warn(self, text: str) -> None:
        """Prints a line that stays and stands out."""


def _heard_by_nobody(_number: float) -> None:
    pass


@dataclass(frozen=True)
class World:
    """The outside powers."""

    clock: Clock
    shell: Shell
    platform: Platform
    progress: Progress
    # Holds what is expensive to rebuild (loaded data sets).
    cache: Path
    # The project folder, with `workloads/`, `profiles/` and the images' folders.
    root: Path
    # Names of containers, volumes and networks begin with it. It names campaign and run, so that a
    # leftover of one run is not in the way of the next.
    scope: str = "tierbench"
    # The seed of all that disks draw at random.
    seed: int = 0
    # A load generator calls it as soon as it knows when its measured window begins (Unix seconds,
    # now or soon).
    window_begins: Callable[[float], None] = _heard_by_nobody
    # It calls this at the end of each second with its transactions per second, for who looks on.
    throughput_seen: Callable[[float], None] = _heard_by_nobody
    # Set when what is only brought here is no longer waited for.
    carrying_given_up: threading.Event = field(default_factory=threading.Event)

    @property
    def machine(self) -> Machine:
        """The machine that runs the containers and has the disks, or the first of several."""
        return self.platform.machines()[0]

    @property
    def is_here(self) -> bool:
        """Whether containers run on this computer, and nowhere else."""
        is_in_cache = self.platform.folder(self.cache) == self.cache
        return is_in_cache and len(self.platform.machines()) == 1

    def on(self, placement: str) -> World:
        """The outside as if the machine of this placement were the only one, if its place is
        known."""
        engine_of = self.platform.abilities.engine_of
        if engine_of is None:
            return self
        return replace(self, platform=engine_of(placement))
