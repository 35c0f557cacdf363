"""Whether the limit of a run is named rightly: limits known by construction, real or simulated.

    make bench NAME=attribution [ARGS="--only 'hot row' --again"]    # real: 25 minutes on two cores
    make bench NAME=attribution ARGS=--simulated                     # 200 random systems

Real: each of `known_limits.LIMITS` is one run of PostgreSQL on emulated disks, with `--confirm`.
What was measured stays in the folder, is not measured again without `--again`, and is judged anew
each time. A run beside which others used more than a quarter of this machine is measured again, at
most twice. Simulated: the truth is what throughput gains when one thing is made a quarter better.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.telemetry.causes import bottlenecks
from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests import ROOT
from tests.bench import known_limits
from tests.bench.known_limits import LIMITS, Limit
from tests.bench.simulated_system import System, gains_pct, simulated

NOISE_PCT = 2.5  # points of gain between two windows: smaller differences are no order
NOTHING_PCT = 2.0  # a gain below it is none
CAUSES = {  # cause → what it says would help
    "iops_cap": "iops",
    "bandwidth_cap": "bandwidth",
    "latency_bound": "latency",
    "cpu_bound": "cpu",
    "client_bound": "client",
    "network_bound": "network",
    "contention": "lock",
    "few_sessions": "sessions",
}
# What holds a lock is the sync of others too, which `System.holding` leaves as it is.
DISK = ("iops", "bandwidth", "latency")
HELD_BY_SYNCS = "a lower latency would help too"
HELD_BY_QUEUES = "behind other I/Os: a faster disk would help too"


def drawn(random: Random) -> System:
    """One system of all kinds, slow enough to be simulated in seconds."""

    def between(low: float, high: float) -> float:
        """By its logarithm."""
        return float(low * (high / low) ** random.random())

    commits = random.choice([0.0, 0.3, 1.0])
    iops, bytes_per_s = between(100, 4_000), between(1e6, 1e8)
    flushing_s, each_s = random.choice([(0.0, 10.0)] * 3 + [(4.0, 10.0), (0.1, 0.3)])
    return System(
        sessions=random.choice([4, 8, 16, 32, 64]),
        client_s=between(0.0005, 0.02),
        client_cores=random.choice([1, 2, 8, 8]),
        round_trip_s=between(0.001, 0.02),
        link_bytes_per_s=between(2e5, 1e8),
        sent_bytes=between(500, 4_000),
        cpu_s=between(0.005, 0.05),
        cores=random.choice([2, 4, 8]),
        reads=random.choice([0.0, 0.5, 2.0, 5.0]),
        iops=iops,
        bytes_per_s=bytes_per_s,
        latency_s=between(0.002, 0.02),
        commits=commits,
        hot=random.choice([0.0, 0.0, 0.3, 1.0]) if commits else 0.0,
        under_lock_s=random.choice([0.0, 0.005]),
        written_back=flushing_s * min(iops, bytes_per_s / System.io_bytes),
        written_each_s=each_s,
    )


@dataclass(frozen=True)
class Judged:
    """`gains_pct`: of each thing, and of sessions; `text`: all that was said."""

    cause: str
    text: str
    gains_pct: dict[str, float]

    @property
    def strongest(self) -> list[float]:
        """Gains of things, not of sessions, highest first."""
        gains = (gain for thing, gain in self.gains_pct.items() if thing != "sessions")
        return sorted(gains, reverse=True)

    @property
    def wrong(self) -> bool:
        if self.cause == "unattributed":
            return False
        if self.cause in ("in_cache", "load_bound"):
            disk = max(self.gains_pct[thing] for thing in DISK)
            every = max(self.gains_pct.values())
            return max(disk, every if self.cause == "load_bound" else 0.0) > NOISE_PCT
        gain = self.gains_pct[CAUSES[self.cause]]
        if HELD_BY_SYNCS in self.text:
            gain = max(gain, self.gains_pct["latency"])
        if HELD_BY_QUEUES in self.text:
            gain = max(gain, *(self.gains_pct[thing] for thing in DISK))
        return gain + NOISE_PCT < self.strongest[0]

    @property
    def dominated(self) -> bool:
        """Whether one limit is twice the next."""
        first, second = self.strongest[:2]
        return first >= 5 and first >= 2 * max(second, NOTHING_PCT)

    @property
    def false_sentences(self) -> list[str]:
        said = (
            ("so would more sessions at a time", "sessions", True),
            ("More sessions at a time would raise", "sessions", True),
            ("more sessions at a time would raise", "sessions", True),
            (HELD_BY_SYNCS, "latency", True),
            (HELD_BY_QUEUES, "disk", True),
            ("A faster disk would not", "latency", False),
            ("A faster disk would not", "iops", False),
            ("More IOPS or bandwidth would not help", "iops", False),
            ("More IOPS or bandwidth would not help", "bandwidth", False),
        )
        gains_pct = {
            **self.gains_pct,
            "disk": max(self.gains_pct[thing] for thing in DISK),
        }
        return [
            sentence
            for sentence, thing, helps in said
            if sentence in self.text
            and (
                gains_pct[thing] < NOTHING_PCT
                if helps
                else gains_pct[thing] > NOISE_PCT
            )
        ]


def judged(system: System, seed: int) -> Judged:
    _, run = simulated(system, seed)
    limit = bottlenecks.bottleneck([run], None)
    assert limit is not None
    return Judged(limit.cause, limit.in_words, gains_pct(system, seed))


def simulated_systems(systems: int, seed: int, verbose: bool) -> None:
    every, named = list[Judged](), Counter[str]()
    for number in range(seed, seed + systems):
        system = drawn(Random(number))
        every.append(found := judged(system, number))
        named[found.cause] += 1
        unnamed = found.cause == "unattributed" and found.dominated
        if verbose and (found.wrong or unnamed or found.false_sentences):
            gains = ", ".join(
                f"{thing} {gain:+.0f}" for thing, gain in found.gains_pct.items()
            )
            print(
                f"{number}: {found.cause}: {found.text}\n  {gains}\n  {system}",
                flush=True,
            )
    dominated = [found for found in every if found.dominated]
    silent = sum(found.cause == "unattributed" for found in dominated)
    wrong = sum(found.wrong for found in every)
    false = sum(len(found.false_sentences) for found in every)
    print(
        f"{len(every)} systems: {', '.join(f'{name} {n}' for name, n in named.most_common())}"
    )
    print(f"wrong: {wrong} ({100 * wrong / len(every):.1f} %; goal <= 3 %)")
    share = 100 * silent / len(dominated) if dominated else 0.0
    print(
        f"no cause where one limit is twice the next: {silent} of {len(dominated)} "
        f"({share:.1f} %; goal <= 5 %)"
    )
    print(f"false side sentences: {false} (goal 0)")


# ------------------------------------------------------------------ on real parts

OTHERS_PCT = 25.0  # of the machine's CPU
TRIES = 3


def real_limits(folder: Path, names: Sequence[str], again: bool, confirm: bool) -> None:
    for name in names:
        place = folder / name.replace(" ", "-").replace("%", "pct")
        anew = again
        for _ in range(TRIES):
            if anew or not _is_measured(place):
                limit = LIMITS[name] if confirm else replace(LIMITS[name], lever="")
                known_limits.measure(_capped(limit, place / "first"), place)
            judged_so = _judged(place)
            print(row(name, LIMITS[name], judged_so), flush=True)
            if (
                "host" in name
                or judged_so.evidence.get("other_cpu_pct", 0.0) <= OTHERS_PCT
            ):
                break
            anew = True


def _capped(limit: Limit, place: Path) -> Limit:
    """With the cap that follows from a run without it there, if one is to."""
    if limit.of_cap is None and not limit.both_caps:
        return limit
    if not _is_measured(place):
        known_limits.measure(replace(limit, lever=""), place)
    found = _judged(place).evidence
    if limit.of_cap is not None:
        return replace(
            limit, tier={**limit.tier, "iops": round(found["disk_iops"] / limit.of_cap)}
        )
    moved = f"{found['disk_bytes_per_s'] / 1e3:.0f}kB/s"
    return replace(limit, tier={**limit.tier, "throughput": moved})


def _is_measured(place: Path) -> bool:
    return (place / "results" / "latest").exists()


def _judged(place: Path) -> Bottleneck:
    (limit,) = judge(store.load(place / "results" / "latest")).bottlenecks
    return limit


def row(name: str, known: Limit, limit: Bottleneck) -> str:
    told = limit.cause
    right = (
        "right"
        if told in known.causes
        else "silent"
        if told == "unattributed"
        else "WRONG"
    )
    held = limit.evidence.get("held_pct")
    tried = ", ".join(
        f"{e.limit} {e.value:.2f} ({e.low:.2f} to {e.high:.2f})"
        for e in limit.elasticities
    )
    return f"| {name} | {told} | {'' if held is None else f'{held:.0f}'} | {right} | {tried} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--verbose", action="store_true", help="print each wrong or silent one"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "attribution")
    parser.add_argument("--only", nargs="*", choices=list(LIMITS), default=list(LIMITS))
    parser.add_argument(
        "--again", action="store_true", help="measure what was measured already"
    )
    parser.add_argument(
        "--no-confirm", action="store_true", help="half as long: counters alone"
    )
    options = parser.parse_args()
    if options.simulated:
        simulated_systems(options.systems, options.seed, options.verbose)
    else:
        real_limits(options.folder, options.only, options.again, not options.no_confirm)


if __name__ == "__main__":
    main()
