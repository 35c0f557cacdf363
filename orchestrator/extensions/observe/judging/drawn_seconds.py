"""Seconds within intervals of which sums alone are known, drawn from pieces in seconds. Pure.

docs/research/OBSERVE.md says how, and what becomes of the spread of what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from orchestrator.extensions.observe.judging.demand import (
    QUANTITIES,
    READ_BYTES,
    Array,
    Demand,
)

# Number of stretches of the most similar rate to draw from, and number of draws. The draws show the
# spread of what comes out. Both were tried in docs/research/OBSERVE.md.
NEAREST = 30
DRAWS = 8
# Fewest pieces, and the multiple of T that each lasts at least. What is in none of 24 pieces at
# random has at most 11.7 % of the time (`unseen_share`).
FEWEST_PIECES = 24
SHORTEST = 3
# Nothing was seen below this multiple of the least calibrated mean, nor above that of the most.
_FAR_BELOW = 0.8
_FAR_ABOVE = 1.25
MOST_BEYOND = 0.05
LEAST_COVERAGE = 0.9
UNSEEN_AT = 0.05  # the chance that a regime of the share told was in no piece


class Band(NamedTuple):
    """A figure that is known within bounds."""

    least: float
    most: float

    def clipped(self, least: float, most: float) -> Band:
        """The band between both; NaN stays."""
        low, high = np.clip(self, least, most).tolist()
        return Band(low, high)


class Spread(NamedTuple):
    """How much wider a band is than what draws show: so many times, and at least by so much of the
    value."""

    times: float
    least: float


# The narrowest that hold the truth in nine of ten simulated cases (docs/research/OBSERVE.md). D is
# less sure, because scaling bends how high seconds are more than what waits.
SPREAD = Spread(2.0, 0.2)
SPREAD_OF_D = Spread(4.0, 0.3)


def unseen_share(pieces: int) -> float:
    """The largest share of the time that a regime may have and yet be in none of so many pieces
    at random with a probability of 5 %: p in (1 − p)^k = 0.05."""
    return float(1 - UNSEEN_AT ** (1 / pieces))


def refusals(demand: Demand) -> Iterator[str]:
    """Why seconds cannot be told from what was read; none if they can."""
    if demand.coverage < LEAST_COVERAGE:
        yield _little_read(100 * demand.coverage)
    # What was read second by second needs no pieces to tell of seconds.
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
        f"readings are {demand.resolution_s:.0f} s apart; {FEWEST_PIECES} pieces read by "
        f"the second, of {least_s:.0f} s or more, are needed, and there are {few}"
    )


def _beyond_pieces(beyond_pct: float) -> str:
    return (
        f"{beyond_pct:.0f} % of the time had rates that do not occur in any piece read by "
        "the second"
    )


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


# One demand at a time: what is drawn of a week is hundreds of megabytes.
@lru_cache(maxsize=1)
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
    # Seeded: an observation that is read again has the same answer.
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
    within: Band,
    spread: Spread = SPREAD,
) -> Band:
    """The band of one figure over all draws, cut to what lies `within`."""
    value = float(np.mean(shares))
    least_width = spread.least * value
    below = max(spread.times * (value - min(shares)), least_width)
    above = max(spread.times * (max(shares) - value), least_width)
    return Band(
        least=min(max(value - below, within.least), within.most),
        most=max(min(value + above, within.most), within.least),
    )
