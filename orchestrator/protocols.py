"""The seams: what a part must offer, and the outside powers it is given. No implementation here.

Parts satisfy these by shape. `World` is made once, in `cli`, and passed down; tests make it from
fakes. A part never reads the clock, starts a process or talks to Docker except through World.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from orchestrator.model import (
    Cluster,
    ClusterSpec,
    DeviceCap,
    Gate,
    Measurement,
    Node,
    Phase,
    Sample,
    Tier,
    Volume,
    Workload,
)

# ------------------------------------------------------------------ outside powers


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds: for records, never for durations."""

    def monotonic(self) -> float:
        """Seconds since some start: for durations and deadlines."""

    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Completed:
    """What a finished command left."""

    argv: tuple[str, ...]
    exit_code: int
    out: str
    err: str
    duration_s: float


class Shell(Protocol):
    def run(
        self, argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> Completed:
        """Runs to the end. A non-zero exit is returned, not raised. RunError past the deadline."""

    def spawn(self, argv: Sequence[str], log: Path) -> None:
        """Starts a daemon that outlives this program, its output appended to `log`."""


@dataclass(frozen=True)
class Mount:
    """A host path (starts with "/") or a named volume, at a path in the container."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """One container to start. `ports`: container port → port on 127.0.0.1, None: any free one.

    `io_caps` are read back from its control group once it runs: GateError where they differ.
    """

    name: str
    image: str
    command: tuple[str, ...]
    role: str
    entrypoint: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    network: str | None = None
    address: str | None = None
    ports: Mapping[int, int | None] = field(default_factory=dict)
    cpus: float | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    shared_memory_bytes: int | None = None
    init: bool = False
    host_devices: bool = False
    io_caps: tuple[DeviceCap, ...] = ()
    stop_timeout_s: int = 20


@dataclass(frozen=True)
class Container:
    """A started container. `ports`: container port → port on 127.0.0.1."""

    name: str
    id: str
    process_id: int
    address: str | None
    ports: Mapping[int, int]


class Containers(Protocol):
    """Docker. All that it makes carries our label and is removed by `sweep`."""

    def image_present(self, tag: str) -> bool: ...

    def pull(self, tag: str) -> bool:
        """True where the image could be pulled."""

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        """Builds `folder`/Dockerfile; RunError with the last lines where it fails."""

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        """Starts, yields, then stops (politely) and removes with its anonymous volumes."""

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        """Runs a container to its end and removes it; both streams come back as `out`."""

    def network(self, name: str, prefix: str | None = None) -> AbstractContextManager[str]:
        """Yields the subnet's first three octets: node k is at f"{prefix}.{10 + k}".

        It is `prefix` where that is given and free: copies of disks start only where they were."""

    def volume(self, name: str, device: str, fstype: str) -> AbstractContextManager[str]: ...

    def exec(
        self,
        container: str,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        watch: Sequence[str] = (),
        user: str = "",
    ) -> Completed:
        """Runs in a container to the end; `on_line` gets each line of standard output as it comes.

        RunError past the deadline; NodeError when a container in `watch` is found not running.
        A non-zero exit is returned, not raised.
        """

    def stop(self, container: str, timeout_s: float) -> None:
        """Stops politely (TERM, then KILL past the timeout); the container and its logs stay."""

    def state(self, container: str) -> str:
        """ "running", "exited (137)", "gone", …: for messages and liveness checks."""

    def logs(self, container: str, tail: int | None = None) -> str: ...

    def sweep(self) -> tuple[str, ...]:
        """Removes everything that carries our label; returns what was removed, one line each."""


class Tell(Protocol):
    """What the person at the console sees. Never part of a result."""

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        """Run `number` of `total` begins; about `left_s` seconds are left for all of them."""

    def step(self, text: str, expected_s: float | None = None) -> None:
        """A new step of the current run begins; replaces the one before."""

    def note(self, text: str) -> None:
        """A line that stays."""

    def warn(self, text: str) -> None:
        """A line that stays and is meant to be seen."""


@dataclass(frozen=True)
class World:
    """The outside powers. `cache` holds what is dear to make again (loaded data sets);
    `root` is the project folder, with `workloads/`, `profiles/` and `docker/`."""

    clock: Clock
    shell: Shell
    containers: Containers
    tell: Tell
    cache: Path
    root: Path


# ------------------------------------------------------------------ parts


class TierMechanism(Protocol):
    """One way to make a disk tier true."""

    name: str

    def check(self, tier: Tier, world: World) -> None:
        """UsageError or UnavailableError if this cannot work here. Starts nothing that stays."""

    def keeps_images(self, tier: Tier) -> bool:
        """Whether a loaded data set can be copied and restored (the backing store is a file)."""

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        """What, besides the tier's limits and this machine, a kept gate depends on. None: a gate is
        never kept, because the disk may have changed unseen."""

    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> AbstractContextManager[tuple[Volume, ...]]:
        """One volume per node, empty or restored from `images`; limits applied and read back."""

    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> AbstractContextManager[tuple[Volume, ...]]:
        """Empty volumes on `images` without any limit, for loading a data set once."""

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Holds the tier's declared limits against fio on a device like those of `attached`."""

    def facts(self) -> Mapping[str, Any]:
        """What a reader must know about the mechanism: versions, blind spots."""


class Database(Protocol):
    name: str

    def image(self, spec: ClusterSpec, world: World) -> str:
        """The image that its nodes run, with a tag that changes when its content does."""

    def keeps_images(self, spec: ClusterSpec) -> bool:
        """Whether nodes start from copies of loaded disks. False: every run loads by itself."""

    def check(self, spec: ClusterSpec, world: World) -> None:
        """UsageError or UnavailableError before anything is started: image, settings, sizes."""

    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: str, prefix: str, world: World
    ) -> AbstractContextManager[Cluster]:
        """Starts all nodes, waits until SQL is answered, yields; stops cleanly at the end.

        A restored volume is started from as it is. NodeError (with the node's own last log lines)
        where a node does not come up within its deadline.
        """

    def settle(self, cluster: Cluster, world: World) -> None:
        """After a load: statistics, vacuum or compaction, checkpoint; returns when quiet."""

    def warm(self, cluster: Cluster, world: World) -> None:
        """Fills the cache by sequential reads, so that a short warm-up starts near steady state."""

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Called just before a run's warm-up: resets counters, forces a checkpoint."""

    def facts(self, cluster: Cluster, world: World) -> Mapping[str, Any]:
        """Read back from the running server: version, durability settings, data_bytes,
        cache_bytes, replicas in sync."""


@dataclass(frozen=True)
class Result:
    """What a load generator's raw files say about one window. Tables are pandas frames.

    intervals: time_s (Unix), phase, throughput_per_s, latency_avg_s, latency_p50_s, latency_p95_s,
    latency_p99_s, errors. latencies: start_s, latency_s, queue_s, type, outcome, retries, sqlstate.
    """

    measurements: tuple[Measurement, ...]
    intervals: Any
    latencies: Any | None
    facts: Mapping[str, Any]


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
        """Raw files → figures of the window [start_s, end_s]. Pure: needs no Docker."""


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
