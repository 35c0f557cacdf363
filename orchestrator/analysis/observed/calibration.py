"""Seconds within coarse intervals, drawn from pieces of the same disk that were read in seconds.

For each interval a stretch of T seconds is drawn among the NEAREST with the most similar number of
I/Os and scaled to the interval's own sums; joined they are a demand in seconds, and are replayed.
That is repeated over a bootstrap of the pieces. The spread of what comes out is doubled, is at
least a fifth of the value to either side, and stays within the hard band.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.observed.demand import QUANTITIES, Array, Demand

NEAREST, DRAWS = 30, 8
WIDER, LEAST_SPREAD = 2.0, 0.2
FEWEST_PIECES, SHORTEST = 24, 3  # pieces, and times T that each lasts
BEYOND = (0.8, 1.25)  # times the calibrated range of means: outside of it nothing was seen
MOST_BEYOND, LEAST_COVERAGE, MOST_JITTER = 0.05, 0.9, 0.02
UNSEEN_AT = 0.05  # the chance that a regime of the share told was in no piece

Windows = Array  # (stretch of T, second, quantity)


def unseen_share(pieces: int) -> float:
    """The largest share of the time that a regime may have and yet be in none of so many pieces
    at random with a probability of 5 %: p in (1 − p)^k = 0.05. All of it without pieces."""
    return float(1 - UNSEEN_AT ** (1 / pieces)) if pieces else 1.0


def _windows(piece: Demand, seconds: int) -> Windows:
    """Stretches of so many seconds, one after the other: amounts per second."""
    rates = (piece.amounts / piece.step_s).T
    count = len(rates) // seconds
    return np.asarray(rates[: count * seconds].reshape(count, seconds, len(QUANTITIES)))


def refusals(demand: Demand) -> Iterator[str]:
    """Why seconds cannot be told from what was read; none if they can."""
    if demand.coverage < LEAST_COVERAGE:
        yield f"only {100 * demand.coverage:.0f} % of the time was read"
    if not demand.own_clock and demand.jitter > MOST_JITTER:
        yield f"readings are up to {100 * demand.jitter:.0f} % of T late, by another clock"
    if demand.is_fine:
        return
    resolution_s, pieces = demand.resolution_s, demand.pieces
    long_enough = [p for p in pieces if p.step_s.sum() >= SHORTEST * resolution_s]
    if len(long_enough) < FEWEST_PIECES:
        yield (
            f"readings are {resolution_s:.0f} s apart, with {len(long_enough)} pieces in seconds "
            f"that last {SHORTEST * resolution_s:.0f} s or more, of {FEWEST_PIECES} that it takes"
        )
        return
    rates = [w[:, :, :2].sum(axis=(1, 2)) for w in _all_windows(demand)]
    seen = np.concatenate(rates) / max(1, round(resolution_s))
    rate = demand.ios / demand.step_s
    outside = (rate < BEYOND[0] * seen.min()) | (rate > BEYOND[1] * seen.max())
    if (share := float(demand.step_s[outside].sum() / demand.step_s.sum())) > MOST_BEYOND:
        yield f"{100 * share:.0f} % of the time had rates that no piece in seconds has"


def _all_windows(demand: Demand) -> list[Windows]:
    seconds = max(1, round(demand.resolution_s))
    of_pieces = [_windows(piece, seconds) for piece in demand.pieces]
    return [windows for windows in of_pieces if len(windows)]


def drawn(demand: Demand, seed: int = 1, draws: int = DRAWS) -> Iterator[Demand]:
    """So many demands in seconds that the coarse one may have been, the sums of its intervals
    kept. Without any stretch of T in the pieces there is none."""
    of_pieces, random = _all_windows(demand), np.random.default_rng(seed)
    for _ in range(draws if of_pieces else 0):
        again = random.integers(len(of_pieces), size=len(of_pieces))
        yield _joined(demand, np.concatenate([of_pieces[number] for number in again]), random)


def _joined(demand: Demand, windows: Windows, random: np.random.Generator) -> Demand:
    level = windows[:, :, :2].sum(axis=(1, 2))
    windows = windows[np.argsort(level, kind="stable")]
    seconds, count = windows.shape[1], len(demand.begin_s)
    place = np.searchsorted(np.sort(level), demand.ios / demand.step_s * seconds)
    first = np.clip(place - NEAREST // 2, 0, max(0, len(windows) - NEAREST))
    chosen = first + random.integers(min(NEAREST, len(windows)), size=count)
    step_s = demand.step_s / seconds
    begin_s = (demand.begin_s[:, None] + step_s[:, None] * np.arange(seconds)).ravel()
    amounts = np.empty((len(QUANTITIES), count * seconds))
    for number in range(len(QUANTITIES)):
        shape = windows[chosen, :, number]
        total = shape.sum(axis=1, keepdims=True)
        share = np.divide(shape, total, out=np.full_like(shape, 1 / seconds), where=total > 0)
        amounts[number] = (share * demand.amounts[number][:, None]).ravel()
    end_s = np.concatenate((begin_s[1:], demand.end_s[-1:]))
    last = np.arange(seconds - 1, count * seconds, seconds)
    end_s[last] = demand.end_s
    return Demand(demand.node, demand.device, begin_s, end_s, amounts, demand.apart)


@dataclass(frozen=True)
class Band:
    """Bounds of a share of the time, 0 to 1."""

    low: float
    high: float


def band(shares: Sequence[float], within: Band) -> Band:
    """That of one figure over all draws."""
    value = float(np.mean(shares))
    below, above = value - np.min(shares), np.max(shares) - value
    low = value - max(WIDER * below, LEAST_SPREAD * value)
    high = value + max(WIDER * above, LEAST_SPREAD * value)
    return Band(
        float(min(max(low, within.low), within.high)),
        float(max(min(high, within.high), within.low)),
    )
