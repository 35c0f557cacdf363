"""How often an observed disk that was at its own limit is seen without --source, simulated.

    make bench NAME=seeming_limits ARGS="--repeats 100"
    make bench NAME=seeming_limits ARGS="--repeats 20 --queues"

Goal: of a disk that held its load back in a tenth of the time or more, larger ones are hardly ever
said to have carried it; of loads that no disk held back as few as possible lose that word; with a
`--source` of 1.5 times the rate none. Method:
an hour of seconds. A limited disk serves what was asked up to its limit, which varies by chance
from second to second (jitter); what is asked is Poisson at 1.5 times the limit all the time, or at
a rate that wanders (log-normal, 0.5, correlated over 50 s) and is above the limit for a share of
it. Held against each is a disk of 1.2 times the limit. Honest loads are Poisson at one rate, or the
eight processes of tests/simulated_demand.py for a day; held against a disk of 20 times their mean.

Printed: how many in 100 have the word `would have carried`, with its standard error. It is wrong
where the larger disk would have been at its limit for more than 1 % of the time.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence

import numpy as np

from orchestrator.extensions.observe.judging import replay
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.share_bounds import judged
from orchestrator.tier import Limits
from tests.queueing_disk import closed_sessions, open_arrivals
from tests.simulated_demand import PROCESSES, in_seconds, seconds_of

HOUR_S = 3600
TOLERANCE = 0.01
LIMITS = (300.0, 1000.0, 5000.0)
JITTERS = (0.0, 0.01, 0.03)
SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)
# Of disks of which it is known how long I/Os took.
QUEUED_LIMIT, QUEUED_S, NO_LIMIT = 1000.0, 1200, 1e6
TAKES_S = (0.0003, 0.002, 0.01)
SESSIONS = (4, 32)
RATES = (100.0, 300.0, 500.0, 700.0, 900.0, 1100.0, 5000.0)


def wandering(random: np.random.Generator, limit: float, share: float) -> Array:
    """I/Os that are asked for in each second; more than the limit for that share of them."""
    if share == 1:
        return random.poisson(1.5 * limit, HOUR_S).astype(float)
    level = np.empty(HOUR_S)
    level[0] = random.normal()
    for second, shock in enumerate(random.normal(0, math.sqrt(1 - 0.98**2), HOUR_S)):
        if second:
            level[second] = 0.98 * level[second - 1] + shock
    above = np.quantile(level, 1 - share)
    return random.poisson(limit * np.exp(0.5 * (level - above))).astype(float)


def served(
    random: np.random.Generator, asked: Array, limit: float, jitter: float
) -> Array:
    """What a disk did that had to do later what was above its limit."""
    own = RateCap("IOPS", "ios", limit, limit)
    most, waits, _ = replay.replayed(asked, asked, np.ones(HOUR_S), own, full=True)
    at_limit = asked + waits >= most
    varied = limit * (1 + random.normal(0, jitter, HOUR_S))
    return np.where(at_limit, varied, asked + waits)


def says_it_carried(seen: Demand, iops: float, source: Limits | None = None) -> bool:
    held_back = Observed.of([seen], TOLERANCE, source).held_back
    more = judged(seen, (RateCap("IOPS", "ios", iops, iops),), None).at_cap_most
    return more + held_back <= TOLERANCE


def would_fail(asked: Array, iops: float) -> bool:
    cap = RateCap("IOPS", "ios", iops, iops)
    true = replay.together(in_seconds(asked), (cap,), None, "high")
    return float(true.at_cap.mean()) > TOLERANCE


def in_percent(words: Sequence[bool]) -> str:
    if not words:
        return "–"
    share = sum(words) / len(words)
    error = math.sqrt(share * (1 - share) / len(words))
    return f"{100 * share:.1f} ± {100 * error:.1f} of {len(words)}"


def limited(repeats: int) -> Iterable[str]:
    random = np.random.default_rng(1)
    for jitter in JITTERS:
        for share in SHARES:
            wrong: list[bool] = []
            for limit in LIMITS:
                for _ in range(repeats):
                    asked = wandering(random, limit, share)
                    if would_fail(asked, 1.2 * limit):
                        seen = in_seconds(served(random, asked, limit, jitter))
                        wrong.append(says_it_carried(seen, 1.2 * limit))
            yield f"jitter {jitter:.0%}, above its limit {share:.0%}: {in_percent(wrong)}"


def honest(repeats: int) -> Iterable[str]:
    random = np.random.default_rng(2)
    for rate in RATES:
        source = Limits(int(1.5 * rate), 2_000_000_000)
        right: list[bool] = []
        with_source: list[bool] = []
        for _ in range(repeats):
            seen = in_seconds(random.poisson(rate, HOUR_S).astype(float))
            right.append(says_it_carried(seen, 20 * rate))
            with_source.append(says_it_carried(seen, 20 * rate, source))
        figures = f"{in_percent(right)}; with --source {in_percent(with_source)}"
        yield f"one rate, {rate:,.0f} IOPS: {figures}"
    for process in PROCESSES:
        for mean in (400.0, 4000.0):
            kept: list[bool] = []
            for seed in range(max(1, repeats // 10)):
                seen = seconds_of(process, seed, mean=mean)
                kept.append(says_it_carried(seen, 20 * mean))
            yield f"{process}, {mean:,.0f} IOPS: {in_percent(kept)}"


def with_queues(repeats: int) -> Iterable[str]:
    """The same where it is known how long all I/Os took: of a disk that takes a while for each and
    begins no more than its limit (tests/queueing_disk.py)."""
    random = np.random.default_rng(3)
    yield "what is in flight is known: a larger disk would have carried it, wrongly"
    for jitter in JITTERS:
        for share in SHARES:
            wrong: list[bool] = []
            for takes_s in TAKES_S:
                for _ in range(repeats):
                    asked = wandering(random, QUEUED_LIMIT, share)
                    seen = open_arrivals(random, asked, QUEUED_LIMIT, jitter, takes_s)
                    if would_fail(asked, 1.2 * QUEUED_LIMIT):
                        wrong.append(says_it_carried(seen, 1.2 * QUEUED_LIMIT))
            yield f"jitter {jitter:.0%}, above its limit {share:.0%}: {in_percent(wrong)}"
        sessions: list[bool] = []
        for takes_s in TAKES_S:
            for count in SESSIONS:
                if count / takes_s > 1.2 * QUEUED_LIMIT:
                    sessions += of_sessions(random, repeats, count, jitter, takes_s)
        yield f"jitter {jitter:.0%}, sessions: {in_percent(sessions)}"
    yield "what is in flight is known: a larger disk would have carried it, rightly"
    for rate in RATES:
        right: list[bool] = []
        for takes_s in TAKES_S:
            for _ in range(repeats):
                asked = random.poisson(rate, QUEUED_S).astype(float)
                seen = open_arrivals(random, asked, NO_LIMIT, 0.0, takes_s)
                right.append(says_it_carried(seen, 20 * rate))
        yield f"one rate, {rate:,.0f} IOPS: {in_percent(right)}"


def of_sessions(
    random: np.random.Generator, repeats: int, count: int, jitter: float, takes_s: float
) -> list[bool]:
    words: list[bool] = []
    for _ in range(repeats):
        seen = closed_sessions(random, count, QUEUED_S, QUEUED_LIMIT, jitter, takes_s)
        words.append(says_it_carried(seen, 1.2 * QUEUED_LIMIT))
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--queues", action="store_true", help="with what is in flight")
    repeats = parser.parse_args().repeats
    if parser.parse_args().queues:
        for line in with_queues(repeats):
            print(line)
            sys.stdout.flush()
        return
    print("held back by its own limit: a larger disk would have carried it, wrongly")
    for line in limited(repeats):
        print(line)
        sys.stdout.flush()
    print("held back by nothing: a larger disk would have carried it, rightly")
    for line in honest(repeats):
        print(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
