"""What was seen of a node while a run was measured: the evidence for what limited it. Pure.

It is a record of several, one for each thing that was looked at; each says which module makes it.
Units end a name: `_pct` is percent of 100, `_s` seconds, `_per_s` a second. A value that was not
sampled is None, never 0, so each rule says what it takes the unknown for.

Names are the same here, in verdict.json and on a page, so that a figure is found by its name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

CapName = Literal["iops", "bandwidth"]
CAPS: tuple[CapName, ...] = ("iops", "bandwidth")


# ------------------------------------------------------------------ its disk


def _of_cap(cap: CapName, iops: float | None, bandwidth: float | None) -> float | None:
    """The one of two values that is of that cap."""
    if cap == "iops":
        return iops
    return bandwidth


@dataclass(frozen=True)
class CapUse:
    """A node's disks against the caps of their tiers. `disk_cap_use` makes it.

    "Of cap" is the median second, of the cap in force (the mean where figures were published).
    "Time at" is the share of the seconds within 5 % of it.
    """

    iops_of_cap_pct: float | None = None
    time_at_iops_cap_pct: float | None = None
    bandwidth_of_cap_pct: float | None = None
    time_at_bandwidth_cap_pct: float | None = None
    # Burst credit at the end, of a full bucket; time above the base rate, on such credit.
    burst_credit_left_pct: float | None = None
    time_above_base_pct: float | None = None
    # Mean IOPS before and after credit ran out.
    iops_before_fall: float | None = None
    iops_after_fall: float | None = None
    # Time for which an emulated disk's limits kept I/Os, of all their time.
    held_back_pct: float | None = None
    # Share of seconds in which limits held I/Os back, by the disk's own count, emulated or EBS.
    time_held_back_pct: float | None = None
    # The WAL's own disk, of its tier's caps.
    wal_iops_of_cap_pct: float | None = None
    wal_bandwidth_of_cap_pct: float | None = None
    # The disks of its data and its log together, of what their machine lets through.
    machine_iops_of_cap_pct: float | None = None
    time_at_machine_iops_cap_pct: float | None = None
    machine_bandwidth_of_cap_pct: float | None = None
    time_at_machine_bandwidth_cap_pct: float | None = None

    def of_cap_pct(self, cap: CapName) -> float | None:
        """How much of this cap of its own disk a node used."""
        return _of_cap(cap, self.iops_of_cap_pct, self.bandwidth_of_cap_pct)

    def time_at_cap_pct(self, cap: CapName) -> float | None:
        return _of_cap(cap, self.time_at_iops_cap_pct, self.time_at_bandwidth_cap_pct)

    def of_machine_pct(self, cap: CapName) -> float | None:
        """How much of its machine's cap both disks of a node used."""
        return _of_cap(
            cap, self.machine_iops_of_cap_pct, self.machine_bandwidth_of_cap_pct
        )

    def time_at_machine_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap,
            self.time_at_machine_iops_cap_pct,
            self.time_at_machine_bandwidth_cap_pct,
        )


@dataclass(frozen=True)
class DiskUse:
    """What the node's disk did, the whole of it even if several nodes are on it. `node_use` makes
    it of `rates.DiskRates`."""

    # I/Os that ended, and bytes.
    disk_iops: float | None = None
    disk_read_iops: float | None = None
    disk_bytes_per_s: float | None = None
    disk_read_bytes_per_s: float | None = None
    # Mean time of an I/O, and of a read, waiting included.
    disk_await_s: float | None = None
    disk_read_await_s: float | None = None
    # Mean size of an I/O.
    io_size_bytes: float | None = None
    # Time of an I/O of this mix on the idle disk.
    idle_disk_latency_s: float | None = None
    # Mean number of I/Os in flight; share of time with one in flight.
    disk_queue_depth: float | None = None
    disk_busy_pct: float | None = None


@dataclass(frozen=True)
class VolumeCount:
    """An EBS volume's own count: share of time in which demand was above a limit of the volume or
    its machine (the instance). `node_use` makes it of `rates.LimitShares`."""

    volume_iops_exceeded_pct: float | None = None
    volume_bandwidth_exceeded_pct: float | None = None
    instance_iops_exceeded_pct: float | None = None
    instance_bandwidth_exceeded_pct: float | None = None

    def volume_exceeded_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap, self.volume_iops_exceeded_pct, self.volume_bandwidth_exceeded_pct
        )

    def instance_exceeded_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap, self.instance_iops_exceeded_pct, self.instance_bandwidth_exceeded_pct
        )


