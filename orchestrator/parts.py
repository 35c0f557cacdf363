"""What a member of each family must offer: tier mechanism, database, load generator, collector.

Members satisfy these by shape, and touch the outside only through `World`. A tier mechanism and a
database keep nothing between calls: what `attached` or `running` finds out is in the `Disks` or the
`Cluster` that it yields. What only some members can do is a protocol of its own (`Restorable`,
`KeepsGate`, `TakesSpace`): whoever needs it asks with `isinstance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from orchestrator.facts import DatabaseFacts, GeneratorFacts
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    DiskKind,
    Gate,
    Measurement,
    Node,
    Phase,
    Sample,
    Tier,
    Volume,
    Workload,
)
from orchestrator.powers import Network, World


@dataclass(frozen=True)
class Disks:
    """The disks of one run: one volume per node, and what a reader must know about them
    (mechanism, versions, blind spots)."""

    volumes: tuple[Volume, ...]
    facts: Mapping[str, Any]


class TierMechanism(Protocol):
    """One way to make a disk tier true. `kind`: what a reader must take its disks for; it decides
    what a profile must declare, what is doubted, and the words of the report."""

    name: str
    kind: DiskKind

    def check(self, tier: Tier, world: World) -> None:
        """UsageError or UnavailableError if this cannot work here. Starts nothing that stays."""

    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
    ) -> AbstractContextManager[Disks]:
        """One volume per node, empty or restored from `snapshots`; limits applied and read back.

        `snapshots`: copies of the disks of a loaded data set, given only where `Restorable`."""

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Holds the tier's declared limits against fio on a device like those of `attached`."""


@runtime_checkable
class Restorable(Protocol):
    """A tier mechanism whose disks are files, so that a loaded data set can be copied."""

    def restores(self, tier: Tier) -> bool:
        """Whether the disks of this tier are such files."""

    def loading(
        self, sizes_bytes: Sequence[int], snapshots: Sequence[Path], world: World
    ) -> AbstractContextManager[tuple[Volume, ...]]:
        """Empty volumes without any limit, backed by the files `snapshots`, for loading once."""


@runtime_checkable
class KeepsGate(Protocol):
    """A tier mechanism whose passed gate may be believed again later."""

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        """What, besides the tier's limits and this machine, a kept gate depends on. None: the gate
        of this tier is never kept, because its disk may have changed unseen."""


@runtime_checkable
class TakesSpace(Protocol):
    """A tier mechanism whose disks take space of the machine that runs the nodes."""

    def places(self, tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
        """Folder → how many times the data of one node are kept there, of so many nodes."""


class Database(Protocol):
    """One database: starts a cluster on given disks, and is asked about it while it runs."""

    name: str

    def image(self, spec: ClusterSpec, world: World) -> str:
        """The image that its nodes run, with a tag that changes when its content does."""

    def restores(self, spec: ClusterSpec) -> bool:
        """Whether nodes start from copies of loaded disks. False: every run loads by itself."""

    def check(self, spec: ClusterSpec, world: World) -> None:
        """UsageError or UnavailableError before anything is started: image, settings, sizes."""

    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> AbstractContextManager[Cluster]:
        """Starts all nodes, waits until SQL is answered, yields; stops cleanly at the end.

        What later calls need to know of the cluster is in its `handle`.
        A restored volume is started from as it is. NodeError (with the node's own last log lines)
        where a node does not come up within its deadline.
        """

    def settle(self, cluster: Cluster, world: World) -> None:
        """After a load: statistics, vacuum or compaction, checkpoint; returns when quiet."""

    def warm(self, cluster: Cluster, world: World) -> None:
        """Fills the cache by sequential reads, so that a short warm-up starts near steady state."""

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Called just before a run's warm-up: resets counters, forces a checkpoint."""

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """Read back from the running server. RunError where it does not answer."""


@dataclass(frozen=True)
class Result:
    """What a load generator's raw files say about one window. Tables are pandas frames.

    intervals: time_s (Unix), phase, throughput_per_s, latency_avg_s, latency_p50_s, latency_p95_s,
    latency_p99_s, errors. latencies: start_s, latency_s, queue_s, type, outcome, retries, sqlstate.
    """

    measurements: tuple[Measurement, ...]
    intervals: Any
    latencies: Any | None
    facts: GeneratorFacts


class LoadGenerator(Protocol):
    name: str

    def loader_version(self, workload: Workload, world: World) -> str:
        """Changes when the loader would load other bytes: a kept data set is then loaded anew."""

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None: ...

    def client(self, network: str, out: Path, world: World) -> AbstractContextManager[Node]:
        """The client container, `out` mounted for raw output."""

    def load(self, workload: Workload, cluster: Cluster, client: Node, world: World) -> None:
        """Creates and fills the data set; LoadError unless exactly what was asked is there."""

    def run(
        self,
        workload: Workload,
        cluster: Cluster,
        client: Node,
        out: Path,
        world: World,
    ) -> tuple[Phase, Phase]:
        """Warm-up, then measure, leaving untouched output in `out`; returns the two phases.

        LoadError where the generator fails, NodeError where a database node dies meanwhile.
        """

    def verify(self, workload: Workload, cluster: Cluster, world: World) -> Mapping[str, Any]:
        """After a run: whether the data are as they must be. LoadError where not."""

    def read(self, workload: Workload, out: Path, start_s: float, end_s: float) -> Result:
        """Raw files → figures of the window [start_s, end_s]. Pure: starts nothing."""


class Collector(Protocol):
    """Reads counters of one subject for every node that has it. Counters out, no rates."""

    name: str

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        """One reading of all. Raises OSError where a source is gone; the sampler survives that."""


@dataclass(frozen=True)
class Parts:
    """The members of each family, by the names that profiles and workloads use."""

    databases: Mapping[str, Database]
    load_generators: Mapping[str, LoadGenerator]
    tiers: Mapping[str, TierMechanism]
    collectors: Sequence[Collector]
