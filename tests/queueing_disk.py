"""A disk that takes a while for each I/O and begins no more than so many in a second: what
/proc/diskstats would have counted of it, second by second.

I/Os begin in the order in which they come, each no sooner than the limit lets it after the one
before, and then take a time that varies by chance (gamma, a coefficient of variation of 0.5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator.extensions.observe.judging.demand import Array, Demand
from tests.simulated_demand import in_seconds

_SHAPE = 4.0  # of a gamma distribution: its coefficient of variation is one half


def open_arrivals(
    random: np.random.Generator,
    asked: Array,
    limit: float,
    jitter: float,
    takes_s: float,
) -> Demand:
    """`asked`: I/Os that arrive in each second, at any moment of it, whatever is still waiting.
    `jitter`: by how much the limit varies from second to second, as a share."""
    begins_s = np.repeat(np.arange(len(asked), dtype=float), asked.astype(int))
    arrives_s = np.sort(begins_s + random.random(len(begins_s)))
    # I/Os of about one second at the limit have one distance.
    limits = limit * (1 + random.normal(0, jitter, 1 + int(len(arrives_s) / limit)))
    place = (np.arange(len(arrives_s)) / limit).astype(int)
    apart_s = np.cumsum(1 / limits[place])
    starts_s = apart_s + np.maximum.accumulate(arrives_s - apart_s)
    ends_s = starts_s + _times_s(random, len(starts_s), takes_s)
    return _counted(arrives_s, ends_s, len(asked))


def closed_sessions(
    random: np.random.Generator,
    sessions: int,
    seconds: int,
    limit: float,
    jitter: float,
    takes_s: float,
) -> Demand:
    """Each asks again as soon as its I/O is done: at the limit all of them wait or are served."""
    limits = limit * (1 + random.normal(0, jitter, seconds))
    unlimited = sessions / takes_s
    # A mean over a second of so many independent times.
    varies = 0.5 / np.sqrt(unlimited)
    rates = np.minimum(limits, unlimited * (1 + random.normal(0, varies, seconds)))
    ended = np.round(rates).astype(np.float64)
    return replace(in_seconds(ended), queue_s=np.full(seconds, float(sessions)))


def one_session(
    random: np.random.Generator,
    seconds: int,
    limit: float,
    computes_s: float,
    takes_s: float,
) -> Demand:
    """Computes for a while (exponential) before each I/O, and waits for it."""
    most = int(seconds * limit)
    computing_s = random.exponential(computes_s, most)
    taking_s = _times_s(random, most, takes_s)
    arrives_s = np.empty(most)
    ends_s = np.empty(most)
    now_s = 0.0
    may_start_s = 0.0
    for place in range(most):
        arrives_s[place] = now_s + computing_s[place]
        starts_s = max(arrives_s[place], may_start_s)
        may_start_s = starts_s + 1 / limit
        now_s = starts_s + taking_s[place]
        ends_s[place] = now_s
    return _counted(arrives_s, ends_s, seconds)


def _times_s(random: np.random.Generator, count: int, mean_s: float) -> Array:
    return np.asarray(random.gamma(_SHAPE, mean_s / _SHAPE, count))


def _counted(arrives_s: Array, ends_s: Array, seconds: int) -> Demand:
    """I/Os by the second in which they ended, and how long all took in each second."""
    edges_s = np.arange(seconds + 1, dtype=float)
    in_order_s = np.sort(ends_s)
    ended = np.diff(np.searchsorted(in_order_s, edges_s)).astype(float)
    passed_s = _passed_s(arrives_s, edges_s) - _passed_s(in_order_s, edges_s)
    return replace(in_seconds(ended), queue_s=np.diff(passed_s))


def _passed_s(times_s: Array, edges_s: Array) -> Array:
    """Of all that was before each edge the time since then, in sum. `times_s`: ascending."""
    before = np.searchsorted(times_s, edges_s)
    sums_s = np.concatenate(([0.0], np.cumsum(times_s)))
    return np.asarray(before * edges_s - sums_s[before])
