"""Protocols of the four families: tier mechanism, database, load generator, collector.

One that inherits from its protocol need not have the methods in which it has nothing to do. Members
touch the outside only through `World`. A tier mechanism and a database keep nothing between calls:
what they learn is in the `Disks` or `Cluster` that they yield. What only some members can do is a
field of their family's record of abilities, which is read: nothing asks for a member's class."""

import datetime
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from orchestrator.errors import NotInstalledError
from orchestrator.facts import DatabaseFacts, GeneratorFacts
from orchestrator.model import (
    CLIENT,
    TLS_IF_OFFERED,
    Cluster,
    ClusterSpec,
    Measurement,
    Node,
    Phase,
    Placing,
    Sample,
    Tls,
    Volume,
    Workload,
)
from orchestrator.powers import (
    CertificateFile,
    Machine,
    Network,
    Platform,
    World,
)
from orchestrator.registry.references import ObjectPlace
from orchestrator.tier import ClassWanted, DiskKind, Gate, Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.units import format_bytes

Packages = dict[str, list[str]]  # an image's tag → `fio 3.39-1` of each package
Collectors = AbstractContextManager[Sequence["Collector"]]
AUTO = "auto"  # asked for as the database: one is chosen
# Each sets a limit to so many times the tier's.
Levers = Mapping[str, Callable[[float], None]]


@dataclass(frozen=True)
class Disks:
    """The disks of one run: one volume per node; facts: mechanism, versions, blind spots."""

    volumes: tuple[Volume, ...]
    facts: Mapping[str, Any]

    @property
    def servers(self) -> tuple[Node, ...]:
        """What serves the disks of data and WAL, if they are ours, node by node."""
        servers: list[Node] = []
        for volume in self.volumes:
            for server in (volume.server, volume.wal_server):
                if server is not None:
                    servers.append(server)
        return tuple(servers)


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
    size_bytes: int = 0
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


@dataclass(frozen=True)
class ChangedLimits:
    """How the limits of attached disks are changed while they are used.

    `slow` and `restore` return what the disk then enforces, by the names that it has for it;
    GateError if that is something else.
    """

    # Takes them away.
    lift: Callable[[Tier, Disks, World], None]
    # Sets the tier's limits and burst credit again, and does `require_enforced`.
    enforce: Callable[[Tier, Disks, World], None]
    # Reads all limits back: GateError if a disk enforces others than the tier's.
    require_enforced: Callable[[Tier, Disks, World], None]
    # Levers for "IOPS", "bandwidth" and "disk latency", as far as the tier declares them.
    levers: Callable[[Tier, Disks, World], Levers]
    # Makes the disk of one node slow; `restore` gives a node's disk the tier's limits again.
    slow: Callable[[Tier, Disks, SlowDisk, World], Mapping[str, float]]
    restore: Callable[[Tier, Disks, str, World], Mapping[str, float]]


@dataclass(frozen=True)
class GatesOfMachines:
    """How disks are gated that are made where their nodes run: each such machine has a gate."""

    # (placement, tier, world, thorough): `TierMechanism.gate` of a disk on the machine that runs
    # the placement.
    take: Callable[[str, Tier, World, bool], Gate]
    # (nodes, world): the machine that runs each node, in their order.
    machines_of_nodes: Callable[[int, World], Sequence[Machine]]


class ServedDisk(Protocol):
    """A disk that a server of ours emulates, while a run is measured."""

    @property
    def name(self) -> str:
        """The server's name."""

    def begin(self) -> None:
        """Reads its counters when a load begins, in case it never says when its window does."""

    def begin_window(self) -> None:
        """Sets the burst credit with which a window begins, and reads its counters."""

    def end(self) -> None:
        """Reads its counters for the last time; nothing if it has done so."""

    def facts(self) -> dict[str, Any]:
        """Returns what both readings say of the window; empty if nothing could be read."""


@dataclass(frozen=True)
class TierAbilities:
    """What a tier mechanism can do beside making disks. None: it cannot."""

    # Loaded disks are kept, and restored for each run. Without it every run loads.
    kept_data: KeptData | None = None
    # The limits of attached disks can be lifted while nothing is measured, and changed.
    limits: ChangedLimits | None = None
    # (machine, world): a passed gate may be used again while all that this returns is unchanged;
    # the tier's limits and the machine itself are added to it. OSError or TierbenchError if the
    # disk of its files is not seen: then the gate is not kept.
    kept_gate: Callable[[Machine, World], Mapping[str, Any]] | None = None
    # Its disks are as good as the machine of their node.
    gates_of_machines: GatesOfMachines | None = None
    # The gate of a disk whose burst credit was used up by load, which is held to its base limits
    # alone.
    drained_gate: Callable[[Tier, World, bool], Gate] | None = None
    # (tier, nodes, world): its disks take space on the machines that run the nodes. Folder → how
    # many times it holds the data of one node.
    places: Callable[[Tier, int, World], Mapping[Path, int]] | None = None
    # (tier, volumes, world): servers of ours play its disks; their counters are read around the
    # window, and burst credit is set at its begin.
    served_disks: (
        Callable[[Tier, Sequence[Volume], World], Sequence[ServedDisk]] | None
    ) = None


