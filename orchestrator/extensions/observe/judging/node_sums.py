"""What the disks of a node were asked for together: their machine's caps hold for the sum. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from orchestrator.extensions.observe.judging.demand import READS, WRITES, Array, Demand
from orchestrator.extensions.observe.judging.reported_throttle import (
    ReportedThrottle,
    Shares,
)
from orchestrator.units import gathered

# A sum is known in an interval if each disk was read for this share of it.
_READ_WHOLE = 0.99
JOINED = "+"  # the names of a node's disks


def of_nodes(demands: Sequence[Demand]) -> list[Demand]:
    """The sum of each node's disks, called `sdb+sdc`; a disk that is alone as it is.

    Intervals are those of the disk that was read least often; where another was not read then,
    nothing is known. Disks of a node that were never read at the same time stay apart.
    """
    sums: list[Demand] = []
    for disks in by_node(demands):
        sums += _sum(disks)
    return sums


def by_node(demands: Sequence[Demand]) -> list[list[Demand]]:
    """The disks of each node."""
    nodes = gathered((demand.node, demand) for demand in demands)
    return list(nodes.values())


def _sum(disks: Sequence[Demand]) -> Sequence[Demand]:
    if len(disks) == 1:
        return disks
    apart = [_with_reads_apart_where_all_have(disk, disks) for disk in disks]
    # Sums of short intervals tell what a long one had; those of long ones tell nothing of short.
    coarsest = max(apart, key=attrgetter("resolution_s"))
    amounts = np.zeros_like(coarsest.amounts)
    is_known = np.ones(len(coarsest.begin_s), dtype=bool)
    for disk in apart:
        amounts += _grown_between(disk, coarsest.begin_s, coarsest.end_s)
        is_known &= _read_share(disk, coarsest) >= _READ_WHOLE
    if not is_known.any():
        return disks
    names = JOINED.join(disk.device for disk in disks)
    total = replace(
        coarsest,
        device=names,
        amounts=amounts,
        pieces=_sum_of_pieces(apart),
        devices=len(apart),
        queue_s=None,
        reported=tuple(_reported(apart, coarsest)),
        left_out=sum(disk.left_out for disk in apart),
        impossible=sum(disk.impossible for disk in apart),
    )
    return [total.part(is_known)]


def _reported(disks: Sequence[Demand], coarsest: Demand) -> Iterator[ReportedThrottle]:
    """What is reported of each limit of all disks: they are held back together while one of them
    is. For how long is known at most, because they may have been at it in unlike seconds. What a
    provider reports of their machine is of one limit; what volumes count of it is of each."""
    for throttle in coarsest.reported:
        shares: list[Shares] = []
        for disk in disks:
            shares += _shares_alike(disk, throttle, coarsest)
        if len(shares) < len(disks):
            continue
        together = np.minimum(1.0, np.sum(shares, axis=0))
        if throttle.owner == "machine" and not throttle.is_counted:
            together = np.max(shares, axis=0)
        yield replace(throttle, share=together)


def _shares_alike(
    disk: Demand, throttle: ReportedThrottle, coarsest: Demand
) -> Iterator[Shares]:
    """What is reported of the same limit of a disk in the same intervals: one, or none."""
    for other in disk.reported:
        is_same_limit = (other.limited, other.owner) == (
            throttle.limited,
            throttle.owner,
        )
        if is_same_limit and other.is_counted == throttle.is_counted:
            by_begin = dict(zip(disk.begin_s, other.share, strict=True))
            share = [by_begin.get(begin, np.nan) for begin in coarsest.begin_s]
            yield np.array(share, dtype=float)


def _with_reads_apart_where_all_have(disk: Demand, disks: Sequence[Demand]) -> Demand:
    """The demand, with reads apart from writes only if all disks tell them apart."""
    if not any(np.isnan(other.amounts[READS]).any() for other in disks):
        return disk
    amounts = disk.amounts.copy()
    # Sources that do not tell them apart have it so: `writes` has them all.
    amounts[WRITES] = disk.ios
    amounts[READS] = np.nan
    return replace(disk, amounts=amounts)


def _edges_s(disk: Demand) -> Array:
    """Begin and end of each interval, in turn."""
    return np.column_stack([disk.begin_s, disk.end_s]).ravel()


def _grown_between(disk: Demand, begin_s: Array, end_s: Array) -> Array:
    """The sums of a disk over other intervals, as if each of its own were even."""
    return np.array([_grown(disk, row, begin_s, end_s) for row in disk.amounts])


def _grown(disk: Demand, growth: Array, begin_s: Array, end_s: Array) -> Array:
    after = np.cumsum(growth)
    counter = np.column_stack([after - growth, after]).ravel()
    edges_s = _edges_s(disk)
    at_end = np.interp(end_s, edges_s, counter)
    return np.asarray(at_end - np.interp(begin_s, edges_s, counter))


def _read_share(disk: Demand, other: Demand) -> Array:
    """For how much of each interval of another disk this one was read."""
    read_s = _grown(disk, disk.step_s, other.begin_s, other.end_s)
    return np.asarray(read_s / other.step_s)


def _sum_of_pieces(disks: Sequence[Demand]) -> tuple[Array, ...]:
    """The pieces of a sum of disks.

    Empty unless one reader read all of them in seconds at the same times.
    """
    sums = list(disks[0].pieces)
    for disk in disks[1:]:
        if _lengths(disk.pieces) != _lengths(sums):
            return ()
        for place, piece in enumerate(disk.pieces):
            sums[place] = sums[place] + piece
    return tuple(sums)


def _lengths(pieces: Sequence[Array]) -> list[int]:
    """The seconds of each."""
    return [len(piece) for piece in pieces]
