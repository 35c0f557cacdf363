"""The nouns: frozen records that all other modules use. A disk tier has its own module, `tier`.

Units stand last in a name and are base units: `_s` seconds, `_bytes`, `_bytes_per_s`, `_pct`
percent of 100. Times of day are Unix seconds (float). A field that may be absent is None, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from orchestrator.errors import planned
from orchestrator.facts import (
    DoubtEffect,
    NoteKind,
    Pause,
    PhaseName,
    RunFacts,
    TlsMode,
    Varied,
)
from orchestrator.plan_parts import NO_FURTHER_CHECKS, DiskChecks, Judging, Repeats
from orchestrator.texts import foreign_text, prose
from orchestrator.tier import Gate, Price, Tier
from orchestrator.tier.slow_disk import SlowDisk

ClientPlace = Literal["outside", "beside"]
Stage = Literal["nothing", "disk", "network", "commit"]
Direction = Literal["higher", "lower", "none"]
Outcome = Literal["done", "failed", "interrupted"]
RESULTS_FORMAT = 3  # the `schema_version` of plan.json, record.json and verdict.json
STORE = "store"  # the member for files of others by a URL; no name for --db

# ------------------------------------------------------------------ what a person declares


@dataclass(frozen=True)
class NodeSize:
    """Resources of one database node; its disk is `disk_bytes` on the tier."""

    cpus: float
    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class ClusterSpec:
    """A profile's database cluster at one scale. `…_of`: by database, until one is chosen."""

    database: str
    nodes: int
    replication_factor: int
    node: NodeSize | None  # None: others run it, and its size was not declared
    version: str | None = None
    port: int | None = None
    vm: str | None = None
    vm_price: Price | None = None  # the price of one machine
    settings: Mapping[str, str] = field(default_factory=dict)
    node_of: Mapping[str, NodeSize] = field(default_factory=dict)
    settings_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    version_of: Mapping[str, str] = field(default_factory=dict)
    # Facts that were declared of others' cluster.
    existing: Mapping[str, str] = field(default_factory=dict)
    clients: int = 1  # containers that carry its load together
    client: ClientPlace = "outside"  # "beside": with the first node
    # Bandwidth of the link of each node and client; None: its own.
    network_bytes_per_s: int | None = None
    without: Stage = "nothing"  # the part taken away, to see whether it was the limit
    # The profile's nodes, where another number is started; None: `nodes` are the profile's.
    profile_nodes: int | None = None

    @property
    def member(self) -> str:
        """The database that reaches it: of clusters that others run, a store of files has a URL."""
        if "url" in self.existing:
            return STORE
        return self.database

    @property
    def nodes_to_buy(self) -> int:
        """For how many nodes disks are bought.

        These are the profile's nodes, even if a small machine starts fewer. If more were asked for,
        they are those that are started.
        """
        return max(self.nodes, self.profile_nodes or 0)

    @property
    def size(self) -> NodeSize:
        """What a node that is started here gets. ValueError if no size was declared."""
        if self.node is None:
            raise ValueError(
                f"the nodes of this cluster ({self.database}) have no declared size"
            )
        return self.node