class TierMechanism(Protocol):
    """One way to make a disk tier true. `kind`: what a reader must take its disks for; it decides
    what a profile must declare, what is doubted, and the words of the report."""

    name: str
    kind: DiskKind

    @property
    def abilities(self) -> TierAbilities:
        """What it can do beside this."""
        return TierAbilities()

    def check(self, tier: Tier, world: World) -> None:
        """UsageError or UnavailableError if this cannot work here. Starts nothing that stays."""
        return

    def attached(
        self, tier: Tier, data: NodesData, world: World
    ) -> AbstractContextManager[Disks]:
        """One volume per node, empty or restored from snapshots, which are given only to one that
        has `kept_data`; limits applied and read back."""

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Holds the tier's declared limits against fio on a device like those of `attached`."""
        return Gate(tier.name, world.clock.now(), checks=())


@dataclass(frozen=True)
class SessionLimit:
    """How many `sessions` of the load's user each of the `hosts` takes over which clients are
    spread, by its `setting`."""

    sessions: int
    hosts: int
    setting: str
    advice: str
    # Whether no pooler or balancer may change that.
    is_certain: bool = True
    # Sessions that this program has open on a host while the load runs.
    sampling: int = 0


class Collector(Protocol):
    """Reads the counters of one subject for every node that has it. Returns counters, not rates."""

    name: str

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        """Reads all counters once. OSError if a source is gone; the sampler survives that."""


@dataclass(frozen=True)
class RebuiltNodes:
    """How the last node of three or more is lost under load, and rebuilt."""

    # (node, cluster, world): kills it, empties its disk and starts it; returns it as it is now.
    # RunError.
    start_anew: Callable[[Node, Cluster, World], Node]
    # (cluster, world, deadline in s): returns when it does its share as before. NodeError if it
    # ends, or past the deadline.
    await_rebuilt: Callable[[Cluster, World, float], None]


CheckState = Literal["confirmed", "not confirmed", "could not be looked at"]


@dataclass(frozen=True)
class CheckedFact:
    """One line of a checklist, looked at. `inferred`: no real cluster was ever seen to say it
    before."""

    name: str
    claim: str
    state: CheckState
    seen: str
    inferred: bool = False


@dataclass(frozen=True)
class FirstRun:
    """A checklist of all that a database's member relies on."""

    # (release, settings): the cluster that it starts.
    spec: Callable[[str | None, Mapping[str, str]], ClusterSpec]
    # (spec, world, listen): yields each finding as it is made, and lets `listen` read the nodes
    # while they are up. UnavailableError if it cannot run there.
    look: Callable[
        [ClusterSpec, World, Callable[[Cluster], None]], Iterator[CheckedFact]
    ]
    # (findings, spec, world, results folder): yields the findings, then keeps them and whether all
    # that `auto` waits for was confirmed.
    kept: Callable[
        [Iterable[CheckedFact], ClusterSpec, World, Path | None], Iterator[CheckedFact]
    ]
    # (spec, platform, cache): a sentence with the day on which it passed here; empty if it did not.
    passed: Callable[[ClusterSpec, Platform, Path], str]


@dataclass(frozen=True)
class ImageSupply:
    """How the image of a database's nodes is got where it is not built here."""

    # (spec, platform): its tag, pulled if it was not here; None if it cannot be.
    obtain: Callable[[ClusterSpec, Platform], str | None]
    # (downloaded distribution, project folder, platform, what is told each line): builds an image
    # of ours around it; returns the tag.
    pack: Callable[[Path, Path, Platform, Callable[[str], None]], str]
    # (spec, day): that its release is out of support, or soon will be; else empty.
    end_of_support: Callable[[ClusterSpec, datetime.date], str]


@dataclass(frozen=True)
class HelmChart:
    """A database's own chart for Kubernetes.

    `values` (spec, storage class, placing): by the chart's names. UsageError for settings that it
    cannot take. `remarks` (spec, storage class): what a reader of them must know.
    """

    values: Callable[[ClusterSpec, ClassWanted, Placing | None], dict[str, Any]]
    remarks: Callable[[ClusterSpec, ClassWanted], Iterable[str]]


