"""The protocol of a load generator, what it is given and returns, and what only some can do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from orchestrator.facts import FactRule, GeneratorFacts, WeightedMean
from orchestrator.model import (
    CLIENT,
    TLS_IF_OFFERED,
    Cluster,
    ClusterSpec,
    Measurement,
    Node,
    Phase,
    Tls,
    Workload,
)
from orchestrator.powers import World


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
    # Name in the facts' `more` → how those of several clients become one. Without a rule they are
    # kept where all are alike, and else by client.
    fact_rules: Mapping[str, FactRule | WeightedMean] = field(default_factory=dict)


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
