"""Disks as they can be bought on a machine, and which of them need not be looked at because a
cheaper one has all that they have. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from orchestrator.tier import Limits, Price, Tier, disk_names


class DiskOnMachine(NamedTuple):
    """A disk by its row, on a machine."""

    disk: str
    machine: str | None


@dataclass(frozen=True)
class Row:
    """A disk as it can be bought on a machine, by the name that `--tier` takes. price: of all its
    disks. tier: with the lower one of disk's and machine's limits.

    machine: None if it is not known. machine_monthly: its price, in the currency of the disk's; 0
    where none is known.
    """

    name: str
    tier: Tier
    price: Price
    machine: str | None = None
    machine_monthly: float = 0.0

    @cached_property
    def provider(self) -> str:
        return disk_names.read(self.name).provider

    @property
    def latency_s(self) -> float | None:
        """How long a write of it takes, in the median."""
        return self.tier.latency.write_s

    @property
    def has_latencies(self) -> bool:
        """Whether somebody says how long an I/O of it takes: without that it cannot be
        simulated."""
        latency = self.tier.latency
        if latency.model is not None:
            return True
        return bool(latency.read_s and latency.write_s)

    @property
    def place(self) -> DiskOnMachine:
        return DiskOnMachine(self.name, self.machine)

    @property
    def monthly(self) -> float:
        """The price of disk and machine for a month."""
        return self.price.monthly + self.machine_monthly


def on_useful_machines(rows: Sequence[Row]) -> list[Row]:
    """The rows of one disk whose machine lets more through to it than every cheaper one does.

    From cheap to dear.
    """
    kept: list[Row] = []
    for row in sorted(rows, key=by_price):
        if not any(lets_as_much_through(cheaper, row) for cheaper in kept):
            kept.append(row)
    return kept


def undominated(rows: Sequence[Row]) -> list[Row]:
    """The rows with known latency, from cheap to dear. A row is left out if a cheaper row equals or
    beats it in everything."""
    kept: list[Row] = []
    for row in sorted(rows, key=by_price):
        if not row.has_latencies:
            continue
        if not any(_beats(cheaper, row) for cheaper in kept):
            kept.append(row)
    return kept


def _beats(cheaper: Row, dearer: Row) -> bool:
    if not may_stand_beside(cheaper, dearer):
        return False
    if cheaper.latency_s is None or dearer.latency_s is None:
        return False
    return cheaper.latency_s <= dearer.latency_s and _have_as_much(
        cheaper.tier.limits, dearer.tier.limits
    )


def lets_as_much_through(cheaper: Row, dearer: Row) -> bool:
    """Whether a disk on the cheaper machine has all that it has on the dearer one."""
    limits = cheaper.tier.limits
    dearer_limits = dearer.tier.limits
    return _have_as_much(limits, dearer_limits) and _bursts_as_much(
        limits, dearer_limits
    )


def _bursts_as_much(limits: Limits, other: Limits) -> bool:
    """Whether a burst has the peaks of the other one for as long."""
    burst = limits.burst
    other_burst = other.burst
    if other_burst is None:
        return True
    if burst is None:
        return False
    return (
        _at_least(_peak_iops(limits), _peak_iops(other))
        and _at_least(_peak_bytes_per_s(limits), _peak_bytes_per_s(other))
        and burst.duration_s >= other_burst.duration_s
        and burst.start_pct >= other_burst.start_pct
    )


def _have_as_much(limits: Limits, other: Limits) -> bool:
    return _at_least(limits.total_iops, other.total_iops) and _at_least(
        limits.bytes_per_s, other.bytes_per_s
    )


def _at_least(limit: int | None, other: int | None) -> bool:
    """Whether it lets through as much. None: it is not limited."""
    if limit is None:
        return True
    return other is not None and limit >= other


def may_stand_beside(row: Row, log: Row) -> bool:
    """Both are sold for one machine, in one currency."""
    return (
        row.provider == log.provider
        and row.machine == log.machine
        and row.price.currency == log.price.currency
    )


def _peak_iops(limits: Limits) -> int | None:
    if limits.burst is not None and limits.burst.iops is not None:
        return limits.burst.iops
    return limits.total_iops


def _peak_bytes_per_s(limits: Limits) -> int | None:
    if limits.burst is not None and limits.burst.bytes_per_s is not None:
        return limits.burst.bytes_per_s
    return limits.bytes_per_s


def by_price(row: Row) -> float:
    return row.monthly
