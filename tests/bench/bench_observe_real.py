"""What an observation predicts of other disks, held against those disks: with PostgreSQL.

    make bench NAME=observe_real ARGS="--folder /tmp/observed --seeds 6 --minutes 4"
    make bench NAME=observe_real ARGS="--folder /tmp/credit --seeds 8 --minutes 12 --only credit"

Goals: those of docs/research/OBSERVE.md, figures 2, 4 and 6; of a burst credit the fast disk's
counters and the disk's own are tried.

Method: a PostgreSQL of little memory, started from the same image of a disk, under a seeded
schedule of pgbench: arrivals at rates that change by a hundred times (open), or sessions that think
(closed). On an emulated disk of 20,000 IOPS counters are read every second; then the same on disks
that are predicted to be at their cap in some share of the seconds, or to lose their credit, of
which the truth is from their own counters. Each seed has a disk and a database of its own, and all
of them run side by side: each asks for some hundred I/Os a second. What is finished stays in the
folder, and the same line goes on. Needs root, Docker and the image of PostgreSQL (`make setup`);
nothing else may run. Exit 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.judging import rate_caps, replay
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.counter_growth import grown
from orchestrator.extensions.observe.judging.demand import QUANTITIES, Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.judging.drawn_seconds import Band
from orchestrator.extensions.observe.judging.rate_caps import End, RateCap
from orchestrator.extensions.observe.judging.share_bounds import OnDisk, judged
from tests.bench.pgbench_servers import FAST, Load, Server, playing, run, tierbench

Size = tuple[int, str]  # scale of pgbench, 15 MB each, and memory, which holds less

Part = Literal["open", "credit", "closed"]
PARTS: tuple[Part, ...] = "open", "credit", "closed"
SHARES: dict[Load, tuple[float, ...]] = {
    "open": (0.005, 0.05, 0.3),
    "closed": (0.05, 0.3),
}
SIZE: Size = 50, "320m"
UNIT_BYTES = 2**18
ENDS: tuple[End, End] = ("low", "high")
POINT, RATIO, TENTHS = 0.01, 0.15, 0.9
SHORTEST_S = 20  # of which a twentieth, the goal, is a second: the distance of readings
BASE, TOP, GONE_AT = 0.7, 3.0, (0.3, 0.8)  # of the mean rate, and of the time
_LOADING = threading.Lock()


@dataclass(frozen=True)
class Reading:
    """What a disk served of the load, second by second; the share of a full bucket that was left
    of its credit, by time since the first second; and the share of the seconds in which an I/O
    waited for its limits in half of the second or more, as the disk counts it."""

    demand: Demand
    credit: Sequence[tuple[float, float]]
    waiting: float


@dataclass(frozen=True)
class Said:
    """figure: "open", "closed" or "capped", which is open too. seen: the share of seconds at the
    cap, at least and at most; waiting: as of `Reading`; times: I/Os of those that were observed."""

    figure: str
    seed: int
    iops: int
    on: OnDisk
    seen: Band
    waiting: float
    times: float

    @property
    def is_near(self) -> bool:
        (least, most), off = self.seen, max(POINT, RATIO * fmean(self.seen))
        return self.on.queues[0] <= most + off and least - off <= self.on.queues[1]

    @property
    def in_band(self) -> bool:
        return (
            self.on.at_cap_least <= self.seen[1] and self.seen[0] <= self.on.at_cap_most
        )

    @property
    def of_d(self) -> float:
        return (
            fmean(self.seen) / fmean(self.on.waits)
            if min(self.on.waits) >= POINT
            else np.nan
        )

    def __str__(self) -> str:
        bands = (
            self.on.waits,
            self.on.queues,
            (self.on.at_cap_least, self.on.at_cap_most),
            self.seen,
        )
        d, s, slack, seen = (f"{100 * a:.1f} to {100 * b:.1f}" for a, b in bands)
        said = f"D {d} %, S {s} %, with 30 % less or 10 % more {slack} %; seen {seen} %"
        also = f"I/Os waited in {100 * self.waiting:.1f} %; I/Os {self.times:.2f}"
        return f"{self.figure}, seed {self.seed}, {self.iops} IOPS: {said}; {also}"


When = tuple[float, float]  # in s, and the share of the time without credit


@dataclass(frozen=True)
class Gone:
    """When the credit was gone and which share of the time there was none, as told from a reading
    of `source`, at the soonest and at the latest, and as the disk itself counted."""

    source: str
    seed: int
    length_s: int
    told: tuple[When, When]
    seen: When

    def _beyond(self, which: int) -> float:
        least, most = sorted(each[which] for each in self.told)
        return max(0.0, least - self.seen[which], self.seen[which] - most)

    @property
    def off(self) -> float:
        """Of a full bucket's length."""
        return self._beyond(0) / self.length_s

    @property
    def share_off(self) -> float:
        return self._beyond(1)

    def __str__(self) -> str:
        said = (
            f"{at:.0f} s, none {100 * of:.1f} %" for at, of in (*self.told, self.seen)
        )
        of = f"credit, seed {self.seed}, bucket of {self.length_s} s, from {self.source} counters"
        soonest, latest, seen = said
        told = f"told {soonest} to {latest}; seen {seen}"
        return f"{of}: {told}; {100 * self.off:.1f} % of the bucket off"


