"""What a disk was asked for: sums over intervals that have a begin and an end of their own.

A gap stays a gap: nothing is known of it, and no long mean step is made of it. The resolution T is
the usual length of an interval. Stretches that were read second by second while most was read at T
are its pieces, from which seconds within the others are drawn: docs/OBSERVE.md says how, and what
becomes of the spread of what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, np.dtype[np.float64]]

QUANTITIES = ("reads", "writes", "read_bytes", "written_bytes")
READS, WRITES, READ_BYTES, WRITTEN_BYTES = range(4)
INTERVALS = ("node", "device", "begin_s", "end_s", *QUANTITIES)  # columns of sums
FINE_S = 1.5  # up to so many seconds an interval shows what a second does
HOUR_S = 3600.0
_GAP = 1.5  # times the usual step: a reading is missing in between
_ROUNDING_S = 1e-6
_PIECE = 10  # intervals, at least
NEAREST = 30
DRAWS = 8
# times what draws show, and of the value at least
SPREAD = (2.0, 0.2)
SPREAD_OF_D = (4.0, 0.3)
# pieces, and times T that each lasts
FEWEST_PIECES = 24
SHORTEST = 3
BEYOND = (
    0.8,
    1.25,
)  # times the calibrated range of means: outside of it nothing was seen
MOST_BEYOND = 0.05
LEAST_COVERAGE = 0.9
UNSEEN_AT = 0.05  # the chance that a regime of the share told was in no piece


@dataclass(frozen=True, eq=False)
class Demand:
    """Of one disk of a node. begin_s, end_s: Unix times, ascending, without overlap; amounts: one
    row for each of QUANTITIES, the sums of the intervals. Reads that are NaN are not known apart:
    `writes` has them too. pieces: rows of amounts per second, of one-second stretches."""

    node: str
    device: str
    begin_s: Array
    end_s: Array
    amounts: Array
    pieces: tuple[Array, ...] = ()
    whole_s: float = (
        0.0  # from the first reading of any disk to the last, if that is known
    )

    @cached_property
    def step_s(self) -> Array:
        return self.end_s - self.begin_s

    @cached_property
    def resolution_s(self) -> float:
        return float(np.median(self.step_s))

    @property
    def is_fine(self) -> bool:
        return self.resolution_s <= FINE_S

    @property
    def coverage(self) -> float:
        """The share that was read of the whole time, or else of that from first to last."""
        return float(
            self.step_s.sum() / max(self.whole_s, self.end_s[-1] - self.begin_s[0])
        )

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
        """Without writes; where reads are not known apart, without any."""
        own = np.nan_to_num(self.amounts) * np.array([[1.0], [0.0], [1.0], [0.0]])
        return replace(self, amounts=own)

    def part(self, which: slice | np.ndarray[Any, Any]) -> Demand:
        cut = self.begin_s[which], self.end_s[which], self.amounts[:, which]
        return replace(self, begin_s=cut[0], end_s=cut[1], amounts=cut[2])


def grown(readings: pd.DataFrame) -> pd.DataFrame:
    """INTERVALS from time_s, node, device and QUANTITIES, which are counters as read. Where one
    fell it began anew, and nothing is known; where a reading is missing neither."""
    table = readings.sort_values("time_s", kind="stable", ignore_index=True)
    own = [table["node"], table["device"]]
    grew = table[["time_s", *QUANTITIES]].groupby(own).diff()
    step_s = grew.pop("time_s")
    usual_s = step_s.groupby(own).transform("median")
    known = (step_s > 0) & (step_s <= _GAP * usual_s) & (grew >= 0).all(axis=1)
    times = {"begin_s": table["time_s"] - step_s, "end_s": table["time_s"]}
    return table[["node", "device"]].assign(**times).join(grew)[known]


def demands(intervals: pd.DataFrame) -> list[Demand]:
    """Of each disk in a table with INTERVALS, of however many sources."""
    kept = intervals.dropna(subset=list(INTERVALS[2:4] + QUANTITIES[WRITES:]))
    kept = kept[kept["end_s"] > kept["begin_s"]].sort_values("begin_s", kind="stable")
    of_disks = kept.groupby(["node", "device"])
    every = [_demand(str(node), str(device), rows) for (node, device), rows in of_disks]
    edges_s = [
        float(edge) for each in every for edge in (each.begin_s[0], each.end_s[-1])
    ]
    return [replace(each, whole_s=max(edges_s) - min(edges_s)) for each in every]


def _demand(node: str, device: str, rows: pd.DataFrame) -> Demand:
    begin_s, end_s, *amounts = rows[list(INTERVALS[2:])].to_numpy(float).T
    every = Demand(node, device, begin_s, end_s, np.array(amounts))
    is_fine = every.step_s <= FINE_S
    fine, coarse = (_in_turn(every.part(which)) for which in (is_fine, ~is_fine))
    if fine.step_s.sum() >= coarse.step_s.sum():
        return fine
    lost_s = (
        fine.begin_s[1:] - fine.end_s[:-1]
    )  # a lost second does not make two pieces of one
    cuts = np.flatnonzero(lost_s > coarse.resolution_s) + 1
    stretches = np.split((fine.amounts / fine.step_s).T, cuts)
    return replace(
        coarse, pieces=tuple(each for each in stretches if len(each) >= _PIECE)
    )


def _in_turn(demand: Demand) -> Demand:
    """Without what begins before an earlier interval has ended."""
    kept = list[bool]()
    last_s = -np.inf
    for begin_s, end_s in zip(demand.begin_s, demand.end_s, strict=True):
        kept.append(bool(begin_s >= last_s - _ROUNDING_S))
        last_s = last_s
        if kept[-1]:
            last_s = end_s
    return demand.part(np.array(kept, dtype=bool))


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
    least_s = SHORTEST * demand.resolution_s
    few = sum(round(least_s) <= len(piece) for piece in demand.pieces)
    if few < FEWEST_PIECES:
        yield _few_pieces(demand.resolution_s, few, least_s)
        return
    seen = _mean_ios(np.concatenate(_windows(demand)))
    rate = demand.ios / demand.step_s
    outside = (rate < BEYOND[0] * seen.min()) | (rate > BEYOND[1] * seen.max())
    share = float(demand.step_s @ outside / demand.step_s.sum())
    if share > MOST_BEYOND:
        yield _beyond_pieces(100 * share)


def _little_read(covered_pct: float) -> str:
    return f"only {covered_pct:.0f} % of the time was read"


def _few_pieces(apart_s: float, few: int, least_s: float) -> str:
    return (
        f"readings are {apart_s:.0f} s apart, with {few} pieces in seconds that last "
        f"{least_s:.0f} s or more, of {FEWEST_PIECES} that it takes"
    )


def _beyond_pieces(beyond_pct: float) -> str:
    return f"{beyond_pct:.0f} % of the time had rates that no piece in seconds has"


def _windows(demand: Demand) -> list[Array]:
    """Of each piece its stretches of T: (stretch, second, quantity)."""
    seconds = round(demand.resolution_s)
    cut = (piece[: len(piece) // seconds * seconds] for piece in demand.pieces)
    return [piece.reshape(-1, seconds, len(QUANTITIES)) for piece in cut]


def _mean_ios(windows: Array) -> Array:
    return np.asarray(np.nansum(windows[:, :, :READ_BYTES], axis=2).mean(axis=1))


@lru_cache(maxsize=1)  # hundreds of megabytes
def by_second(demand: Demand, seed: int = 1, draws: int = DRAWS) -> tuple[Demand, ...]:
    """Demands in seconds that this one may have been, the sums of its intervals kept: itself, if it
    was read so; none where nothing is known of seconds."""
    if demand.is_fine:
        return (demand,)
    if any(refusals(demand)):
        return ()
    of_pieces = _windows(demand)
    random = np.random.default_rng(seed)
    again = random.integers(len(of_pieces), size=(draws, len(of_pieces)))
    drawn = (
        np.concatenate([of_pieces[number] for number in numbers]) for numbers in again
    )
    return tuple(_joined(demand, windows, random) for windows in drawn)


def _joined(demand: Demand, windows: Array, random: np.random.Generator) -> Demand:
    mean = _mean_ios(windows)
    order = np.argsort(mean, kind="stable")
    place = np.searchsorted(mean[order], demand.ios / demand.step_s)
    first = np.clip(place - NEAREST // 2, 0, max(0, len(order) - NEAREST))
    shape = windows[
        order[first + random.integers(min(NEAREST, len(order)), size=len(place))]
    ]
    total = shape.sum(axis=1, keepdims=True)
    count = shape.shape[1]
    share = np.divide(shape, total, out=np.full_like(shape, 1 / count), where=total > 0)
    amounts = (share * demand.amounts.T[:, None, :]).reshape(-1, len(QUANTITIES)).T
    edges = np.linspace(demand.begin_s, demand.end_s, count + 1, axis=1)
    begin_s = edges[:, :-1].ravel()
    end_s = edges[:, 1:].ravel()
    return replace(demand, begin_s=begin_s, end_s=end_s, amounts=amounts, pieces=())


def band(
    shares: Sequence[float],
    within: tuple[float, float],
    spread: tuple[float, float] = SPREAD,
) -> tuple[float, float]:
    """That of one figure over all draws."""
    value = float(np.mean(shares))
    wider, least = spread
    low = value - max(wider * (value - min(shares)), least * value)
    high = value + max(wider * (max(shares) - value), least * value)
    return min(max(low, within[0]), within[1]), max(min(high, within[1]), within[0])
