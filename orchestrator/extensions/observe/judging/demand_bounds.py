"""Between which bounds the shares of the time lie in which a demand is at any of some caps. Pure.

Where readings are in seconds, the bounds are two replays. Where readings are further apart, they
come from seconds that are drawn from pieces of the demand, or, without pieces, from the sums alone
(the "hard band").

Two shares of the time are bounded (docs/research/OBSERVE.md). D is the time in which the demand
asks for a cap: users see it who wait for each I/O. S is the time in which the disk is at a cap if
all that waits is done later. D is at most S.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.extensions.observe.judging import replay, sums_alone
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.drawn_seconds import (
    SPREAD,
    SPREAD_OF_D,
    Band,
    band,
    by_second,
)
from orchestrator.extensions.observe.judging.rate_caps import SAME, Caps, End, Slack
from orchestrator.extensions.observe.judging.replay import Flags, Replay

_NOT_KNOWN = Band(np.nan, np.nan)


@dataclass(frozen=True)
class Bounds:
    """waits: D, which is not known without seconds. queues: S. reached_s: the seconds of each step
    that may be at a cap, at most. low, high: the replays with the least and the most."""

    waits: Band
    queues: Band
    reached_s: Array
    low: Replay
    high: Replay


@dataclass(frozen=True)
class _Draws:
    """The replays of several draws of a demand; of the demand itself where nothing is drawn.

    low, high: one replay for each draw, with the least and the most. step_s: of a draw's steps.
    whole_s: how much time was read."""

    low: Sequence[Replay]
    high: Sequence[Replay]
    step_s: Array
    whole_s: float

    def share(self, flags: Flags) -> float:
        return replay.seconds_of(self.step_s, flags) / self.whole_s

    def shares_asking(self, replays: Sequence[Replay]) -> list[float]:
        """D of each draw."""
        return [self.share(drawn.asks) for drawn in replays]

    def shares_at_cap(self, replays: Sequence[Replay]) -> list[float]:
        """S of each draw."""
        return [self.share(drawn.at_cap) for drawn in replays]

    @property
    def reached_s(self) -> Array:
        """The most of S in each step, as the mean of all draws."""
        at_cap = np.mean([drawn.at_cap for drawn in self.high], axis=0)
        return np.asarray(at_cap * self.step_s)


def bounds_of(demand: Demand, caps: Caps, unit: int | None, slack: Slack) -> Bounds:
    seconds = by_second(demand)
    basis = seconds or (demand,)
    draws = _Draws(
        low=_replays(basis, caps, unit, "low", slack),
        high=_replays(basis, caps, unit, "high", slack),
        step_s=basis[0].step_s,
        whole_s=float(demand.step_s.sum()),
    )
    if demand.is_fine:
        return _by_seconds(draws)
    hard = sums_alone.hard(demand, caps, unit, slack)
    hard_band = Band(
        least=hard.least_s / draws.whole_s,
        most=float(hard.most_s.sum()) / draws.whole_s,
    )
    if seconds:
        return _by_draws(draws, hard_band, slack)
    return Bounds(
        waits=_NOT_KNOWN,
        queues=hard_band,
        reached_s=hard.most_s,
        low=draws.low[0],
        high=draws.high[0],
    )


def _replays(
    basis: Iterable[Demand], caps: Caps, unit: int | None, end: End, slack: Slack
) -> list[Replay]:
    return [replay.together(drawn, caps, unit, end, slack) for drawn in basis]


def _by_seconds(draws: _Draws) -> Bounds:
    """The demand was read in seconds: its two replays are the bounds."""
    (low,) = draws.low
    (high,) = draws.high
    waits = Band(draws.share(low.asks), draws.share(high.asks))
    queues = Band(draws.share(low.at_cap), draws.share(high.at_cap))
    return Bounds(waits, queues, draws.reached_s, low, high)


def _by_draws(draws: _Draws, hard_band: Band, slack: Slack) -> Bounds:
    """Seconds were drawn: each end has a band of its own, from the spread of the draws."""
    low_queues = draws.shares_at_cap(draws.low)
    high_queues = draws.shares_at_cap(draws.high)
    # The least is not held to that of the hard band, by which each I/O is still made. Commits that
    # share a write leave less at the cap.
    queues = Band(
        least=band(low_queues, Band(0.0, hard_band.most)).least,
        most=band(high_queues, hard_band).most,
    )
    # D ≤ S, whatever was drawn.
    within = Band(0.0, queues.most)
    low_waits = draws.shares_asking(draws.low)
    high_waits = draws.shares_asking(draws.high)
    spread = SPREAD
    # Slack makes the band of D wide enough by itself.
    if slack == SAME:
        spread = SPREAD_OF_D
    waits = Band(
        least=band(low_waits, within, spread).least,
        most=band(high_waits, within, spread).most,
    )
    return Bounds(
        waits=waits,
        queues=queues,
        reached_s=draws.reached_s,
        low=draws.low[0],
        high=draws.high[0],
    )
