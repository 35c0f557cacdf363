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
    # (spec): others run its hosts. Each host, with what asks it, which raises UnavailableError if
    # it does not answer; none for a declaration with mistakes.
    hosts: Callable[[ClusterSpec], Mapping[str, Callable[[], None]]] | None = None
    # (spec): its nodes run already, and are found by the pages that the profile declares.
    # UnavailableError if it does not answer.
    find_nodes: Callable[[ClusterSpec], Sequence[Node]] | None = None
    # A person has to agree before a database of others is dropped: the same with somebody else to
    # ask.
    confirmed_by: Callable[[Confirm], "Database"] | None = None
    # (spec): its sessions may need certificates of this computer. Those that the profile names;
    # none for a declaration with mistakes.
    certificates: Callable[[ClusterSpec], Sequence[CertificateFile]] | None = None
    # A node can be lost under load.
    rebuilt_nodes: RebuiltNodes | None = None
    # A checklist tells whether it works here.
    first_run: FirstRun | None = None
    # Its image is not one of ours.
    image_supply: ImageSupply | None = None
    # Collectors of the counters of its own servers, also in clusters that others run.
    collectors: Callable[[], Sequence[Collector]] | None = None
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
