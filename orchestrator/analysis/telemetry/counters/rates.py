"""Growth of counters over a window as records of rates, and the quotients of these. Pure.

All rates are per second; a rate is None if a counter of it was not sampled. What waits or
computes has seconds a second: 2.0 stands for two I/Os in flight, or two cores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from orchestrator.analysis.telemetry.counters import counter_names, reported_disks
from orchestrator.analysis.telemetry.counters.window_growth import Growth
from orchestrator.tier.slow_disk import disk_of_node


def quotient(part: float | None, whole: float | None) -> float | None:
    """The quotient. None if part or whole is not known, or if the whole is zero."""
    if part is None or not whole:
        return None
    return part / whole


def share_pct(part: float | None, whole: float | None) -> float | None:
    """`part` in % of `whole`."""
    if part is None:
        return None
    return quotient(100 * part, whole)


@dataclass(frozen=True)
class DiskRates:
    """A disk of data, the whole of it even if several nodes are on it."""

    read_iops: float | None
    write_iops: float | None
    iops: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    bytes_per_s: float | None
    queue_depth: float | None
    # Seconds a second that reads, and all I/Os, took, waiting included.
    reads_took: float | None
    took: float | None

    @property
    def await_s(self) -> float | None:
        # Seconds of waiting a second, over I/Os a second, is the time of one I/O.
        return quotient(self.took, self.iops)

    @property
    def read_await_s(self) -> float | None:
        return quotient(self.reads_took, self.read_iops)

    @property
    def io_size_bytes(self) -> float | None:
        return quotient(self.bytes_per_s, self.iops)


def disk_rates(growth: Growth, node: str) -> DiskRates:
    return DiskRates(
        read_iops=growth.per_s(node, counter_names.READS),
        write_iops=growth.per_s(node, counter_names.WRITES),
        iops=growth.per_s(node, counter_names.READS, counter_names.WRITES),
        read_bytes_per_s=growth.per_s(node, counter_names.READ_BYTES),
        write_bytes_per_s=growth.per_s(node, counter_names.WRITTEN_BYTES),
        bytes_per_s=growth.per_s(
            node, counter_names.READ_BYTES, counter_names.WRITTEN_BYTES
        ),
        # Seconds of I/Os in flight, a second, is how many were in flight on average.
        queue_depth=growth.per_s(node, counter_names.QUEUE_SECONDS),
        reads_took=growth.per_s(node, counter_names.READ_SECONDS),
        took=growth.per_s(
            node, counter_names.READ_SECONDS, counter_names.WRITE_SECONDS
        ),
    )


@dataclass(frozen=True)
class LimitShares:
    """Share of time in which demand was above a limit, of the disk or of its machine."""

    disk_iops_pct: float | None
    disk_bandwidth_pct: float | None
    machine_iops_pct: float | None
    machine_bandwidth_pct: float | None


_NOTHING_KNOWN = LimitShares(None, None, None, None)


def exceeded_shares(growth: Growth, node: str) -> LimitShares:
    """By an EBS volume's count; the machine is its instance."""
    return _limit_shares(growth, node, counter_names.EXCEEDED)


@dataclass(frozen=True)
class ReachedShares:
    """By what a provider reports of minutes: each disk of a node's data, and of its log alone, by
    the disk's name."""

    data_disks: Mapping[str, LimitShares]
    log_disks: Mapping[str, LimitShares]

    @property
    def data(self) -> LimitShares:
        return _together(self.data_disks.values())

    @property
    def log(self) -> LimitShares:
        return _together(self.log_disks.values())

    @property
    def machine(self) -> LimitShares:
        """The machine has one limit of each kind for all disks of the node."""
        disks = [*self.data_disks.values(), *self.log_disks.values()]
        return _together(disks)


def reached_shares(growth: Growth, node: str) -> ReachedShares:
    data = _shares_at(growth, disk_of_node(node, of_log=False))
    log = _shares_at(growth, disk_of_node(node, of_log=True))
    # An earlier program kept one disk a node, under the node's name.
    of_node = _limit_shares(growth, node, counter_names.LIMIT_REACHED)
    if of_node != _NOTHING_KNOWN:
        data[node] = of_node
    return ReachedShares(data, log)


def _shares_at(growth: Growth, place: str) -> dict[str, LimitShares]:
    shares: dict[str, LimitShares] = {}
    for disk, series in reported_disks.disks_at(place, growth.nodes).items():
        shares[disk] = _limit_shares(growth, series, counter_names.LIMIT_REACHED)
    return shares


