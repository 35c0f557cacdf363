"""Words and facts that records keep and that other parts read: closed sets, and typed groups.

Readers decide by these words and attributes, never by a sentence or by a key of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

# The first words of a report where the other database ran on a profile of YugabyteDB's.
STANDS_IN = "PostgreSQL stands in for YugabyteDB"
# fmt: off
NoteKind = Literal[
    "published figures", "reading",
    "fallback database", "preferred database", "fewer nodes", "nodes as asked", "other scale",
    "burst scaled", "longer windows", "many windows", "rehearsal",
    "campaign cost", "unlike disks", "one disk of several", "no effect", "prices", "left behind",
    "unfinished", "data as asked", "planned in time", "probes",
    "interrupted", "gone on despite", "left out", "changed file", "other",
]
PhaseName = Literal[
    "load", "prepare", "warm-up", "measure", "confirm", "settle", "check", "read", "teardown",
]
GateQuantity = Literal[
    "iops_read", "iops_write", "iops_mixed", "iops_at_depth", "depth_at_cap",
    "bandwidth_read", "bandwidth_write", "bandwidth_at_size",
    "latency_read", "latency_write", "latency_p99_read", "latency_p99_write", "fdatasync",
    "integrity", "drained", "shared_iops", "shared_bandwidth",
]
GateWord = Literal[
    "ok", "slow", "faster than declared (cache or burst)", "failed",
    "bursting", "not reachable", "not declared", "assumed, not judged", "too few requests",
]
# Limits that are tried out while a load runs, as records name them.
TriedLimit = Literal[
    "IOPS", "bandwidth", "disk latency",
    "WAL disk's IOPS", "WAL disk's bandwidth", "WAL disk's latency",
    "shared IOPS", "shared bandwidth", "machine's IOPS", "machine's bandwidth",
    "node CPU", "client CPU", "sessions",
]
TlsMode = Literal["verify-full", "verify-ca", "require", "prefer", "off"]
CreditState = Literal["at base", "bursting", "unknown"]
BottleneckCause = Literal[
    "iops_cap", "bandwidth_cap", "latency_bound", "wal_disk_bound", "burst_exhausted", "cpu_bound",
    "memory_bound", "slow_node", "client_bound", "machine_bound", "load_bound", "network_bound",
    "single_core", "contention", "vm_cap", "shared_cap", "in_cache", "few_sessions", "service_cap",
    "unattributed",
]
DoubtKind = Literal[
    # about the campaign
    "published figures",
    "one repetition", "missing cell", "emulated tier", "none tier", "unlike disks",
    "VM caps the disk", "one disk of several", "fewer nodes", "unlike runs", "not compared",
    "rehearsal",
    "old price", "price not verified", "equal tiers told apart", "below the noise floor",
    # noted while it ran
    "leftovers", "teardown", "clock set", "not restored", "gone on despite", "out of order",
    # about the disk of a run
    "no truth gate", "gate not passed", "old truth gate", "limits changed", "burst credit left",
    "limit not verified", "bursting disk", "counts differ", "host slower than the tier",
    "shared disk", "shared blocks", "disk not quiet", "host cache", "another disk than declared",
    "gate drift", "gate failed afterwards", "no gate afterwards", "burst credit unknown",
    "overhead differs", "copied volume", "host errors",
    # about its load, its database and its machine
    "warm-up given up", "unsteady throughput", "short window", "short rebuild", "few checkpoints",
    "not recovered",
    "limited by this machine",
    "data fits in the cache", "client busy", "host saturated", "machine shared", "telemetry gaps",
    "failures", "retries", "few transactions", "overload", "Little's law", "think time's ceiling",
    "replica missing", "data in memory",
    "clients apart", "totals differ", "commits not durable", "commits not synced",
    "another build",
    "consistency not checked", "facts not read", "leaders moved", "few tablets",
    "whole tables read", "connection pooler", "one address for several nodes",
    "disks not counted", "WAL disk not declared", "others at work",
    # about who judges it
    "doubts not readable", "extension missing",
]
# fmt: on
_DOUBT_KINDS: Sequence[DoubtKind] = get_args(DoubtKind)
# The name of each → the same, which a type checker knows.
_DOUBT_KIND_OF_NAME: Mapping[str, DoubtKind] = dict(
    zip(_DOUBT_KINDS, _DOUBT_KINDS, strict=True)
)
# The effect of a doubt on a verdict. "excludes": its run enters no figure and no decision.
# "forbids": nothing is concluded in its tier's favour. "limits": the answer's own sentence says it,
# and how sure it is too where most runs of a workload have it.
# "told": it stands beside the figures and does no more.
DoubtEffect = Literal["excludes", "forbids", "limits", "told"]


# The questions are what a factor does (`--vary`) and which load a tier takes (`--sweep`). The third
# is how all serve one rate (`--latency-at`).
Question = Literal["factor", "load", "same rate"]


@dataclass(frozen=True)
class Pause:
    """Between two parts of a campaign, in Unix time: nothing was made, and nothing rented."""

    began_s: float
    ended_s: float


@dataclass(frozen=True)
class Varied:
    """The value of a factor at which a workload is another one. Read once, in `design/factors`."""

    # The name of that workload.
    of: str
    factor: str
    # The value as it was given.
    value: str
    # The value in the factor's base unit, which orders it among the others. Laws are made of it.
    # None for a word.
    number: float | None = None
    question: Question = "factor"

    @property
    def count(self) -> int:
        """The number of things counted, or of bytes a second; 0 if the figure is a word."""
        return int(self.number or 0)


# Names in `DatabaseFacts.since_reset`: each database writes them, `load_and_sessions` reads them.
# Other counters there are the database's own. The write-ahead log: how often it was synced, the
# time that took, and that of one sync. Sums over all logs of `WAL_NODES` nodes: one log of the
# primary with PostgreSQL, one for each tablet on every node with YugabyteDB. Time by nodes is a
# share of the time, or an upper bound of it.
WAL_SYNCS = "wal_syncs"
WAL_SYNC_S = "wal_sync_s"
WAL_SYNC_AVG_S = "wal_sync_avg_s"
WAL_NODES = "wal_nodes"

# The prefix of counts of all databases of a cluster: others' part of them.
OTHERS = "others_"

# Time that clients' sessions, and nobody else, spent in reading data files, summed over sessions.
READ_S = "blks_read_s"


def known_doubt_kind(name: str) -> DoubtKind | None:
    """The kind of this name, for rules and tables; None if only an extension or another version
    raises it."""
    return _DOUBT_KIND_OF_NAME.get(name)


def group(recorded: object, *path: str) -> Mapping[str, Any]:
    """The group of facts that lies at `path` within others; empty where none does."""
    for name in path:
        if not isinstance(recorded, Mapping):
            return {}
        recorded = recorded.get(name)
    if isinstance(recorded, Mapping):
        return recorded
    return {}


def _bare(hint: Any) -> type:
    """The type without `| None` and without that of a mapping's content."""
    kind: type = hint
    if isinstance(hint, UnionType):
        kind = get_args(hint)[0]
    return get_origin(kind) or kind