@dataclass(frozen=True)
class Placing:
    """Which machines run what: of Kubernetes, in its terms, or of engines."""

    # None: the current one.
    context: str | None = None
    # None: one of the campaign's own.
    namespace: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    client_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    # None named: any.
    zones: tuple[str, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    # The engine of each node.
    machines: tuple[str, ...] = ()
    # The engine of the clients; None: the environment's.
    client_machine: str | None = None


@dataclass(frozen=True)
class Profile:
    """A disk tier bound to a cluster: one column of a comparison. `question` is what it asks.
    `platform`: where its containers run, if it says so, and `placing`: which machines of it."""

    name: str
    question: str
    tier: Tier
    cluster: ClusterSpec
    platform: str | None = None
    placing: Placing | None = None
    # Tiers by the value of a factor.
    tier_of: Mapping[str, Tier] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """What a load generator loads. Workloads naming an equal data set share one loaded copy.

    like: the family of ours whose tables and types of transactions an extension's data set has.
    """

    family: str
    parameters: Mapping[str, int | float | str]
    # Earlier records of the same data do not have it.
    like: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Objective:
    """One clause of an SLO, in base units: latency at most `limit`, a rate at least."""

    metric: str
    scope: str
    limit: float


@dataclass(frozen=True)
class Workload:
    """Load generator, script, scale, concurrency and times; read from `workloads/*.yaml`."""

    name: str
    title: str
    generator: str
    script: str
    dataset: Dataset
    scale: str
    threads: int
    loader_threads: int
    warmup_s: float
    measure_s: float
    statements_per_transaction: int | None = None
    options: Mapping[str, int | float | str] = field(default_factory=dict)
    # The database on which it runs instead of the profile's; `none` if it measures the disk alone.
    database: str | None = None
    # Objectives that a tier must be proven to reach.
    slo: tuple[Objective, ...] = ()
    # The value of a factor, or its load, where one was set.
    varied: Varied | None = None
    # The longest warm-up until throughput is steady; `warmup_s` is then the least.
    warmup_most_s: float | None = None
    # Whether it changes data.
    writes: bool = True
    # Seconds for which limits are changed behind the window.
    confirm_s: float = 0.0
    # Whether caches are filled before it.
    warm: bool = True
    # Whether it goes on behind the window until the disks are quiet.
    settle: bool = False
    # Seconds from the window's begin to the loss of the last node, to be rebuilt. None: none is
    # lost.
    lost_after_s: float | None = None
    # Disks that are slow for a time of the window.
    slow: tuple[SlowDisk, ...] = ()

    @property
    def thinks(self) -> bool:
        """Whether terminals key in and think between transactions."""
        return self.options.get("think") == "spec"


# ------------------------------------------------------------------ what is planned


@dataclass(frozen=True)
class Run:
    """One execution of a cell (profile × workload); `repetition` counts from 1."""

    number: int
    profile: str
    workload: str
    repetition: int

    @property
    def slug(self) -> str:
        """Folder name of the run: `03-ultra-tpcc-r1`."""
        return (
            f"{self.number:02d}-{foreign_text.shortened(self.profile, 90)}"
            f"-{foreign_text.shortened(self.workload, 90)}-r{self.repetition}"
        )


@dataclass(frozen=True)
class Note:
    """A difference of the runs from what was declared or asked for.

    `lead`: what a plan shows of it; empty where that is all of `text`.
    """

    kind: NoteKind
    text: str
    profile: str | None = None
    lead: str = ""

    @property
    def in_short(self) -> str:
        """What a plan shows."""
        return self.lead or self.text

    def __str__(self) -> str:
        return prose.attributed(self.text, self.profile)


@dataclass(frozen=True)
class Plan:
    """Everything decided before anything starts. Files have its parts on one level
    (`planning/stored_plan.py`)."""

    name: str
    scale: str
    baseline: str
    repeats: Repeats
    judging: Judging
    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    runs: tuple[Run, ...]
    # The least time that all takes; `most_s` is the most.
    estimate_s: float
    notes: tuple[Note, ...] = ()
    disk_checks: DiskChecks = NO_FURTHER_CHECKS
    # A share of the slowest tier's capacity: the rate at which all tiers follow.
    latency_at_pct: float | None = None
    # The baseline's name when it is measured a second time.
    twin: str | None = None
    # Keys of workloads, over their files'.
    overrides: tuple[str, ...] = ()
    # "" in plans of earlier releases.
    platform: str = ""
    most_s: float | None = None
    # Measured once on each tier, and judged by nothing.
    probes: tuple[Workload, ...] = ()
    # Pauses between the parts of a campaign that was resumed.
    pauses: tuple[Pause, ...] = ()
    # The most that all parts may cost together, as `5 USD`; "" for any amount.
    max_cost: str = ""
    # The SHA-256 of the command that follows; "" for none.
    on_end: str = ""
    schema_version: int = RESULTS_FORMAT

    @property
    def placing(self) -> Placing | None:
        """The placing that all its profiles have."""
        for profile in self.profiles:
            if profile.placing:
                return profile.placing
        return None

    @property
    def tiers(self) -> tuple[Profile, ...]:
        """The profiles that are compared and decided on: all but the twin."""
        return tuple(profile for profile in self.profiles if profile.name != self.twin)

    @property
    def measured(self) -> tuple[Workload, ...]:
        """Its workloads, and behind them the probes."""
        return (*self.workloads, *self.probes)

    def profile(self, name: str) -> Profile:
        return planned("profile", name, self.profiles)

    def workload(self, name: str) -> Workload:
        return planned("workload", name, self.measured)


# ------------------------------------------------------------------ what runs, and what it leaves

CLIENT = "client"  # the name of a run's only client; of several: "client-1", …


Role = Literal["database", "coordinator", "client", "disk", "host"]


@dataclass(frozen=True)
class Node:
    """One container (or machine) that is watched."""

    name: str
    # A "coordinator" holds none of the data.
    role: Role
    container: str | None = None
    process_id: int | None = None
    # The device's name in /proc/diskstats, if it has one.
    device: str | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    # Sources of counters over HTTP → their base URL; as DISK_DEVICE, the device of its data; as
    # DISK_ACCOUNT, the file on its machine in which an emulated disk counts.
    sources: Mapping[str, str] = field(default_factory=dict)
    container_id: str | None = None
    # The device of its WAL, if that is another one.
    wal_device: str | None = None
    # "": not known.
    machine: str = ""
    # Card of its network → bytes/s; 0: not known.
    cards: Mapping[str, float] = field(default_factory=dict)

    @property
    def container_name(self) -> str:
        return self.container or self.name


@dataclass(frozen=True)
class Volume:
    """One node's disk.

    `wal`, `wal_device`, `wal_server`: name, device and server of the node's second disk, for its
    WAL; "" and None if it has none.
    """

    # A volume, or a path on the host.
    name: str
    # The block device on the host; "" if it has none of its own.
    device: str
    restored: bool
    # The container that serves it, if any.
    server: Node | None = None
    # Whether later runs start from it, so that its database is stopped cleanly.
    kept: bool = True
    wal: str = ""
    wal_device: str = ""
    # The placement of the containers that use it, where it is not on any machine.
    placement: str = ""
    # The rate that its tier declares; None if nothing.
    bytes_per_s: int | None = None
    wal_server: Node | None = None


@dataclass(frozen=True)
class Tls:
    """How sessions are encrypted. All names are of files on this machine."""

    # The mode as libpq's sslmode has it, whose "disable" is "off".
    mode: TlsMode = "prefer"
    # The authority that must have signed the server's certificate.
    root: str | None = None
    # The client's own.
    certificate: str | None = None
    key: str | None = None


TLS_IF_OFFERED = Tls()


@dataclass(frozen=True)
class Endpoint:
    """Where SQL is spoken, as seen from the client; `local_…`: as seen from here."""

    host: str
    port: int
    local_port: int
    user: str
    password: str = field(repr=False)
    database: str
    local_host: str = "127.0.0.1"
    tls: Tls = TLS_IF_OFFERED
    # The database in which its owner asks what the server does, if that is not `database`.
    maintenance_database: str = ""


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    database: str
    version: str
    nodes: tuple[Node, ...]
    # One for each node that takes SQL.
    endpoints: tuple[Endpoint, ...]
    network: str
    # The database's notes on the cluster for later calls, which its generators read too.
    handle: Any = field(default=None, repr=False, compare=False)
    # Whether its planner gains if loads analyze.
    analyze: bool = True

    @property
    def tls(self) -> Tls:
        """The TLS settings of all its endpoints; the default if it has none."""
        if self.endpoints:
            return self.endpoints[0].tls
        return TLS_IF_OFFERED


@dataclass(frozen=True)
class Phase:
    name: PhaseName
    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Sample:
    """One reading of a collector. Metrics ending in `_total` are counters; others are gauges."""

    time_s: float
    node: str
    metric: str
    unit: str
    value: float


@dataclass(frozen=True)
class Measurement:
    """One figure of one run. `scope` is "all" or a transaction type such as "new_order"."""

    metric: str
    unit: str
    direction: Direction
    value: float
    scope: str = "all"


@dataclass(frozen=True)
class Doubt:
    """A reason to distrust a number, with what to do about it and what it does to a verdict."""

    # An open name: another version or an extension may have raised it. Rules go by
    # `facts.known_doubt_kind`, which a type checker knows.
    kind: str
    text: str
    advice: str
    # The number of the run; None of a doubt about the campaign.
    run: int | None = None
    # The effect of a doubt that does not say it is the strictest: unknown doubts must not pass.
    effect: DoubtEffect = "excludes"
    # The profile that a doubt about the campaign is about, if it is about one.
    profile: str | None = None

    def __str__(self) -> str:
        return prose.attributed(self.text, self.profile)


@dataclass(frozen=True)
class Record:
    """All that one run left, except the bulky tables and raw files beside it."""

    schema_version: int
    run: Run
    profile: Profile
    workload: Workload
    outcome: Outcome
    failure: str | None
    phases: tuple[Phase, ...]
    nodes: tuple[Node, ...]
    measurements: tuple[Measurement, ...]
    gate: Gate | None
    facts: Mapping[str, Any]
    doubts: tuple[Doubt, ...] = ()

    def phase(self, name: PhaseName) -> Phase | None:
        for phase in self.phases:
            if phase.name == name:
                return phase
        return None

    @cached_property
    def read_facts(self) -> RunFacts:
        """Groups of `facts`, read once: checks and comparisons ask for them many times."""
        return RunFacts.read(self.facts)
