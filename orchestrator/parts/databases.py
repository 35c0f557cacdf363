"""The protocol of a database, and what only some can do."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from orchestrator.facts import DatabaseFacts
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Node,
    Volume,
)
from orchestrator.parts.collectors import Collector
from orchestrator.parts.database_checklists import FirstRun
from orchestrator.powers import CertificateFile, Network, Platform, World


@dataclass(frozen=True)
class SessionLimit:
    """How many `sessions` of the load's user each of the `hosts` takes over which clients are
    spread, by its `setting`."""

    sessions: int
    hosts: int
    setting: str
    advice: str
    # Whether no pooler or balancer may change that.
    is_certain: bool
    # Sessions that this program has open on a host while the load runs.
    sampling: int


class RebuiltNodes(Protocol):
    """How the last node of three or more is lost under load, and rebuilt."""

    def start_anew(self, node: Node, cluster: Cluster, world: World) -> Node:
        """Kills it, empties its disk and starts it; returns it as it is now. RunError."""

    def await_rebuilt(self, cluster: Cluster, world: World, deadline_s: float) -> None:
        """Returns when it does its share as before. NodeError if it ends, or past the deadline."""


class ImageSupply(Protocol):
    """How the image of a database's nodes is got where it is not built here. A module is one."""

    def obtain(self, spec: ClusterSpec, platform: Platform) -> str | None:
        """Returns its tag, pulled if it was not here; None if it cannot be."""

    def pack(
        self,
        tarball: Path,
        root: Path,
        platform: Platform,
        on_line: Callable[[str], None],
    ) -> str:
        """Builds an image of ours around a downloaded distribution; returns the tag. `root` is the
        project's folder; each line of the build is given to `on_line`."""

    def end_of_support(self, spec: ClusterSpec, today: datetime.date) -> str:
        """Returns that its release is out of support, or soon will be; else an empty text."""


class Confirm(Protocol):
    """Who is asked before a database of others is dropped."""

    def __call__(self, question: str, may_ask: bool, /) -> bool:
        """Returns whether they agree. `may_ask`: a person may be asked now."""


class SessionHistory(Protocol):
    """What a database's nodes themselves keep of their sessions."""

    def __call__(self, cluster: Cluster, window_s: float, /) -> Mapping[str, Any]:
        """Returns what sessions waited for in the last `window_s`. RunError if a node does not
        tell it."""


class CheckpointInterval(Protocol):
    """How often a database writes back what it has put off, by its settings."""

    def __call__(self, spec: ClusterSpec, /) -> float:
        """Returns seconds. UsageError if the profile's settings cannot be read."""


class SessionLimitOf(Protocol):
    """How many sessions the hosts of a database take."""

    def __call__(self, spec: ClusterSpec, world: World, /) -> SessionLimit | None:
        """Returns the limit; None if it is not known. UnavailableError as `Database.check`."""


class ClusterReservation(Protocol):
    """How others are kept off a cluster that they too may be measuring."""

    def __call__(
        self, spec: ClusterSpec, world: World, /
    ) -> AbstractContextManager[None]:
        """Keeps others off the cluster during the block. UnavailableError if another campaign is
        measuring it, or if that cannot be seen."""


class HostQuestions(Protocol):
    """How hosts that others run are asked whether they answer."""

    def __call__(self, spec: ClusterSpec, /) -> Mapping[str, Callable[[], None]]:
        """Returns host → what asks it, which raises UnavailableError if it does not answer. Empty
        for a declaration with mistakes."""


class NodeSearch(Protocol):
    """How nodes that run already are found."""

    def __call__(self, spec: ClusterSpec, /) -> Sequence[Node]:
        """Returns the nodes behind the pages that the profile declares. UnavailableError if they
        do not answer."""


class ConfirmedBy(Protocol):
    """How another person is asked before a database is dropped."""

    def __call__(self, confirm: Confirm, /) -> "Database":
        """Returns this database, which asks `confirm` before it drops anything."""


class CertificateSearch(Protocol):
    """Which certificates of this computer a database's sessions need."""

    def __call__(self, spec: ClusterSpec, /) -> Sequence[CertificateFile]:
        """Returns the files that the profile names. Empty for a declaration with mistakes."""


@dataclass(frozen=True)
class DatabaseAbilities:
    """What a database can do beside being started and asked. None: it cannot, or has none."""

    # It writes back at intervals that its settings say.
    checkpoint_interval_s: CheckpointInterval | None = None
    # Its hosts take no more than a set number of sessions.
    session_limit: SessionLimitOf | None = None
    # Others may be measuring its cluster at the same time.
    reserved: ClusterReservation | None = None
    # Others run its hosts.
    hosts: HostQuestions | None = None
    # Its nodes run already.
    find_nodes: NodeSearch | None = None
    # A look ahead asks this one instead: where it would connect, it raises NotAsked.
    unconnected: "Callable[[], Database] | None" = None
    # A person has to agree before a database of others is dropped.
    confirmed_by: ConfirmedBy | None = None
    # Its sessions may need certificates of this computer.
    certificates: CertificateSearch | None = None
    # A node can be lost under load.
    rebuilt_nodes: RebuiltNodes | None = None
    # A checklist tells whether it works here.
    first_run: FirstRun | None = None
    # Its image is not one of ours.
    image_supply: ImageSupply | None = None
    # Collectors of the counters of its own servers, also in clusters that others run.
    collectors: Callable[[], Sequence[Collector]] | None = None
    # Its servers have the view `pg_stat_statements`, if the extension was made there.
    counts_statements: bool = False
    # Its servers say in `pg_stat_activity` what each session waits for, in PostgreSQL's words.
    shows_waits_of_sessions: bool = False
    # Its nodes keep what sessions waited for.
    session_history: SessionHistory | None = None


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
