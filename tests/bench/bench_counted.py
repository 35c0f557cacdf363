"""What a disk's own count of its limits settles of minutes.

    make bench NAME=counted

Question: how many disks of the catalog have a word from minutes, without the count of the observed
disk and with it, and how many of these words do seconds of the same demand contradict? Method and
figures: docs/research/OBSERVE.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

from tests.counted_demands import DAY_S, contradicted, counting, told, words
from tests.simulated_demand import PROCESSES, seconds_of

MEANS = (270.0, 500.0, 900.0)  # I/Os a second, for the seeds 0, 1 and 2


def main() -> int:
    total: Counter[str] = Counter()
    for process in PROCESSES:
        for seed, mean in enumerate(MEANS):
            found = _tried(process, seed, mean)
            total.update(found)
            print(f"{process}, {mean:g} a second: {dict(found)}", flush=True)
    print(f"all: {dict(total)}")
    return 0


def _tried(process: str, seed: int, mean: float) -> Counter[str]:
    asked = seconds_of(process, seed, DAY_S // 4, mean=mean)
    demand = counting(asked)
    without = words(replace(demand, reported=()))
    counted = words(demand)
    return Counter(
        {
            "answers": len(counted),
            "told without": told(without),
            "told with": told(counted),
            "contradicted without": len(contradicted(asked, without)),
            "contradicted with": len(contradicted(asked, counted)),
        }
    )


if __name__ == "__main__":
    sys.exit(main())
