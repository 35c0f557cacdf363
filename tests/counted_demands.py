"""Demands on a disk that counts for how long it was above its limit, as minutes of it show them.

The demand is made in seconds. The disk serves it in its order; its count is the seconds in which
more was asked for than it lets through. What seconds of the demand itself say is the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orchestrator.extensions.observe.candidates import Purchase, purchases
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.reported_throttle import ReportedThrottle
from orchestrator.tier import Limits
from tests.catalog import CATALOG
from tests.simulated_demand import in_seconds, summed

GIB = 2**30
ONE_PCT = 0.01
DAY_S = 24 * 3600
MINUTE_S = 60
SOURCE = Limits(3_000, 125_000_000)
IOPS = 3_000.0
Words = dict[str, str]


def offers() -> list[Purchase]:
    """All that is sold by IOPS and bytes/s, and of each kind some sizes."""
    return purchases(CATALOG, 256 * GIB, (6_000.0, 2e8), None, None)


def served(asked: Array) -> tuple[Array, Array]:
    """What a disk with `IOPS` serves in each second, and whether more was asked of it."""
    through = np.empty(len(asked))
    is_over = np.empty(len(asked))
    waiting = 0.0
    for second, came in enumerate(asked.tolist()):
        there = waiting + came
        through[second] = min(there, IOPS)
        is_over[second] = there > IOPS
        waiting = there - through[second]
    return through, is_over


def counting(asked: Demand, machine: float | None = 0.0, of_all: bool = True) -> Demand:
    """Minutes of what the disk served, with its count. `machine`: the share of each minute for
    which its machine was exceeded; None: it does not count that."""
    through, is_over = served(asked.ios)
    minutes = summed(in_seconds(through), MINUTE_S)
    share = is_over[: len(minutes.begin_s) * MINUTE_S].reshape(-1, MINUTE_S).mean(1)
    if not of_all:
        share[3] = np.nan
    nothing = np.zeros(len(share))
    throttles = [
        ReportedThrottle("ios", share, is_counted=True),
        ReportedThrottle("bytes", nothing, is_counted=True),
    ]
    if machine is not None:
        of_machine = np.full(len(share), machine)
        throttles += [
            ReportedThrottle("ios", of_machine, "machine", is_counted=True),
            ReportedThrottle("bytes", nothing, "machine", is_counted=True),
        ]
    return replace(minutes, reported=tuple(throttles))


def words(demand: Demand, source: Limits | None = SOURCE) -> Words:
    observation = Observed.of([demand], ONE_PCT, source)
    answers = observation.against(offers()).answers
    return {answer.purchase.name: answer.word for answer in answers}


def told(of: Words) -> int:
    """How many are said to have carried it, or not."""
    return sum(word != "cannot be told" for word in of.values())


def contradicted(asked: Demand, said: Words) -> Sequence[str]:
    """Words that seconds of what was asked for contradict."""
    truth = Observed.of([asked], ONE_PCT, Limits(10**6, 10**10)).against(offers())
    wrong: list[str] = []
    for answer in truth.answers:
        name = answer.purchase.name
        seen = answer.on.queues
        if said[name] == "would have carried" and seen.least > ONE_PCT:
            wrong.append(f"{name} {said[name]}")
        if said[name] == "would not" and seen.most <= ONE_PCT:
            wrong.append(f"{name} {said[name]}")
    return wrong