def _value_of_type(kind: type, value: Any) -> Any:
    """The value, or None if it is of another type. bool is not accepted as a number; int is."""
    if isinstance(value, bool) and kind is not bool:
        return None
    if kind is float and isinstance(value, int):
        return value
    if isinstance(value, kind):
        return value
    return None


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Facts of one kind. `more`: those that are only kept and shown."""

    _types: ClassVar[Mapping[str, type]]
    more: Mapping[str, Any] = field(default_factory=dict)

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls)
        cls._types = {name: _bare(hints[name]) for name in cls.__annotations__}

    @classmethod
    def read(cls, recorded: object) -> Self:
        """Reads it from a group of a record's facts. Entries of another type are left out."""
        more: dict[str, Any] = dict(group(recorded))
        values = {}
        for name, kind in cls._types.items():
            value = _value_of_type(kind, more.pop(name, None))
            if value is not None:
                values[name] = value
        return cls(**values, more=more)

    @classmethod
    def read_each(cls, recorded: object) -> dict[str, Self]:
        """Reads a group of groups of this kind, each by its name."""
        groups: dict[str, Self] = {}
        for name, entry in group(recorded).items():
            groups[name] = cls.read(entry)
        return groups

    def recorded(self) -> dict[str, Any]:
        """One flat group, as a record keeps it."""
        facts = {}
        for name in self._types:
            value = getattr(self, name)
            if value not in (None, {}):
                facts[name] = value
        return {**facts, **self.more}