def _together(disks: Iterable[LimitShares]) -> LimitShares:
    """Disks that are striped wait for the one that is held back most; one that is not known may be
    that. Whoever reports of their machine reports of all of them."""
    iops_pct: list[float | None] = []
    bandwidth_pct: list[float | None] = []
    machine_iops_pct: list[float | None] = []
    machine_bandwidth_pct: list[float | None] = []
    for disk in disks:
        iops_pct.append(disk.disk_iops_pct)
        bandwidth_pct.append(disk.disk_bandwidth_pct)
        machine_iops_pct.append(disk.machine_iops_pct)
        machine_bandwidth_pct.append(disk.machine_bandwidth_pct)
    return LimitShares(
        disk_iops_pct=_highest_if_all(iops_pct),
        disk_bandwidth_pct=_highest_if_all(bandwidth_pct),
        machine_iops_pct=_highest(machine_iops_pct),
        machine_bandwidth_pct=_highest(machine_bandwidth_pct),
    )


def _highest(shares_pct: Sequence[float | None]) -> float | None:
    highest_pct: float | None = None
    for share_pct in shares_pct:
        if share_pct is not None:
            highest_pct = max(share_pct, highest_pct or 0.0)
    return highest_pct


def _highest_if_all(shares_pct: Sequence[float | None]) -> float | None:
    """The highest; None unless all of them are known."""
    if None in shares_pct:
        return None
    return _highest(shares_pct)


def _limit_shares(growth: Growth, node: str, counters: Sequence[str]) -> LimitShares:
    # The counters are of seconds, so their growth a second is the share itself.
    shares_pct: list[float | None] = []
    for counter in counters:
        shares_pct.append(share_pct(growth.per_s(node, counter), 1))
    return LimitShares(*shares_pct)


@dataclass(frozen=True)
class WalDiskRates:
    """The disk of a node's log, where that has one of its own."""

    iops: float | None
    bytes_per_s: float | None
    took: float | None

    @property
    def await_s(self) -> float | None:
        return quotient(self.took, self.iops)


def wal_disk_rates(growth: Growth, node: str) -> WalDiskRates:
    moved = (counter_names.WAL_READ_BYTES, counter_names.WAL_WRITTEN_BYTES)
    seconds = (counter_names.WAL_READ_SECONDS, counter_names.WAL_WRITE_SECONDS)
    iops = growth.per_s(node, counter_names.WAL_READS, counter_names.WAL_WRITES)
    bytes_per_s = growth.per_s(node, *moved)
    took = growth.per_s(node, *seconds)
    return WalDiskRates(iops, bytes_per_s, took)


@dataclass(frozen=True)
class ContainerRates:
    """A node's container: its CPU quota and its network."""

    periods: float | None
    throttled_periods: float | None
    sent_bytes_per_s: float | None
    received_bytes_per_s: float | None
    packets_per_s: float | None
    segments: float | None
    segments_sent_again: float | None

    @property
    def throttled_pct(self) -> float | None:
        # A container without a CPU quota has no periods, and so no share.
        return share_pct(self.throttled_periods, self.periods)

    @property
    def sent_again_pct(self) -> float | None:
        return share_pct(self.segments_sent_again, self.segments)


def container_rates(growth: Growth, node: str) -> ContainerRates:
    packets = (counter_names.SENT_PACKETS, counter_names.RECEIVED_PACKETS)
    return ContainerRates(
        periods=growth.per_s(node, counter_names.PERIODS),
        throttled_periods=growth.per_s(node, counter_names.THROTTLED_PERIODS),
        sent_bytes_per_s=growth.per_s(node, counter_names.SENT_BYTES),
        received_bytes_per_s=growth.per_s(node, counter_names.RECEIVED_BYTES),
        packets_per_s=growth.per_s(node, *packets),
        segments=growth.per_s(node, "tcp_sent_segments_total"),
        segments_sent_again=growth.per_s(node, "tcp_sent_again_segments_total"),
    )


@dataclass(frozen=True)
class MachineRates:
    """A machine's CPU, in cores, and the time in which its tasks waited for memory."""

    busy: float | None
    busy_low_priority: float | None
    stolen: float | None
    waited_for_memory: float | None


def machine_rates(growth: Growth, host: str) -> MachineRates:
    return MachineRates(
        busy=growth.per_s(host, counter_names.HOST_CPU_SECONDS),
        busy_low_priority=growth.per_s(host, "cpu_low_priority_seconds_total"),
        # What the hypervisor gave to other guests while this machine had work to do.
        stolen=growth.per_s(host, "cpu_steal_seconds_total"),
        # Linux's pressure "some": at least one task waited.
        waited_for_memory=growth.per_s(host, "pressure_memory_some_seconds_total"),
    )


