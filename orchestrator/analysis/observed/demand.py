"""What a disk was asked for: sums over intervals that have a begin and an end of their own.

A gap stays a gap: nothing is known of it, and no long mean step is made of it. The resolution T is
the usual length of an interval. Stretches that were read second by second while most was read at T
are its pieces, from which seconds within the others are drawn: docs/research/OBSERVE.md says how,
and what becomes of the spread of what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.observed import (
    plausible_readings,
    reading_order,
    reported_throttle,
)
from orchestrator.analysis.observed.reported_throttle import ReportedThrottle
from orchestrator.tier import Burst, Limits

Array = np.ndarray[Any, np.dtype[np.float64]]

QUANTITIES = ("reads", "writes", "read_bytes", "written_bytes")
READS, WRITES, READ_BYTES, WRITTEN_BYTES = range(4)
INTERVALS = ("node", "device", "begin_s", "end_s", *QUANTITIES)  # columns of sums
# A column that a table may have besides: the seconds that all I/Os of an interval took together.
QUEUE_S = "queue_s"
# So many I/Os take a millisecond or more in sum, in which kernels count.
_TAKE_TIME_IOS = 100
FINE_S = 1.5  # up to so many seconds an interval shows what a second does
HOUR_S = 3600.0
_GAP = 1.5  # times the usual step: a reading is missing in between
_AT_ONCE = 10  # times the most that a counter grew by between two readings
_HASTE = 0.5  # times the usual step: the clock was set in between
# More than a known disk does: times its limits, which hold for its mean second.
_BEYOND = 2.0
_NO_BURST = Burst(None, None, 0.0)
MOST_JUMPS = (
    3  # of a disk's counters: one device takes the name of another now and then
)
_PIECE = 10  # intervals, at least
NEAREST = 30
DRAWS = 8
# Pieces, and times T that each lasts.
FEWEST_PIECES = 24
SHORTEST = 3
# Times the least and the most of calibrated means: outside of it nothing was seen.
_FAR_BELOW = 0.8
_FAR_ABOVE = 1.25
MOST_BEYOND = 0.05
LEAST_COVERAGE = 0.9
UNSEEN_AT = 0.05  # the chance that a regime of the share told was in no piece


class Band(NamedTuple):
    """A figure that is known within bounds."""

    least: float
    most: float


class Spread(NamedTuple):
    """How much wider a band is than what draws show: so many times, and at least by so much of the
    value."""

    times: float
    least: float


SPREAD = Spread(2.0, 0.2)
SPREAD_OF_D = Spread(4.0, 0.3)


@dataclass(frozen=True, eq=False)
class Demand:
    """What one disk of a node was asked for, interval by interval.

    begin_s, end_s: Unix times, ascending, without overlap. amounts: one row for each of QUANTITIES,
    the sums of the intervals. Reads that are NaN are not known apart: `writes` has them too.
    queue_s: the seconds that all I/Os of an interval took together, NaN where that is not known;
    None where it is known of none. reported: what its provider itself reports of its limits, if it
    does.

    pieces: rows of amounts per second, of one-second stretches. whole_s: from the first reading of
    any disk to the last, if that is known. devices: how many equal devices it is the sum of.

    left_out: how many intervals were taken for jumps of a counter, because the disk cannot do that.
    impossible: how many intervals no disk can have done, which are gaps. unlikely: in words, what a
    person should look at.
    """

    node: str
    device: str
    begin_s: Array
    end_s: Array
    amounts: Array
    pieces: tuple[Array, ...] = ()
    whole_s: float = 0.0
    devices: int = 1
    left_out: int = 0
    impossible: int = 0
    unlikely: tuple[str, ...] = ()
    queue_s: Array | None = None
    reported: tuple[ReportedThrottle, ...] = ()

    @cached_property
    def step_s(self) -> Array:
        return self.end_s - self.begin_s

    @cached_property
    def resolution_s(self) -> float:
        """T: the usual length of an interval."""
        return float(np.median(self.step_s))

    @property
    def is_fine(self) -> bool:
        return self.resolution_s <= FINE_S

    @property
    def coverage(self) -> float:
        """The share that was read of the whole time, or else of that from first to last."""
        from_first_to_last_s = self.end_s[-1] - self.begin_s[0]
        whole_s = max(self.whole_s, from_first_to_last_s)
        return float(self.step_s.sum() / whole_s)

    @cached_property
    def in_flight(self) -> Array:
        """I/Os at a time, on average over each interval; NaN where that is not known.

        Each I/O takes time, so that many which took none show a counter that is not kept."""
        if self.queue_s is None:
            return np.full(len(self.begin_s), np.nan)
        is_left_out = (self.queue_s == 0) & (self.ios >= _TAKE_TIME_IOS)
        is_possible = np.isfinite(self.queue_s) & (self.queue_s >= 0)
        queue_s = np.where(is_possible & ~is_left_out, self.queue_s, np.nan)
        return np.asarray(queue_s / self.step_s)

    @cached_property
    def ios(self) -> Array:
        return np.asarray(np.nansum(self.amounts[:READ_BYTES], axis=0))

    @cached_property
    def bytes(self) -> Array:
        return np.asarray(self.amounts[READ_BYTES] + self.amounts[WRITTEN_BYTES])

    @cached_property
    def starts(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Numbers of the intervals at which stretches without a gap begin."""
        after_gap = self.begin_s[1:] - self.end_s[:-1] > 0.5 * FINE_S
        return np.flatnonzero(np.concatenate(([True], after_gap)))

    @cached_property
    def reads_alone(self) -> Demand:
        """The demand of reads alone. If reads are not known apart, it is empty."""
        reads_only = np.array([[1.0], [0.0], [1.0], [0.0]])
        return replace(self, amounts=np.nan_to_num(self.amounts) * reads_only)

    def part(self, which: slice | np.ndarray[Any, Any]) -> Demand:
        """Some of its intervals."""
        queue_s = self.queue_s
        if queue_s is not None:
            queue_s = queue_s[which]
        return replace(
            self,
            queue_s=queue_s,
            reported=tuple(throttle.part(which) for throttle in self.reported),
            begin_s=self.begin_s[which],
            end_s=self.end_s[which],
            amounts=self.amounts[:, which],
        )