@dataclass(frozen=True, kw_only=True)
class DatabaseFacts(_Group):
    """A running database's own account."""

    version: str | None = None
    # The version that the profile asks for.
    version_asked: str | None = None
    image: str | None = None
    # A program for tests plays the database.
    stand_in: bool | None = None
    # Whether commits are on the disk before they are answered, by the settings in `durability`.
    durable: bool | None = None
    # Those settings are the ones with which the database comes, or stricter.
    durability_as_released: bool | None = None
    durability: Mapping[str, Any] | None = None
    # The settings given at its start.
    settings: Mapping[str, Any] | None = None
    # Settings that decide how statements run (isolation, planner, background work), as read back.
    execution: Mapping[str, Any] | None = None
    # The facts that could not be read, and why.
    not_read: str | None = None
    # Leaders that were uneven when measuring began, or moved since, in words.
    leaders_moved: str | None = None
    # Table → its tablets, of tables that have fewer than the cluster has nodes.
    few_tablets: Mapping[str, Any] | None = None
    # The sign by which a connection pooler shows that it answers.
    pooler: str | None = None
    # The number of nodes that the servers report; the profile may name fewer hosts.
    nodes_known: int | None = None
    # These two are of one node.
    data_bytes: float | None = None
    cache_bytes: float | None = None
    # Counters since measuring began, by the names above.
    since_reset: Mapping[str, Any] = field(default_factory=dict)
    # The moment at which each checkpoint was complete (Unix seconds), if the database says so.
    checkpoints_s: Sequence[float] | None = None
    # These two are given where a copy is nothing but its bytes. The first is node → payload that it
    # has been given since its start. The second is how many bytes on a disk one of these takes.
    given_bytes: Mapping[str, Any] | None = None
    bytes_of_copy: float | None = None

    def counter(self, name: str) -> float | None:
        """A counter of `since_reset`; None if the database does not count that."""
        value: float | None = _value_of_type(float, self.since_reset.get(name))
        return value


# How a fact of several clients becomes one of all. "alike" keeps what all say, and else what each
# says by its name.
FactRule = Literal["sum", "maximum", "all true", "alike", "errors", "of one client"]


@dataclass(frozen=True)
class WeightedMean:
    """The rule of a mean or a share: the fact by which clients are weighted is `weight`."""

    weight: str


@dataclass(frozen=True, kw_only=True)
class GeneratorFacts(_Group):
    """Facts of a whole run from a load generator's raw files, beside its figures."""

    version: str | None = None
    # Transactions and failures that were recorded one by one.
    recorded_transactions: float | None = None
    recorded_failures: float | None = None
    # The generator's own total.
    sysbench_transactions: float | None = None
    # Transactions that were due and had not begun at the end.
    unstarted: float | None = None
    # Transactions at a rate or with think time whose thread was free and asleep until then, and
    # their delays. These are the generator's own, and in no latency.
    woke_late_transactions: float | None = None
    woke_late_avg_s: float | None = None
    woke_late_most_s: float | None = None
    arrival_rate_per_s: float | None = None
    # The share of that rate that was served.
    served_of_asked: float | None = None
    # Whether statements travelled together; None if the generator does not say.
    statements_batched: bool | None = None
    # The length of a warm-up without a fixed time, and whether throughput had become steady.
    warmup_s: float | None = None
    warmup_steady: bool | None = None
    # The moment when the last of its threads began, by the client's clock.
    began_s: float | None = None
    # Seconds from the start of the first of several clients to that of the last.
    start_skew_s: float | None = None
    # Bytes of the rows that one transaction carries. These are its `payload`: "written", "read" or
    # "sorted".
    bytes_per_transaction: float | None = None
    payload: str | None = None
    # Whether the window ended with the last of them.
    ends_with_work: bool | None = None
    # Windows of a generator that measures in several. Each has `start_s` and `end_s` (Unix
    # seconds), and all `read_bytes` and `written_bytes` that it counted between these.
    windows: Sequence[Mapping[str, float]] | None = None
    # Several clients by name, with what `run/several_clients.py` notes of each.
    clients: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class IdentityFacts(_Group):
    """What took part in a run and is not seen in a profile or workload. What could not be read is
    absent."""

    # Hash of the generator's scripts.
    scripts: str | None = None
    # Role of a container ("database", "client", "disk") → first digits of its image's id.
    images: Mapping[str, Any] = field(default_factory=dict)
    # Node → kind and mount options of the file system on its disk.
    file_systems: Mapping[str, Any] = field(default_factory=dict)
    # Node → the cloud's name for the kind of its machine, as Kubernetes has it.
    machine_types: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WaitFacts(_Group):
    """What YugabyteDB's servers sampled themselves of what sessions waited for in the window."""

    # Why it could not be read.
    not_read: str | None = None
    # Each has its `component`, `event`, `type` and `share_pct`.
    events: Sequence[Mapping[str, Any]] | None = None
    # The share of their working time in which sessions waited for locks.
    locked_pct: float | None = None
    # What of the window the servers still had at its end; None: all.
    covered_s: float | None = None
    window_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class TierFacts(_Group):
    """What a tier's mechanism noted of its disks."""

    # The CSI driver of its volumes.
    provisioner: str | None = None
    # Place of a disk → what is there.
    disks: Mapping[str, Any] = field(default_factory=dict)
    # Emulated disk → way → the overhead at its start, without load.
    overhead_us: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CloudFacts(_Group):
    """What a cloud's metadata service said of a tier's disks and machines."""

    # Sizes of the machines. Earlier programs kept them in one text alone, which is `machine`.
    machines: Sequence[str] | None = None
    machine: str | None = None
    # Place of a disk → device → what was said of it.
    disks: Mapping[str, Any] = field(default_factory=dict)
    # From the profile, in words.
    differences: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class RestoredFacts(_Group):
    """How data that were loaded before came to the disks of a run."""

    way: str | None = None
    # Whether the disks rested afterwards; None: not known.
    quiet: bool | None = None


