"""What a database asked of a fast disk, replayed on a slower one, held against that disk.

Goal: the way from counters of a real device to a share of the seconds, with PostgreSQL and a load
that changes, for 40 s. How well bands hold is for `make bench NAME=observe_real`: here they may
miss by ten points, because a busy machine is late.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.extensions.observe.judging.candidate_answers import Observed
from tests.bench import bench_observe_real as trial
from tests.bench.pgbench_servers import FAST

SECONDS, SHARE, MISSED = 40.0, 0.1, 0.1
SIZE: trial.Size = 20, "160m"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
def test_a_slower_disk_is_at_its_cap_about_as_long_as_an_observation_of_a_fast_one_says(
    tmp_path: Path,
) -> None:
    of = trial.Trial(tmp_path, 1, SECONDS, SIZE)
    fast = of.reading("open", iops=FAST).demand
    iops = round(Observed((fast,), SHARE).needs[0])
    assert 20 < iops < FAST / 2
    said = of.said("open", fast, of.reading("open", iops=iops), iops)
    assert 0.5 < said.times < 1.5
    less, more, (low, high) = said.on.at_cap_least, said.on.at_cap_most, said.seen
    assert less - MISSED <= high and low <= more + MISSED, str(said)