@dataclass(frozen=True)
class ServerRates:
    """A YugabyteDB's servers: its log, data files, drives, block cache and requests."""

    wal_syncs_per_s: float | None
    wal_bytes_per_s: float | None
    flush_bytes_per_s: float | None
    compaction_read_bytes_per_s: float | None
    compaction_write_bytes_per_s: float | None
    wal_syncs_took: float | None
    wal_appends_took: float | None
    wal_appends_per_s: float | None
    blocks_found: float | None
    blocks_asked: float | None
    writes_stalled: float | None
    transaction_conflicts_per_s: float | None
    write_rejections_per_s: float | None
    requests_refused_per_s: float | None
    requests_per_s: float | None
    requests_waited: float | None
    statements_per_s: float | None
    statements_took: float | None
    drive_syncs_per_s: float | None
    drive_syncs_took: float | None
    drive_written_bytes_per_s: float | None

    @property
    def wal_sync_avg_s(self) -> float | None:
        return quotient(self.wal_syncs_took, self.wal_syncs_per_s)

    @property
    def wal_append_avg_s(self) -> float | None:
        return quotient(self.wal_appends_took, self.wal_appends_per_s)

    @property
    def block_cache_hit_pct(self) -> float | None:
        return share_pct(self.blocks_found, self.blocks_asked)

    @property
    def request_queued_avg_s(self) -> float | None:
        return quotient(self.requests_waited, self.requests_per_s)

    @property
    def drive_sync_avg_s(self) -> float | None:
        return quotient(self.drive_syncs_took, self.drive_syncs_per_s)

    @property
    def statement_avg_s(self) -> float | None:
        return quotient(self.statements_took, self.statements_per_s)

    def write_stall_pct(self, nodes: int) -> float | None:
        """The share of the time of so many nodes in which writes were stalled.

        It is summed over tablets, so it may be more than 100 %.
        """
        return share_pct(self.writes_stalled, nodes)


def server_rates(growth: Growth, node: str) -> ServerRates:
    blocks = ("block_cache_hits_total", "block_cache_misses_total")
    refused = ("queue_rejections_total", "memory_rejections_total")
    return ServerRates(
        wal_syncs_per_s=growth.per_s(node, "wal_syncs_total"),
        wal_bytes_per_s=growth.per_s(node, "wal_bytes_total"),
        flush_bytes_per_s=growth.per_s(node, counter_names.FLUSHED_BYTES),
        compaction_read_bytes_per_s=growth.per_s(node, "compaction_read_bytes_total"),
        compaction_write_bytes_per_s=growth.per_s(
            node, "compaction_written_bytes_total"
        ),
        wal_syncs_took=growth.per_s(node, "wal_sync_seconds_total"),
        wal_appends_took=growth.per_s(node, "wal_append_seconds_total"),
        wal_appends_per_s=growth.per_s(node, "wal_appends_total"),
        blocks_found=growth.per_s(node, "block_cache_hits_total"),
        blocks_asked=growth.per_s(node, *blocks),
        writes_stalled=growth.per_s(node, "write_stall_seconds_total"),
        transaction_conflicts_per_s=growth.per_s(node, "transaction_conflicts_total"),
        write_rejections_per_s=growth.per_s(node, "write_rejections_total"),
        requests_refused_per_s=growth.per_s(node, *refused),
        requests_per_s=growth.per_s(node, "queued_requests_total"),
        requests_waited=growth.per_s(node, "queued_seconds_total"),
        statements_per_s=growth.per_s(node, "sql_statements_total"),
        statements_took=growth.per_s(node, "sql_statement_seconds_total"),
        drive_syncs_per_s=growth.per_s(node, "drive_syncs_total"),
        drive_syncs_took=growth.per_s(node, "drive_sync_seconds_total"),
        drive_written_bytes_per_s=growth.per_s(node, "drive_written_bytes_total"),
    )


# ------------------------------------------------------------------ of several nodes

_Rates = TypeVar("_Rates", DiskRates, WalDiskRates, ServerRates)


def summed(several: Sequence[_Rates], if_all_of: Sequence[_Rates]) -> _Rates:
    """The sum of each rate over `several`; None where not `if_all_of` these know it.

    They are the same, but where nodes share a disk: then one of them stands for all in the sum."""
    sums: dict[str, Any] = {}
    for field in fields(several[0]):
        name = field.name
        sums[name] = None
        # A sum of some nodes would look like one of all of them, and be too low.
        if _all_know(if_all_of, name):
            sums[name] = sum(getattr(rates, name) for rates in several)
    return type(several[0])(**sums)


def _all_know(several: Sequence[Any], name: str) -> bool:
    return all(getattr(rates, name) is not None for rates in several)