def grown(readings: pd.DataFrame) -> pd.DataFrame:
    """INTERVALS from time_s, node, device and QUANTITIES, which are counters as read, in the order
    in which they came. Where one fell it began anew, and nothing is known; where a reading is
    missing neither, nor where the clock was set: before and after it counters grow as they do.
    UsageError if their times are in no order, or two disks have one name."""
    table = reading_order.in_order_of_arrival(readings)
    names = [table["node"], table["device"]]
    set_back = table.groupby(["node", "device"])["time_s"].diff() < 0
    part = set_back.groupby(names).cumsum()
    disk = [*names, part]
    growth = table[["time_s", *QUANTITIES]].groupby(disk).diff()
    step_s = growth.pop("time_s")
    reading_order.refuse_two_disks(table, step_s, growth)
    usual_s = step_s.groupby(disk).transform("median")
    is_step = (step_s > _HASTE * usual_s) & (step_s <= _GAP * usual_s)
    is_growth = (growth >= 0).all(axis=1)
    begin_s = table["time_s"] - step_s
    intervals = table[["node", "device"]].assign(begin_s=begin_s, end_s=table["time_s"])
    is_again = _is_there_again(table, set_back, growth)
    if QUEUE_S in table:
        # It falls short of nothing else where it is not known.
        queue_s = table[QUEUE_S].groupby(disk).diff()
        intervals[QUEUE_S] = queue_s.where(queue_s >= 0)
    return intervals.join(growth)[is_step & is_growth & ~is_again]


def _is_there_again(
    table: pd.DataFrame, set_back: pd.Series[bool], growth: pd.DataFrame
) -> pd.Series[bool]:
    """For each reading, whether its time was read before, which means that its clock was set back.

    If counters do not go on as before, it is not the clock: another disk has the same name.
    """
    if not set_back.any():
        return set_back
    names = [table["node"], table["device"]]
    across = table[list(QUANTITIES)].groupby(names).diff()
    most = growth.groupby(names).transform("max").fillna(0.0)
    goes_on = ((across >= 0) & (across <= _AT_ONCE * (most + 1))).all(axis=1)
    breaks = (set_back & ~goes_on).groupby(names).cumsum()
    latest_s = table.groupby([*names, breaks])["time_s"].cummax()
    before_s = latest_s.groupby([*names, breaks]).shift()
    earlier_s = before_s.groupby([*names, breaks]).shift()
    return table["time_s"] <= earlier_s.fillna(-np.inf)


def demands(intervals: pd.DataFrame, source: Limits | None = None) -> list[Demand]:
    """The demand of each disk in a table with INTERVALS, of however many sources.

    What no disk can do is a counter that jumped, and becomes a gap. So does what the observed disk
    cannot do, if that disk is known and it happens seldom. UsageError if figures of a disk
    contradict each other, or are those of two disks.
    """
    # Reads may be missing: then `writes` has them too.
    needed = ["begin_s", "end_s", *QUANTITIES[WRITES:]]
    read: list[Demand] = []
    first_s = np.inf
    last_s = -np.inf
    # Disk by disk, because copies of all readings of a week would be gigabytes.
    for (node, device), disk_rows in intervals.groupby(["node", "device"]):
        complete = disk_rows.dropna(subset=needed)
        lasting = complete[complete["end_s"] > complete["begin_s"]]
        rows = lasting.sort_values(["begin_s", "end_s"])
        is_possible = plausible_readings.possible(rows)
        if not is_possible.any():
            continue
        checked = _checked(str(node), str(device), rows[is_possible], source)
        impossible = int((~is_possible).sum())
        demand = replace(checked, impossible=impossible)
        first_s = min(first_s, float(demand.begin_s[0]))
        last_s = max(last_s, float(demand.end_s[-1]))
        read.append(demand)
    return [replace(demand, whole_s=last_s - first_s) for demand in read]


