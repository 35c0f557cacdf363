"""Whether I/Os waited at what looks like a limit, by how many were in flight. Pure.

Counts alone do not tell a disk at its limit from a load that asks for one rate all the time. What
is in flight does. A disk that holds I/Os back has one waiting most of the time. And there the
number in flight does not follow the rate: of closed sessions it stays the same while the limit
varies a little, and of open arrivals it grows and falls with what is still to be done. Of a load
that nothing holds back it does, as each I/O takes as long whether there are more or fewer of them.

This takes a doubt away and raises none. A limit that the node's own kernel keeps (`io.max` of a
cgroup) lets I/Os wait before they count as in flight. docs/research/OBSERVE.md has how often this
is right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.analysis.statistics import stats
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.replay import seconds_of

# I/Os in flight, on average. One session that computes between its I/Os has fewer than one at a
# limit; with fewer than this it would ask for less than twice the limit.
_ONE_WAITS = 0.5
# Seconds this far below a limit, as a share of it, are those at it.
_NEAR = 0.06
_FEWEST = 100  # seconds, for an exponent
# Exponent with which what is in flight follows the rate: 1 if nothing waits, and its bounds.
_FOLLOWS = (0.5, 1.5)
_CONFIDENCE = 0.99
# How much longer I/Os take in the slowest twentieth of these seconds than usual: more is a queue.
_SLOWEST = 0.95
_LONGER = 1.3


class _Followed(NamedTuple):
    """An exponent with its interval."""

    low: float
    high: float


def waiting_s(demand: Demand, cap: RateCap) -> float:
    """For how many seconds at most the cap may have held I/Os back.

    Where it is not known what was in flight, every second near the cap counts.
    """
    in_flight = demand.in_flight
    near = _rates(demand, cap) >= (1 - _NEAR) * cap.base
    # Written so that NaN counts as waiting: what is not known takes no doubt away.
    may_wait = near & ~(in_flight < _ONE_WAITS)
    if _follows_the_rate(demand, cap, near):
        return 0.0
    return seconds_of(demand.step_s, may_wait)


def _rates(demand: Demand, cap: RateCap) -> Array:
    if cap.counted == "bytes":
        return np.asarray(demand.bytes / demand.step_s)
    return np.asarray(demand.ios / demand.step_s)


def _follows_the_rate(
    demand: Demand, cap: RateCap, near: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> bool:
    """Whether near the limit what is in flight grows as the rate does, and I/Os take as long."""
    in_flight = demand.in_flight[near]
    rates = _rates(demand, cap)[near]
    if len(rates) < _FEWEST or not (in_flight > 0).all():
        return False
    # Little's law: what is in flight is the rate times how long each I/O takes.
    logs_of_rates = np.log(rates)
    each_takes = np.log(in_flight) - logs_of_rates
    slowest = float(np.quantile(each_takes, _SLOWEST) - np.median(each_takes))
    # A queue in a few of the seconds hardly changes the exponent, but I/Os take longer in these.
    if slowest > np.log(_LONGER):
        return False
    followed = _exponent(logs_of_rates, np.log(in_flight))
    least, most = _FOLLOWS
    return followed is not None and least <= followed.low and followed.high <= most


def _exponent(rates: Array, in_flight: Array) -> _Followed | None:
    """The interval of the exponent of a line through logarithms, by least squares.

    None if all rates are equal.
    """
    off = rates - rates.mean()
    weight = float((off**2).sum())
    if weight <= 0:
        return None
    slope = float((off * in_flight).sum()) / weight
    left = in_flight - in_flight.mean() - slope * off
    freedom = len(rates) - 2
    error = float(np.sqrt((left**2).sum() / freedom / weight))
    half = stats.t_quantile(0.5 + _CONFIDENCE / 2, freedom) * error
    return _Followed(slope - half, slope + half)
