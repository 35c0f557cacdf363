"""Live readings of disks: whose clock they have, what is kept, and what a kill loses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from orchestrator.analysis.observed.demand import Demand, demands
from orchestrator.histories import files
from orchestrator.model import Sample
from orchestrator.run.observing import observe
from orchestrator.run.telemetry import Readings
from orchestrator.system.clock import SystemClock
from tests import ROOT

PAGE = (ROOT / "tests/fixtures/histories/node_exporter.txt").read_text()  # of node_exporter 1.5.0
CLOCK = SystemClock()
LATER_S = 3600.0  # the node's clock is ahead by so much


def counting(url: str, timeout_s: float) -> str:
    """The page of a disk with 100 writes a second, by the clock of its node."""
    assert url == "http://user:secret@db-1:9100/metrics?collect[]=diskstats&collect[]=time"
    now_s, lines = CLOCK.now() + LATER_S, []
    for line in PAGE.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        if name == "node_disk_writes_completed_total":
            line = f"{line.rpartition(' ')[0]} {100 * now_s!r}"
        elif name == "node_time_seconds":
            line = f"{name} {now_s!r}"
        lines.append(line)
    return "\n".join(lines)


def read(
    folder: Path, length_s: float, get: Callable[[str, float], str], device: str = "vda"
) -> Mapping[str, int]:
    return observe(folder, ["http://user:secret@db-1:9100/"], device, length_s, CLOCK, get)


def of(folder: Path) -> Demand:
    (demand,) = demands(files.read(folder))
    return demand


def test_each_second_is_read_by_the_nodes_own_clock_and_the_same_goes_on(tmp_path: Path) -> None:
    """The length counts from the first reading, whatever was between."""
    begin_s = CLOCK.now()
    assert not read(tmp_path, 3.5, counting)
    CLOCK.sleep(2.2)
    assert not read(tmp_path, 9.0, counting)
    demand = of(tmp_path)
    assert 8.5 < CLOCK.now() - begin_s < 12
    assert (demand.node, demand.device) == ("db-1:9100", "vda") and demand.is_fine
    assert demand.begin_s[0] == pytest.approx(begin_s + LATER_S, abs=1)
    assert demand.ios / demand.step_s == pytest.approx(np.full(len(demand.ios), 100.0), rel=1e-3)
    assert len(demand.stretches) == 2  # a gap, and no long mean step
    assert not read(tmp_path, 9.0, counting)  # over: what was read is judged again
    assert len(of(tmp_path).ios) == len(demand.ios)


def test_what_was_read_is_kept_if_it_is_interrupted(tmp_path: Path) -> None:
    class Interrupted(SystemClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(2.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observe(tmp_path, ["http://user:secret@db-1:9100"], "vda", 600.0, Interrupted(), counting)
    assert len(of(tmp_path).ios) >= 2


def test_a_killed_program_leaves_all_but_its_last_minute(tmp_path: Path) -> None:
    """The files of the sampler are there before it ends."""
    kept = Readings(folder=tmp_path / "samples" / "1795651200")
    for second in range(150):
        for metric, value in (("clock_s", second + 5.0), ("disk_writes_total", 100.0 * second)):
            kept.add(Sample(float(second), "db-1:9100 sdc", metric, "", value))
        for metric in ("disk_reads_total", "disk_read_bytes_total", "disk_written_bytes_total"):
            kept.add(Sample(float(second), "db-1:9100 sdc", metric, "", 0.0))
        kept.end_tick(float(second))
    demand = of(tmp_path)
    assert demand.device == "sdc" and demand.end_s[-1] >= 150 - 60
    assert (demand.ios == 100).all() and demand.begin_s[0] == 5.0


def test_a_page_that_does_not_come_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    asked = list[str]()

    def flaky(url: str, timeout_s: float) -> str:
        asked.append(url)
        if len(asked) in (4, 5):
            raise OSError("no route")
        return counting(url, timeout_s)

    misses = read(tmp_path, 8.0, flaky)
    demand = of(tmp_path)
    assert misses == {"node_exporter: OSError: db-1:9100 vda: no route": 2}
    assert len(demand.stretches) == 2 and demand.ios.max() < 150


def test_a_device_that_is_not_there_is_said(tmp_path: Path) -> None:
    misses = read(tmp_path, 1.5, counting, "sdx")
    assert "knows no device 'sdx'" in next(iter(misses))
    assert not files.live(tmp_path)


def test_a_page_without_the_nodes_clock_gives_no_readings(tmp_path: Path) -> None:
    page = PAGE.replace("node_time_seconds", "node_other_seconds")
    read(tmp_path, 1.5, lambda url, timeout_s: page)
    assert files.read(tmp_path).empty