def _checked(
    node: str, device: str, rows: pd.DataFrame, source: Limits | None
) -> Demand:
    plausible_readings.require_belonging(node, device, rows)
    demand = _demand(node, device, rows, source)
    return replace(demand, unlikely=tuple(plausible_readings.unlikely(rows)))


def is_beyond(demand: Demand, source: Limits) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each interval, whether it has more than such a disk can do, burst included."""
    burst = source.burst or _NO_BURST
    ios_per_s = max(source.iops or 0, burst.iops or 0) + (source.write_iops or 0)
    bytes_per_s = max(source.bytes_per_s or 0, burst.bytes_per_s or 0)
    most_ios = _BEYOND * (ios_per_s or np.inf)
    most_bytes = _BEYOND * (bytes_per_s or np.inf)
    has_more_ios = demand.ios > most_ios * demand.step_s
    return has_more_ios | (demand.bytes > most_bytes * demand.step_s)


def _without_jumps(demand: Demand, source: Limits) -> Demand:
    """The demand without the few intervals that this disk cannot have done.

    If there are many, it did them, and is not the disk that it is said to be.
    """
    beyond = is_beyond(demand, source)
    jumps = int(beyond.sum())
    if jumps > MOST_JUMPS or beyond.all():
        return demand
    return replace(demand.part(~beyond), left_out=jumps)


def _demand(
    node: str, device: str, rows: pd.DataFrame, source: Limits | None
) -> Demand:
    """The demand of one disk.

    It has one-second readings alone if most of the time was read so. Otherwise it has the other
    readings, with those of a second as its pieces.
    """
    begin_s, end_s, *amounts = rows[list(INTERVALS[2:])].to_numpy(float).T
    queue_s = None
    if QUEUE_S in rows and rows[QUEUE_S].notna().any():
        queue_s = rows[QUEUE_S].to_numpy(float)
    demand = Demand(node, device, begin_s, end_s, np.array(amounts), queue_s=queue_s)
    demand = replace(demand, reported=tuple(reported_throttle.in_rows(rows)))
    if source:
        demand = _without_jumps(demand, source)
    is_fine = demand.step_s <= FINE_S
    fine = _in_turn(demand.part(is_fine))
    coarse = _in_turn(demand.part(~is_fine))
    if fine.step_s.sum() >= coarse.step_s.sum():
        return fine
    return replace(coarse, pieces=_pieces(fine, coarse.resolution_s))


def _pieces(fine: Demand, apart_s: float) -> tuple[Array, ...]:
    """Stretches without a gap of more than that: a lost second does not make two of one."""
    lost_s = fine.begin_s[1:] - fine.end_s[:-1]
    cuts = np.flatnonzero(lost_s > apart_s) + 1
    stretches = np.split((fine.amounts / fine.step_s).T, cuts)
    return tuple(stretch for stretch in stretches if len(stretch) >= _PIECE)


def _in_turn(demand: Demand) -> Demand:
    """The demand without intervals that begin before an earlier one has ended.

    UsageError if these are many.
    """
    if not len(demand.begin_s):
        return demand
    is_kept = reading_order.without_repeats(
        demand.node, demand.device, demand.begin_s, demand.end_s, demand.amounts
    )
    return demand.part(is_kept)


# ------------------------------------------------------------------ seconds within intervals


def unseen_share(pieces: int) -> float:
    """The largest share of the time that a regime may have and yet be in none of so many pieces
    at random with a probability of 5 %: p in (1 − p)^k = 0.05."""
    return float(1 - UNSEEN_AT ** (1 / pieces))


def refusals(demand: Demand) -> Iterator[str]:
    """Why seconds cannot be told from what was read; none if they can."""
    if demand.coverage < LEAST_COVERAGE:
        yield _little_read(100 * demand.coverage)
    if demand.is_fine:
        return
    if not has_enough_pieces(demand):
        yield _few_pieces(demand)
        return
    share = _share_beyond_pieces(demand)
    if share > MOST_BEYOND:
        yield _beyond_pieces(100 * share)


def has_enough_pieces(demand: Demand) -> bool:
    """Whether pieces of coarse readings can show how seconds within the others were."""
    return _long_pieces(demand) >= FEWEST_PIECES


def _long_pieces(demand: Demand) -> int:
    """How many pieces last long enough to be held against an interval."""
    least_s = SHORTEST * demand.resolution_s
    return sum(round(least_s) <= len(piece) for piece in demand.pieces)


def _share_beyond_pieces(demand: Demand) -> float:
    """The share of the time whose rate is far from that of any stretch of T in a piece."""
    seen = _mean_ios(np.concatenate(_windows(demand)))
    rate = demand.ios / demand.step_s
    is_beyond = (rate < _FAR_BELOW * seen.min()) | (rate > _FAR_ABOVE * seen.max())
    beyond_s = (demand.step_s * is_beyond).sum()
    return float(beyond_s / demand.step_s.sum())


def _little_read(covered_pct: float) -> str:
    return f"only {covered_pct:.0f} % of the time was read"


def _few_pieces(demand: Demand) -> str:
    few = _long_pieces(demand)
    least_s = SHORTEST * demand.resolution_s
    return (
        f"readings are {demand.resolution_s:.0f} s apart, with {few} pieces in seconds that last "
        f"{least_s:.0f} s or more, of {FEWEST_PIECES} that it takes"
    )


def _beyond_pieces(beyond_pct: float) -> str:
    return f"{beyond_pct:.0f} % of the time had rates that no piece in seconds has"


def _windows(demand: Demand) -> list[Array]:
    """For each piece, its stretches of T: (stretch, second, quantity)."""
    seconds = round(demand.resolution_s)
    windows = []
    for piece in demand.pieces:
        whole = piece[: len(piece) // seconds * seconds]
        windows.append(whole.reshape(-1, seconds, len(QUANTITIES)))
    return windows


def _mean_ios(windows: Array) -> Array:
    """Reads and writes per second of each stretch."""
    ios = np.nansum(windows[:, :, :READ_BYTES], axis=2)
    return np.asarray(ios.mean(axis=1))


@lru_cache(maxsize=1)  # hundreds of megabytes
def by_second(demand: Demand, seed: int = 1, draws: int = DRAWS) -> tuple[Demand, ...]:
    """Demands in seconds that this one may have been, the sums of its intervals kept: itself, if it
    was read so; none where nothing is known of seconds.

    For each draw pieces are drawn anew, as many as there are (bootstrap).
    """
    if demand.is_fine:
        return (demand,)
    if any(refusals(demand)):
        return ()
    windows = _windows(demand)
    random = np.random.default_rng(seed)
    drawn = random.integers(len(windows), size=(draws, len(windows)))
    demands_in_seconds = []
    for numbers in drawn:
        again = np.concatenate([windows[number] for number in numbers])
        demands_in_seconds.append(_in_seconds(demand, again, random))
    return tuple(demands_in_seconds)


def _in_seconds(demand: Demand, windows: Array, random: np.random.Generator) -> Demand:
    """Each interval's sums, spread over its seconds as over those of a stretch with about its rate;
    evenly where the stretch has nothing."""
    shape = _stretches_of_like_rate(windows, demand.ios / demand.step_s, random)
    seconds = shape.shape[1]
    total = shape.sum(axis=1, keepdims=True)
    evenly = np.full_like(shape, 1 / seconds)
    share = np.divide(shape, total, out=evenly, where=total > 0)
    by_interval = share * demand.amounts.T[:, None, :]
    edges_s = np.linspace(demand.begin_s, demand.end_s, seconds + 1, axis=1)
    return replace(
        demand,
        begin_s=edges_s[:, :-1].ravel(),
        end_s=edges_s[:, 1:].ravel(),
        amounts=by_interval.reshape(-1, len(QUANTITIES)).T,
        pieces=(),
        queue_s=None,
        reported=(),
    )


def _stretches_of_like_rate(
    windows: Array, rate: Array, random: np.random.Generator
) -> Array:
    """For each rate a stretch, drawn at random from the NEAREST to it."""
    mean = _mean_ios(windows)
    order = np.argsort(mean, kind="stable")
    place = np.searchsorted(mean[order], rate)
    last_first = max(0, len(order) - NEAREST)
    first = np.clip(place - NEAREST // 2, 0, last_first)
    offset = random.integers(min(NEAREST, len(order)), size=len(place))
    return np.asarray(windows[order[first + offset]])


def band(
    shares: Sequence[float],
    within: tuple[float, float],
    spread: Spread = SPREAD,
) -> Band:
    """The band of one figure over all draws."""
    value = float(np.mean(shares))
    least_width = spread.least * value
    below = max(spread.times * (value - min(shares)), least_width)
    above = max(spread.times * (max(shares) - value), least_width)
    lowest, highest = within
    return Band(
        least=min(max(value - below, lowest), highest),
        most=max(min(value + above, highest), lowest),
    )
