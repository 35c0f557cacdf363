"""Seconds within coarse intervals, drawn from pieces of the same disk that were read in seconds.

docs/OBSERVE.md says how they are drawn, and what becomes of the spread of what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from orchestrator.analysis.observed.demand import QUANTITIES, READ_BYTES, Array, Demand
from orchestrator.keys.messages import message

NEAREST, DRAWS = 30, 8
WIDER, LEAST_SPREAD = 2.0, 0.2
FEWEST_PIECES, SHORTEST = 24, 3  # pieces, and times T that each lasts
BEYOND = (0.8, 1.25)  # times the calibrated range of means: outside of it nothing was seen
MOST_BEYOND, LEAST_COVERAGE = 0.05, 0.9
UNSEEN_AT = 0.05  # the chance that a regime of the share told was in no piece

Band = tuple[float, float]  # bounds of a share of the time, 0 to 1


def unseen_share(pieces: int) -> float:
    """The largest share of the time that a regime may have and yet be in none of so many pieces
    at random with a probability of 5 %: p in (1 − p)^k = 0.05."""
    return float(1 - UNSEEN_AT ** (1 / pieces))


def refusals(demand: Demand) -> Iterator[str]:
    """Why seconds cannot be told from what was read; none if they can."""
    if demand.coverage < LEAST_COVERAGE:
        yield message("little read", covered_pct=100 * demand.coverage)
    if demand.is_fine:
        return
    least_s = SHORTEST * demand.resolution_s
    few = sum(round(least_s) <= len(piece) for piece in demand.pieces)
    if few < FEWEST_PIECES:
        apart_s = demand.resolution_s
        yield message("few pieces", apart_s=apart_s, few=few, least_s=least_s, of=FEWEST_PIECES)
        return
    seen, rate = _mean_ios(np.concatenate(_windows(demand))), demand.ios / demand.step_s
    outside = (rate < BEYOND[0] * seen.min()) | (rate > BEYOND[1] * seen.max())
    if (share := float(demand.step_s @ outside / demand.step_s.sum())) > MOST_BEYOND:
        yield message("beyond pieces", beyond_pct=100 * share)


def _windows(demand: Demand) -> list[Array]:
    """Of each piece its stretches of T: (stretch, second, quantity)."""
    seconds = round(demand.resolution_s)
    cut = (piece[: len(piece) // seconds * seconds] for piece in demand.pieces)
    return [piece.reshape(-1, seconds, len(QUANTITIES)) for piece in cut]


def _mean_ios(windows: Array) -> Array:
    return np.asarray(np.nansum(windows[:, :, :READ_BYTES], axis=2).mean(axis=1))


@lru_cache(maxsize=1)  # hundreds of megabytes
def seconds(demand: Demand, seed: int = 1, draws: int = DRAWS) -> tuple[Demand, ...]:
    """Demands in seconds that this one may have been, the sums of its intervals kept: itself, if it
    was read so; none where nothing is known of seconds."""
    if demand.is_fine:
        return (demand,)
    if any(refusals(demand)):
        return ()
    of_pieces, random = _windows(demand), np.random.default_rng(seed)
    again = random.integers(len(of_pieces), size=(draws, len(of_pieces)))
    drawn = (np.concatenate([of_pieces[number] for number in numbers]) for numbers in again)
    return tuple(_joined(demand, windows, random) for windows in drawn)


def _joined(demand: Demand, windows: Array, random: np.random.Generator) -> Demand:
    mean = _mean_ios(windows)
    order = np.argsort(mean, kind="stable")
    place = np.searchsorted(mean[order], demand.ios / demand.step_s)
    first = np.clip(place - NEAREST // 2, 0, max(0, len(order) - NEAREST))
    shape = windows[order[first + random.integers(min(NEAREST, len(order)), size=len(place))]]
    total, count = shape.sum(axis=1, keepdims=True), shape.shape[1]
    share = np.divide(shape, total, out=np.full_like(shape, 1 / count), where=total > 0)
    amounts = (share * demand.amounts.T[:, None, :]).reshape(-1, len(QUANTITIES)).T
    edges = np.linspace(demand.begin_s, demand.end_s, count + 1, axis=1)
    begin_s, end_s = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return replace(demand, begin_s=begin_s, end_s=end_s, amounts=amounts, pieces=())


def band(shares: Sequence[float], within: Band) -> Band:
    """That of one figure over all draws."""
    value = float(np.mean(shares))
    low = value - max(WIDER * (value - min(shares)), LEAST_SPREAD * value)
    high = value + max(WIDER * (max(shares) - value), LEAST_SPREAD * value)
    return min(max(low, within[0]), within[1]), max(min(high, within[1]), within[0])