@dataclass(frozen=True)
class ProviderReport:
    """What a provider reports of minutes: share of time in minutes in which a limit of the disk or
    of its machine was reached. `node_use` makes it of `rates.ReachedShares`."""

    # Of disks that are striped to one: of that which was at its limit for longest.
    disk_iops_limit_reached_pct: float | None = None
    disk_bandwidth_limit_reached_pct: float | None = None
    # The WAL's own disk.
    wal_iops_limit_reached_pct: float | None = None
    wal_bandwidth_limit_reached_pct: float | None = None
    # One machine for all disks of a node.
    machine_iops_limit_reached_pct: float | None = None
    machine_bandwidth_limit_reached_pct: float | None = None

    def of_disk_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap, self.disk_iops_limit_reached_pct, self.disk_bandwidth_limit_reached_pct
        )

    def of_wal_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap, self.wal_iops_limit_reached_pct, self.wal_bandwidth_limit_reached_pct
        )

    def of_machine_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap,
            self.machine_iops_limit_reached_pct,
            self.machine_bandwidth_limit_reached_pct,
        )


@dataclass(frozen=True)
class LimitReach:
    """For which share of time limits of a disk and of its machine were reached, and who says so:
    the volume counts its time, the provider reports of minutes."""

    disk_pct: float | None
    machine_pct: float | None
    source: Literal["volume", "provider"]


@dataclass(frozen=True)
class SharedUse:
    """All disks together, of the limit that they share, mean. `node_use` makes it."""

    shared_iops_of_cap_pct: float | None = None
    shared_bandwidth_of_cap_pct: float | None = None

    def of_cap_pct(self, cap: CapName) -> float | None:
        return _of_cap(
            cap, self.shared_iops_of_cap_pct, self.shared_bandwidth_of_cap_pct
        )


# ------------------------------------------------------------------ its CPU and network


@dataclass(frozen=True)
class NodeCpuUse:
    """CPU of the node. `machine_cpu` makes it; `node_use` adds its seconds and its container."""

    # Of its limit; share of seconds with 85 % or more of that.
    cpu_pct: float | None = None
    time_at_cpu_pct: float | None = None
    # Share of periods in which the node used up its CPU quota.
    throttled_pct: float | None = None
    # Cores that the node used.
    node_cores: float | None = None


@dataclass(frozen=True)
class LinkUse:
    """How full a node's link was. `network_links` makes it."""

    # Bytes/s of the link's rate, the busier way, median second; share of seconds with 90 % or more
    # of that; the rate, if the node's cards report it and nobody declared it.
    network_of_rate_pct: float | None = None
    time_at_network_rate_pct: float | None = None
    network_cards_bytes_per_s: float | None = None
    # Rate to or from a store of others, median second; share of seconds within 10 % of that.
    way_bytes_per_s: float | None = None
    time_at_way_pct: float | None = None


@dataclass(frozen=True)
class TrafficCount:
    """What went over the node's link. `node_use` makes it of `rates.ContainerRates`."""

    network_sent_bytes_per_s: float | None = None
    network_received_bytes_per_s: float | None = None
    # Packets as the kernel counts them; segments of TCP sent again.
    network_packets_per_s: float | None = None
    sent_again_pct: float | None = None


# ------------------------------------------------------------------ what is around it


@dataclass(frozen=True)
class HostUse:
    """The machine that the node is on. `machine_cpu` makes it."""

    # Its busiest core, median second.
    busiest_core_pct: float | None = None
    # Share of time in which its tasks waited for memory.
    memory_pressure_pct: float | None = None
    # CPU of the programs that serve emulated disks, and of all.
    disk_server_cpu_pct: float | None = None
    host_cpu_pct: float | None = None
    # Not in the latter: CPU that work of low priority used, that its own host gave to others, and
    # that none of the above used.
    low_priority_pct: float | None = None
    steal_pct: float | None = None
    other_cpu_pct: float | None = None


@dataclass(frozen=True)
class ClientUse:
    """The busiest load generator. `machine_cpu` makes it."""

    # CPU, of what it may use; cores that it used; busiest core of its machine, median second.
    client_cpu_pct: float | None = None
    client_cores: float | None = None
    client_core_pct: float | None = None
    # CPU of its machine, if that is another than the node's.
    client_machine_cpu_pct: float | None = None


@dataclass(frozen=True)
class LoadUse:
    """What a load asked for and its sessions waited for. `load_and_sessions` makes it."""

    # New-Orders a minute of what think time allows.
    nopm_of_ceiling_pct: float | None = None
    # Transactions that ended, of those that were due.
    rate_served_pct: float | None = None
    # Retries and failures, of transactions tried.
    retried_pct: float | None = None
    # Sessions that were seen, without idle ones if the load has a pace of its own.
    sessions: float | None = None
    # Shares of those sessions: they waited for the load generator or the way to it; used CPU or
    # waited for it; were in I/O of data files; waited for the log, or for standbys; for locks of
    # others; for something else.
    seen_idle_pct: float | None = None
    seen_running_pct: float | None = None
    seen_reading_pct: float | None = None
    seen_syncing_pct: float | None = None
    seen_locked_pct: float | None = None
    seen_otherwise_pct: float | None = None
    # Counted by the database: share of their time that sessions wait for reads; share of time with
    # a log sync that commits wait for; the same of a log on its own disk; with one that no commit
    # waits for.
    sessions_reading_pct: float | None = None
    log_syncing_pct: float | None = None
    wal_disk_syncing_pct: float | None = None
    background_log_syncing_pct: float | None = None