@dataclass(frozen=True)
class DatabaseAbilities:
    """What a database can do beside being started and asked. None: it cannot, or has none."""

    # (spec): it writes back what it has put off at intervals that its settings say. UsageError if
    # the profile's cannot be read.
    checkpoint_interval_s: Callable[[ClusterSpec], float] | None = None
    # (spec, world): its hosts take no more than a set number of sessions; None if it is not known
    # how many. UnavailableError as `check`.
    session_limit: Callable[[ClusterSpec, World], SessionLimit | None] | None = None
    # (spec, world): others may be measuring its cluster at the same time; this keeps them off it
    # during the block. UnavailableError if one is measuring it, or if that cannot be seen.
    reserved: Callable[[ClusterSpec, World], AbstractContextManager[None]] | None = None
    # (spec): its sessions may need certificates of this computer. Those that the profile names;
    # none for a declaration with mistakes.
    certificates: Callable[[ClusterSpec], Sequence[CertificateFile]] | None = None
    # A node can be lost under load.
    rebuilt_nodes: RebuiltNodes | None = None
    # A checklist tells whether it works here.
    first_run: FirstRun | None = None
    # Its image is not one of ours.
    image_supply: ImageSupply | None = None
    # Its makers have a Helm chart.
    helm_chart: HelmChart | None = None
    # Collectors of the counters of its own servers, also in clusters that others run.
    collectors: Callable[[], Sequence[Collector]] | None = None
    # (cluster, seconds): what sessions waited for in the last seconds, as its nodes keep it
    # themselves. RunError if a node does not tell it.
    session_history: Callable[[Cluster, float], Mapping[str, Any]] | None = None


class Database(Protocol):
    """One database: starts a cluster on given disks and answers questions about it."""

    name: str

    @property
    def abilities(self) -> DatabaseAbilities:
        """What it can do beside this."""
        return DatabaseAbilities()

    def image(self, spec: ClusterSpec, world: World) -> str:
        """Returns the image that its nodes run; its tag changes with its content."""

    def restores(self, spec: ClusterSpec) -> bool:
        """Returns whether nodes start from copies of loaded disks; if not, every run loads."""
        return True

    def check(self, spec: ClusterSpec, world: World) -> None:
        """Checks image, settings and sizes; starts nothing. UsageError or UnavailableError."""
        return

    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> AbstractContextManager[Cluster]:
        """Starts all nodes, waits until SQL is answered, yields; stops cleanly at the end. The
        cluster's `handle` holds what later calls need to know. Nodes on restored volumes use the
        data on them. NodeError (with the node's own last log lines) if a node does not come up
        within its deadline."""

    def settle(self, cluster: Cluster, world: World) -> None:
        """After a load: statistics, vacuum or compaction, checkpoint; returns when idle."""
        return

    def warm(self, cluster: Cluster, world: World) -> None:
        """Fills the cache by sequential reads, so that a short warm-up starts near steady state."""
        return

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Resets counters and quiets the disks: before a warm-up, and behind a window to settle."""
        return

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """Reads facts back from the running server. RunError if it does not answer."""
        return DatabaseFacts()


@dataclass(frozen=True)
class Result:
    """The figures of one window from a load generator's raw files. Tables are pandas frames.

    intervals: time_s (Unix), phase, throughput_per_s, latency_avg_s, latency_p50_s, latency_p95_s,
    latency_p99_s, errors. latencies: start_s, latency_s, queue_s, type, outcome, retries, sqlstate:
    tables in order of start, read anew at each iteration."""

    measurements: tuple[Measurement, ...]
    intervals: Any
    latencies: Iterable[Any] | None
    facts: GeneratorFacts


@dataclass(frozen=True)
class Share:
    """What one of several clients carries of a workload's load."""

    # The number of this client, from 1.
    number: int
    clients: int
    # The number of threads of the clients before it.
    first_thread: int
    # Called when all is ready for the first transaction: waits for the other clients, and returns
    # the moment at which all begin, a second or so ahead (Unix seconds by the client's own clock).
    # RunError if one of the others has failed.
    begin: Callable[[], float]
    # Called once a second of a warm-up without a fixed time, with whether this client would begin
    # its window: returns the moment at which all do, if all of them would at once, else None.
    agree: Callable[[bool], float | None]


@dataclass(frozen=True)
class ClientLoad:
    """What a client carries in a run, leaving raw output in the folder `out`. Of one of several,
    `workload` has the threads and the arrival rate of its `share`, and the clock of `world` is the
    client's own, as are the times of its phases."""

    workload: Workload
    cluster: Cluster
    client: Node
    out: Path
    world: World
    share: Share | None = None


Recorded = tuple[Any, GeneratorFacts]
"""The transactions of a run as its generator reads them (`Result.latencies`), and its facts."""