def burst(base: int, top: int, length_s: float) -> RateCap:
    return RateCap("IOPS", "ios", base, top, (top - base) * length_s)


def as_it_came(demand: Demand) -> Demand:
    """Each I/O as one that is made anyway."""
    reads, writes, *moved = demand.amounts
    none = np.zeros_like(reads)
    return replace(demand, amounts=np.array([reads + writes, none, sum(moved), none]))


def gone(demand: Demand, cap: RateCap, end: End = "low") -> When:
    """When a bucket that was full is empty (infinite: never), and in which share of the time."""
    left = replay.together(demand, [cap], UNIT_BYTES, end).credit
    if end == "high":  # of which the package takes it as empty at first
        wanted = rate_caps.asked(demand, cap, UNIT_BYTES, end)
        _, _, left = replay.replayed(wanted, wanted, demand.step_s, cap, full=True)
    empty = left <= cap.base / cap.bucket  # what it gives in a second
    after_s = demand.begin_s + demand.step_s - demand.begin_s[0]
    return float(after_s[empty][0]) if empty.any() else np.inf, float(empty.mean())


def _unsure_s(
    demand: Demand, base: int, top: int, length_s: float, seconds: float
) -> float:
    """By how much later a bucket that is a fifth larger is empty; infinite: not in mid-time."""
    own = as_it_came(demand)
    sooner, later = (
        gone(own, burst(base, top, times * length_s))[0] for times in (0.9, 1.1)
    )
    is_amid = GONE_AT[0] * seconds < sooner and later < GONE_AT[1] * seconds
    return later - sooner if is_amid else np.inf