@dataclass(frozen=True)
class RequestUse:
    """Requests of YugabyteDB's servers. `node_use` makes it of `rates.ServerRates`."""

    # Mean time of a request in the tablet server's queue; of a statement.
    request_queued_avg_s: float | None = None
    statement_avg_s: float | None = None
    # Requests refused for a full queue, too late, or want of memory.
    requests_refused_per_s: float | None = None
    # Writes refused because too many data files wait for merging.
    write_rejections_per_s: float | None = None


# ------------------------------------------------------------------ all of it


@dataclass(frozen=True)
class Evidence:
    """Values of one database node, of its machine and of its load. `node_use` makes it."""

    caps: CapUse = field(default_factory=CapUse)
    disk: DiskUse = field(default_factory=DiskUse)
    volume: VolumeCount = field(default_factory=VolumeCount)
    report: ProviderReport = field(default_factory=ProviderReport)
    cpu: NodeCpuUse = field(default_factory=NodeCpuUse)
    link: LinkUse = field(default_factory=LinkUse)
    traffic: TrafficCount = field(default_factory=TrafficCount)
    host: HostUse = field(default_factory=HostUse)
    client: ClientUse = field(default_factory=ClientUse)
    load: LoadUse = field(default_factory=LoadUse)
    requests: RequestUse = field(default_factory=RequestUse)
    shared: SharedUse = field(default_factory=SharedUse)

    def counted_pct(self, cap: CapName) -> float | None:
        """For which share of time a disk's limits held it back, by its own count: an emulated
        disk's of I/Os' time, and of both caps; an EBS volume's of the window. None: no count."""
        if self.caps.held_back_pct is not None:
            return self.caps.held_back_pct
        volume_pct = self.volume.volume_exceeded_pct(cap)
        instance_pct = self.volume.instance_exceeded_pct(cap)
        # What holds the volume back may be its own limit or its machine's: the one that is not
        # known may be the one that does.
        if volume_pct is None or instance_pct is None:
            return None
        return max(volume_pct, instance_pct)

    def reach(self, cap: CapName) -> LimitReach:
        """By an EBS volume's count, which comes before what a provider reports of minutes."""
        volume_pct = self.volume.volume_exceeded_pct(cap)
        instance_pct = self.volume.instance_exceeded_pct(cap)
        if volume_pct is not None or instance_pct is not None:
            return LimitReach(volume_pct, instance_pct, "volume")
        disk_pct = self.report.of_disk_pct(cap)
        machine_pct = self.report.of_machine_pct(cap)
        return LimitReach(disk_pct, machine_pct, "provider")

    def sampled(self) -> dict[str, float]:
        """The values that there are, by their names."""
        values: dict[str, float] = {}
        for part in fields(self):
            for name, value in vars(getattr(self, part.name)).items():
                if value is not None:
                    values[name] = value
        return values


def of_figures(figures: Mapping[str, float | None]) -> Evidence:
    """Evidence of these values by their names. ValueError for a name that it has not."""
    unknown = sorted(figures.keys() - NAMES)
    if unknown:
        raise ValueError(f"no evidence is called {', '.join(unknown)}")
    parts: dict[str, Any] = {}
    for part in fields(Evidence):
        record = getattr(_NOTHING, part.name)
        in_part: dict[str, float | None] = {}
        for name in vars(record):
            if name in figures:
                in_part[name] = figures[name]
        parts[part.name] = replace(record, **in_part)
    return Evidence(**parts)


_NOTHING = Evidence()


def _names() -> frozenset[str]:
    names: set[str] = set()
    for part in fields(_NOTHING):
        names.update(vars(getattr(_NOTHING, part.name)))
    return frozenset(names)


NAMES = _names()


# ------------------------------------------------------------------ values that may not be known


def assumed(value: float | None, *, if_unknown: float) -> float:
    """A value that was sampled, else what a rule takes it for."""
    if value is None:
        return if_unknown
    return value


def largest(*values: float | None) -> float:
    """The largest of these that were sampled; 0 if none was."""
    return max(value or 0.0 for value in values)


def highest(values: Iterable[float | None]) -> float | None:
    """The highest value; None if there is none."""
    sampled = [value for value in values if value is not None]
    return max(sampled, default=None)


def sum_if_all(values: Sequence[float | None]) -> float | None:
    """The sum; None unless there are values and all of them are known."""
    sampled = [value for value in values if value is not None]
    # A sum of some would look like that of all, and be too low.
    if not sampled or len(sampled) < len(values):
        return None
    return sum(sampled)


def of_several(
    parts: Iterable[Evidence], combine: Callable[[Sequence[float]], float]
) -> Evidence:
    """Each value, made by `combine` from the parts that know the value."""
    columns: dict[str, list[float]] = {}
    for part in parts:
        for name, value in part.sampled().items():
            columns.setdefault(name, []).append(value)
    combined = {name: combine(values) for name, values in columns.items()}
    return of_figures(combined)