@dataclass(frozen=True)
class SplitLoad:
    """How several clients carry a load, each its share, and are read as one."""

    # (folder): reads what one client left.
    records: Callable[[Path], Recorded]
    # (transactions of several clients, what to take off the times of each): these as of one.
    merged: Callable[[Sequence[Any], Sequence[float]], Any]
    # (workload, what `records` returned, of one client or of several together, window): the figures
    # of the window.
    result: Callable[[Workload, Recorded, float, float], Result]


@dataclass(frozen=True)
class MeasuredPoints:
    """How a run is measured in turn, point by point, each whole in a file of its own."""

    # The folder of raw files. Points whose files are there are passed over.
    folder: str
    # (workload, raw folder): the figures of those that are there.
    so_far: Callable[[Workload, Path], tuple[Measurement, ...]]


@dataclass(frozen=True)
class LoadAbilities:
    """What a load generator can do beside loading and running. None, False: it cannot."""

    # `load` goes on where an earlier call was ended, at any moment.
    loading_goes_on: bool = False
    # A run that was ended goes on with the points that it has.
    points: MeasuredPoints | None = None
    # Several clients can carry its load, because it keeps a record of each transaction.
    split_load: SplitLoad | None = None
    # (number, clients, world): so many threads of all clients go on, until it is told again; not
    # for a load that has a pace of its own.
    limit_sessions: Callable[[int, Sequence[Node], World], None] | None = None


class LoadGenerator(Protocol):
    name: str

    @property
    def abilities(self) -> LoadAbilities:
        """What it can do beside this."""
        return LoadAbilities()

    def loader_version(self, workload: Workload, world: World) -> str:
        """Returns a text that changes whenever the loader would load other bytes."""

    def scripts(self, workload: Workload, world: World) -> str:
        """Returns a hash of the files beside its image that decide what it runs; "" without any."""
        return ""

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        return

    def client(
        self, network: str, world: World, tls: Tls = TLS_IF_OFFERED, name: str = CLIENT
    ) -> AbstractContextManager[Node]:
        """Starts the client container with the files of `tls`. It ends by itself when this program
        is gone. Without one the load is made in a node, with its CPU."""
        return nullcontext(Node(name, "client"))

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        """Creates and fills the data set. LoadError unless the result is exactly that;
        UnfinishedError if another call could go on in the same database."""
        return

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        """Warms up, then measures, leaving untouched output in `out`; returns the two phases.
        Calls `world.window_begins` as soon as it knows when the second begins. LoadError if the
        generator fails, NodeError if a database node dies."""

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> Mapping[str, Any]:
        """After a run: checks the data, returns facts. LoadError if they are not as they must."""
        return {}

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        """Reads raw files into figures of the window [start_s, end_s]. Pure: starts nothing."""


Member = TypeVar("Member", bound="Database | LoadGenerator | TierMechanism")


class Members(Mapping[str, Member]):
    """The members of a family by name.

    A member is made when it is first asked for, and what its module needs is imported only then:
    a command that lists names, or needs one member, does not wait for the libraries of all.

    `noun`: what a member is, in words. `makers`: name → the class, or a function without
    parameters, that makes the member. NotInstalledError for another name.
    """

    def __init__(self, noun: str, makers: Mapping[str, ObjectPlace]) -> None:
        self._noun = noun
        self._makers = makers
        self._made: dict[str, Member] = {}

    def __getitem__(self, name: str) -> Member:
        if name not in self._makers:
            raise NotInstalledError(self._noun, name)
        if name not in self._made:
            make = self._makers[name].imported()
            self._made[name] = make()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        # A mapping would otherwise make the member only to say that it is there.
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _no_collectors(_: Cluster) -> Collectors:
    return nullcontext(())


def _no_waits(_: Cluster, _window_s: float) -> Mapping[str, Any]:
    return {}


def _no_packages(_images: Iterable[str], _world: World) -> Packages:
    return {}


def _no_statements(_: Cluster) -> Iterable[Mapping[str, Any]]:
    return ()


@dataclass(frozen=True)
class Parts:
    """The members of each family, by their names in profiles and workloads."""

    databases: Mapping[str, Database]
    load_generators: Mapping[str, LoadGenerator]
    tiers: Mapping[str, TierMechanism]
    collectors: Sequence[Collector]
    # Collectors with a session, for the block.
    connected: Callable[[Cluster], Collectors] = _no_collectors
    # Counts of each statement by the servers, or RunError.
    statements: Callable[[Cluster], Iterable[Mapping[str, Any]]] = _no_statements
    # Waits of sessions in the last seconds, or RunError.
    waits: Callable[[Cluster, float], Mapping[str, Any]] = _no_waits
    # Packages of our images and of these databases' images.
    packages: Callable[[Iterable[str], World], Packages] = _no_packages
