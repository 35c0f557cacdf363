"""The nouns: frozen records that all other modules use. A disk tier has its own module, `tier`.

Units stand last in a name and are base units: `_s` seconds, `_bytes`, `_bytes_per_s`, `_pct`
percent of 100. Times of day are Unix seconds (float). A field that may be absent is None, never 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.facts import DoubtEffect, NoteKind, Pause, PhaseName, Varied
from orchestrator.tier import Gate, Price, Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.units import shortened

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
    vm_price: Price | None = None  # of one machine
    settings: Mapping[str, str] = field(default_factory=dict)
    node_of: Mapping[str, NodeSize] = field(default_factory=dict)
    settings_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    version_of: Mapping[str, str] = field(default_factory=dict)
    # What was declared of others' cluster.
    existing: Mapping[str, str] = field(default_factory=dict)
    clients: int = 1  # containers that carry its load together
    client: ClientPlace = "outside"  # beside: with the first node
    # Of the link of each node and client; None: its own.
    network_bytes_per_s: int | None = None
    without: Stage = "nothing"  # what was taken away, to see whether it was the limit
    # As the profile has them, where another number is started; None: `nodes` are the profile's.
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
    """Which machines run what. Of Kubernetes, in its terms: `context` None for the current one,
    `namespace` None for one of the campaign's own, no `zones` for any. Of engines: that of each
    node; the clients', None for the environment's."""

    context: str | None = None
    namespace: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    client_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    zones: tuple[str, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
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
    # By the value of a factor.
    tier_of: Mapping[str, Tier] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """What a load generator loads. Workloads naming an equal data set share one loaded copy."""

    family: str
    parameters: Mapping[str, int | float | str]


@dataclass(frozen=True)
class Objective:
    """One clause of an SLO, in base units: latency at most `limit`, a rate at least."""

    metric: str
    scope: str
    limit: float


@dataclass(frozen=True)
class Workload:
    """Load generator, script, scale, concurrency and times; read from `workloads/*.yaml`.

    `database`: what it runs on instead of the profile's; `none` if it measures the disk alone.
    `slo`: what a tier must be proven to reach. `varied`: the value of a factor, or its load,
    where one was set. `writes`: whether it changes data.

    Before the window: `warm`: whether caches are filled; `warmup_most_s`: how long a warm-up
    until throughput is steady lasts at most, `warmup_s` at least.

    In it: `lost_after_s`: how long after its begin the last node is lost, to be rebuilt; None:
    none is. `slow`: disks that are slow for a time.

    Behind it: `confirm_s`: for how long limits are changed; `settle`: whether it goes on until the
    disks are quiet.
    """

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
    database: str | None = None
    slo: tuple[Objective, ...] = ()
    varied: Varied | None = None
    warmup_most_s: float | None = None
    writes: bool = True
    confirm_s: float = 0.0
    warm: bool = True
    settle: bool = False
    lost_after_s: float | None = None
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
        profile = shortened(self.profile, 90)
        workload = shortened(self.workload, 90)
        return f"{self.number:02d}-{profile}-{workload}-r{self.repetition}"


@dataclass(frozen=True)
class Note:
    """A difference of the runs from what was declared or asked for."""

    kind: NoteKind
    text: str
    profile: str | None = None

    def __str__(self) -> str:
        if self.profile:
            return f"{self.profile}: {self.text}"
        return self.text


@dataclass(frozen=True)
class Plan:
    """Everything decided before anything starts.

    Disks: `gate_every`: runs after which real ones are checked again; `drain`: their burst credit
    is used up before.

    Runs: `twin`: the baseline's name when it is measured a second time; `retry_failed`: how often
    a failed run is repeated; `looks`: if it grows until decided, repetitions → the share of the
    usual chance of error; `estimate_s`, `most_s`: how long all takes, least and most.

    Loads: `overrides`: keys of workloads, over their files'; `latency_at_pct`: of the slowest
    tier's capacity, at which all follow.

    Parts: `pauses` lie between them; in all of them together no more than `max_cost` may be spent,
    as `5 USD`; `on_end`: the SHA-256 of the command that follows. "" for none.

    Words: `question`: what is asked, in one sentence, for people; "" if nobody said.

    `platform`: "" if old.
    """

    name: str
    seed: int
    scale: str
    baseline: str
    repetitions: int
    margin_pct: float
    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    runs: tuple[Run, ...]
    estimate_s: float
    notes: tuple[Note, ...] = ()
    gate_every: int | None = None
    drain: bool = False
    latency_at_pct: float | None = None
    looks: Mapping[int, float] = field(default_factory=dict)
    twin: str | None = None
    overrides: tuple[str, ...] = ()
    platform: str = ""
    most_s: float | None = None
    p99_margin_pct: float = 20.0
    retry_failed: int = 0
    # Of workloads, for the one answer.
    weights: Mapping[str, float] = field(default_factory=dict)
    # Measured once on each tier, and judged by nothing.
    probes: tuple[Workload, ...] = ()
    pauses: tuple[Pause, ...] = ()
    max_cost: str = ""
    on_end: str = ""
    question: str = ""
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
        return next(profile for profile in self.profiles if profile.name == name)

    def workload(self, name: str) -> Workload:
        return next(workload for workload in self.measured if workload.name == name)


# ------------------------------------------------------------------ what runs, and what it leaves

CLIENT = "client"  # the name of a run's only client; of several: "client-1", …
NODE_EXPORTER = "node-exporter"
DISK_DEVICE = "disk-device"
PRESSURE = "node-exporter-pressure"


@dataclass(frozen=True)
class Node:
    """One container (or machine) that is watched, on `machine` ("": not known); a "coordinator"
    holds none of the data.

    `device` as in /proc/diskstats, if it has one; `wal_device`: the one of its WAL, if that is
    another. `sources`: what serves counters over HTTP → its base URL, and, as DISK_DEVICE, the
    device of its data. `cards`: of its network → bytes/s, 0: not known.
    """

    name: str
    role: Literal["database", "coordinator", "client", "disk", "host"]
    container: str | None = None
    process_id: int | None = None
    device: str | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    container_id: str | None = None
    wal_device: str | None = None
    machine: str = ""
    cards: Mapping[str, float] = field(default_factory=dict)

    @property
    def container_name(self) -> str:
        return self.container or self.name


def sources(nodes: Iterable[Node], name: str) -> dict[str, str]:
    """Node → the entry `name` of its `sources`, of the nodes that have one."""
    return {node.name: node.sources[name] for node in nodes if name in node.sources}


@dataclass(frozen=True)
class Volume:
    """One node's disk: volume or host path, block device on the host ("" if none of its own),
    and the container that serves it, if any.

    `kept`: the disk is kept to start from, so its database is stopped cleanly. `wal`, `wal_device`,
    `wal_server`: the same of the node's second disk, for its WAL; "" and None if it has none.
    `placement`: that of the containers which use it, where it is not on any machine.
    `bytes_per_s`: what its tier declares, None if nothing.
    """

    name: str
    device: str
    restored: bool
    server: Node | None = None
    kept: bool = True
    wal: str = ""
    wal_device: str = ""
    placement: str = ""
    bytes_per_s: int | None = None
    wal_server: Node | None = None


TlsMode = Literal["verify-full", "verify-ca", "require", "prefer", "off"]


@dataclass(frozen=True)
class Tls:
    """How sessions are encrypted; modes as libpq's sslmode, whose "disable" is "off". `root`: the
    authority that must have signed the server's certificate; `certificate` and `key`: the client's
    own. All are files on this machine."""

    mode: TlsMode = "prefer"
    root: str | None = None
    certificate: str | None = None
    key: str | None = None


TLS_IF_OFFERED = Tls()


@dataclass(frozen=True)
class Endpoint:
    """Where SQL is spoken: `host` and `port` as seen from the client, `local_…` as seen from here.

    `maintenance_database`: where its owner asks what the server does, if that is not `database`.
    """

    host: str
    port: int
    local_port: int
    user: str
    password: str = field(repr=False)
    database: str
    local_host: str = "127.0.0.1"
    tls: Tls = TLS_IF_OFFERED
    maintenance_database: str = ""


@dataclass(frozen=True)
class Cluster:
    """A running cluster: its nodes, where to connect (one endpoint per node that takes SQL).
    `handle` is its database's own, and its generators'. `analyze`: whether its planner gains if
    loads analyze."""

    database: str
    version: str
    nodes: tuple[Node, ...]
    endpoints: tuple[Endpoint, ...]
    network: str
    handle: Any = field(default=None, repr=False, compare=False)
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
    """A reason to distrust a number, with what to do about it and what it does to a verdict.

    `kind`: a `facts.DoubtKind`, unless another version or an extension raised it. `run`: its
    number; None of a doubt about the campaign. `effect`: of a doubt that does not say it,
    the strictest, because what is not understood must not pass.
    """

    kind: str
    text: str
    advice: str
    run: int | None = None
    effect: DoubtEffect = "excludes"


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