@dataclass(frozen=True)
class Trial:
    folder: Path
    seed: int
    seconds: float
    size: Size = SIZE
    settings: str = ""

    def reading(self, load: Load, **limits: int) -> Reading:
        """Of a disk with these limits; measured once, and kept."""
        named = "-".join(map(str, limits.values()))
        kept = self.folder / f"seed-{self.seed}-{load}-{named}.json"
        if not kept.exists():
            kept.write_text(json.dumps(self._measured(load, limits)))
        rows, said = json.loads(kept.read_text())
        table = pd.DataFrame(rows, columns=["time_s", *QUANTITIES])
        (demand,) = demands(grown(table.assign(node="db", device="disk")))
        time_s, waited_s, credit = np.reshape(said, (-1, 3)).T
        waits = np.diff(waited_s) >= 0.5 * np.diff(time_s)
        waiting = float(waits.mean()) if len(waits) else np.nan
        return Reading(
            demand, list(zip(time_s - demand.begin_s[0], credit, strict=True)), waiting
        )

    def _measured(
        self, load: Load, limits: Mapping[str, int]
    ) -> tuple[list[list[float]], list[list[float]]]:
        scale, memory = self.size
        loading = Server(self.folder, "observe-trial-loading", memory)
        server = Server(
            self.folder, f"observe-trial-{self.seed}", memory, self.settings
        )
        loaded = self.folder / f"scale-{scale}"
        server.image.parent.mkdir(exist_ok=True)
        with _LOADING:
            if not loaded.exists():
                with loading.disk(), loading.database():
                    loading.shell(
                        f"pgbench -h /tmp -i -q -s {scale} postgres >/dev/null 2>&1"
                    )
                    # It ends the container too, and with it this command.
                    loading.shell(
                        "pg_ctl -D /data/pg/d -m fast stop >/dev/null", check=False
                    )
                loading.image.rename(loaded)
        run("cp", "--sparse=always", str(loaded), str(server.image))
        rows, said, stop = list[list[float]](), list[list[float]](), threading.Event()
        with server.disk() as device, server.database():
            readers = [
                threading.Thread(target=server.counted, args=(device, stop, rows)),
                threading.Thread(target=server.asked, args=(stop, said)),
            ]
            tierbench(
                "disk", "set", server.name, *(f"{k}={v}" for k, v in limits.items())
            )
            for reader in readers:
                reader.start()
            try:
                with playing(server, load, self.seed, self.seconds):
                    stop.set()
            finally:
                stop.set()
                for reader in readers:
                    reader.join()
            # What is left to write is written when the disk is taken down.
            tierbench("disk", "set", server.name, f"iops={FAST}")
        server.image.unlink()
        return rows, said

    # ------------------------------------------------------------------ what is held

    def of_load(self, load: Load) -> Iterator[Said]:
        """Figures 2 and 6: from a fast disk, and of an open load from one that was at its cap."""
        fast, source = self.reading(load, iops=FAST).demand, None
        for share in SHARES[load]:
            iops = round(Observed((fast,), share / 0.9).needs[0])
            there = self.reading(load, iops=iops)
            yield self.said(load, fast, there, iops)
            if source and load == "open":
                yield self.said("capped", source, there, iops)
            source = there.demand

    def said(self, figure: str, observed: Demand, there: Reading, iops: int) -> Said:
        cap = RateCap("IOPS", "ios", iops, iops)
        on = judged(observed, (cap,), UNIT_BYTES)
        # It serves what it can and cannot ask for more: the share of seconds that it served so.
        least, most = (
            float(replay.together(there.demand, [cap], UNIT_BYTES, end).asks.mean())
            for end in ENDS
        )
        times = there.demand.ios.sum() / observed.ios.sum()
        seen = Band(least, most)
        return Said(figure, self.seed, iops, on, seen, there.waiting, times)

    def of_credit(self) -> Iterator[Gone]:
        """Figure 4: a bucket that empties amid the time and steeply, so that its size tells when;
        from counters of the fast disk, and of its own."""
        fast = self.reading("open", iops=FAST).demand
        mean = float(fast.ios.mean())
        base, top = round(BASE * mean), round(TOP * mean)
        lengths = range(SHORTEST_S, round(self.seconds / 4))
        length = min(
            lengths, key=lambda length: _unsure_s(fast, base, top, length, self.seconds)
        )
        limits = {"iops_burst": top, "iops_burst_length": length, "burst_start": 100}
        there = self.reading("open", iops=base, **limits)
        low = base / ((top - base) * length)
        empty = [(time_s, left <= low) for time_s, left in there.credit]
        seen = (
            next((s for s, is_empty in empty if is_empty), np.inf),
            fmean(e for _, e in empty),
        )
        cap, own = burst(base, top, length), as_it_came(there.demand)
        soonest, latest = (gone(fast, cap, end) for end in ("high", "low"))
        yield Gone("fast", self.seed, length, (soonest, latest), seen)
        yield Gone("own", self.seed, length, (gone(own, cap), gone(own, cap)), seen)

    def all(self, parts: Sequence[Part]) -> Iterator[Said | Gone]:
        for part in parts:
            for each in self.of_credit() if part == "credit" else self.of_load(part):
                print(each, flush=True)
                yield each


def goals(every: Sequence[Said | Gone]) -> Iterator[tuple[str, Sequence[bool], float]]:
    """What is held, of each try whether, and in which share it is to be."""
    said = [each for each in every if isinstance(each, Said)]
    for figure in ("open", "capped"):
        own = [each for each in said if each.figure == figure]
        yield (
            f"{figure}: S within a point or 15 %",
            [each.is_near for each in own],
            TENTHS,
        )
        yield (
            f"{figure}: with 30 % less or 10 % more",
            [each.in_band for each in own],
            TENTHS,
        )
    closed = [each for each in said if each.figure == "closed"]
    yield (
        "closed: no more than S",
        [each.seen[0] <= each.on.queues[1] for each in closed],
        1.0,
    )
    ratios = [each.of_d for each in closed if np.isfinite(each.of_d)]
    yield "closed: 0.5 to 1.5 of D", [0.5 <= ratio <= 1.5 for ratio in ratios], TENTHS
    for source in ("own", "fast"):
        of = [
            each for each in every if isinstance(each, Gone) and each.source == source
        ]
        name = f"credit, by {source} counters"
        yield (
            f"{name}: gone within 5 % of the bucket",
            [each.off <= 0.05 for each in of],
            TENTHS,
        )
        yield (
            f"{name}: none within a point",
            [each.share_off <= POINT for each in of],
            TENTHS,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument(
        "--settings", default="", help="of PostgreSQL; in a folder of its own"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    seeds = range(asked.first, asked.first + asked.seeds)
    trials = [
        Trial(asked.folder, seed, 60 * asked.minutes, settings=asked.settings)
        for seed in seeds
    ]
    with ThreadPoolExecutor(len(trials)) as pool:
        found = pool.map(lambda trial: list(trial.all(asked.only)), trials)
        every = [each for of_trial in found for each in of_trial]
    missed = False
    for name, held, share in goals(every):
        if not held:
            continue
        missed |= sum(held) < share * len(held)
        print(f"{name}: {sum(held)} of {len(held)}, goal {100 * share:.0f} %")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