@dataclass(frozen=True, kw_only=True)
class BucketFacts(_Group):
    """What is known of a credit bucket of a disk when the window began, in % of a full one."""

    state: str | None = None  # a `CreditState`
    least_pct: float = 0.0
    most_pct: float = 100.0


@dataclass(frozen=True, kw_only=True)
class ServedDiskFacts(_Group):
    """What the server of an emulated disk counted of the window."""

    # The share of requests for which the host itself was slower than the tier.
    over_pct: float | None = None
    # By how much threads that answer for the disk woke too late, on average.
    late_s: float | None = None
    # The server's account at the window's begin and end.
    begin: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=dict)
    # Way → how much longer requests took for the kernel than for the disk.
    overhead: Mapping[str, Any] = field(default_factory=dict)

    def counts(self, way: str) -> Mapping[str, Any]:
        """What the kernel counted and the disk served of "read" or "write"; empty if it was not
        held against each other."""
        return group(self.more, way)


@dataclass(frozen=True, kw_only=True)
class GateFacts(_Group):
    """What a truth gate noted beside its figures, of one disk or of several."""

    # How busy the machine was at the worst, and `over_pct`, `late_s` as of `ServedDiskFacts`.
    host_cpu_pct: float | None = None
    over_pct: float | None = None
    late_s: float | None = None
    # What of the disk's latency was not held, in words.
    latency: str | None = None
    # "shows": a cache of the host answers reads.
    host_cache: str | None = None
    machine: str | None = None
    device: str | None = None
    # Quantity → when it was measured (Unix seconds).
    checked_s: Mapping[str, Any] = field(default_factory=dict)
    # Place of a disk → its facts, of a gate of several.
    disks: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFacts:
    """The groups of a record's facts that are read by attribute."""

    # What the database said of itself after the run, and just before its warm-up.
    database: DatabaseFacts
    database_before: DatabaseFacts
    generator: GeneratorFacts
    # Records of older versions have nothing of it.
    identity: IdentityFacts
    waits: WaitFacts
    tier: TierFacts
    cloud: CloudFacts
    restored: RestoredFacts
    # Emulated disk → what its server counted.
    disks: Mapping[str, ServedDiskFacts]
    # Node of a real disk with burst credit → "IOPS" or "bytes".
    burst_credit: Mapping[str, Mapping[str, BucketFacts]]

    @classmethod
    def read(cls, recorded: Mapping[str, Any]) -> Self:
        credit: dict[str, dict[str, BucketFacts]] = {}
        for node, buckets in group(recorded, "burst_credit").items():
            credit[node] = BucketFacts.read_each(buckets)
        return cls(
            database=DatabaseFacts.read(recorded.get("database")),
            database_before=DatabaseFacts.read(recorded.get("database_before")),
            generator=GeneratorFacts.read(recorded.get("generator")),
            identity=IdentityFacts.read(recorded.get("identity")),
            waits=WaitFacts.read(recorded.get("waits")),
            tier=TierFacts.read(recorded.get("tier")),
            cloud=CloudFacts.read(group(recorded, "tier", "cloud")),
            restored=RestoredFacts.read(group(recorded, "tier", "restored")),
            disks=ServedDiskFacts.read_each(recorded.get("disks")),
            burst_credit=credit,
        )


@dataclass(frozen=True, kw_only=True)
class ExtensionFacts(_Group):
    """An extension that took part in a run, and the distribution that brought it.

    `has_doubts`: the extension has doubts of its own. Without the extension the run is
    then not judged.
    """

    distribution: str | None = None
    version: str | None = None
    has_doubts: bool | None = None
