"""Live readings of disks: when they are due, what is kept, and what a kill loses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.observed.demand import Demand, demands
from orchestrator.histories import files
from orchestrator.run.observing import Observing
from orchestrator.system.clock import MadeUpClock
from tests import ROOT

PAGE = (ROOT / "tests/fixtures/histories/node_exporter.txt").read_text()  # of node_exporter 1.5.0
BEGIN_S = 1_795_651_200.0


def page_at(clock: MadeUpClock, late_s: float = 0.004) -> Callable[[str, float], str]:
    """The page of a disk with 100 writes a second, by the clock of its node."""

    def get(url: str, timeout_s: float) -> str:
        assert url == "http://user:secret@db-1:9100/metrics?collect[]=diskstats&collect[]=time"
        now_s = clock.now() + late_s
        lines = []
        for line in PAGE.splitlines():
            name = line.partition("{")[0].partition(" ")[0]
            if name == "node_disk_writes_completed_total":
                line = f"{line.rpartition(' ')[0]} {100 * (now_s - BEGIN_S)!r}"
            elif name == "node_time_seconds":
                line = f"{name} {now_s!r}"
            lines.append(line)
        return "\n".join(lines)

    return get


def reading(
    folder: Path, clock: MadeUpClock, get: Callable[[str, float], str], device: str = "vda"
) -> Observing:
    return Observing(folder, ["http://user:secret@db-1:9100/"], device, clock, get)


def of(folder: Path) -> Demand:
    (demand,) = demands(files.read(folder))
    return demand


def test_the_page_of_a_real_exporter_is_read(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    reading(tmp_path, clock, lambda url, timeout_s: PAGE).read(1.0)
    (row,) = pd.concat(map(pd.read_parquet, files.samples(tmp_path))).itertuples(index=False)
    lines = dict(line.rsplit(" ", 1) for line in PAGE.splitlines())
    assert row.time_s == float(lines["node_time_seconds"])
    assert (row.node, row.device) == ("db-1:9100", "vda")
    assert row.reads == float(lines['node_disk_reads_completed_total{device="vda"}'])
    assert row.written_bytes == float(lines['node_disk_written_bytes_total{device="vda"}'])


def test_each_second_is_read_by_the_nodes_own_clock(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    reading(tmp_path, clock, page_at(clock)).read(30.0)
    demand = of(tmp_path)
    assert demand.is_fine and demand.coverage == 1
    assert demand.begin_s[0] == pytest.approx(BEGIN_S + 0.004, abs=1e-3)
    assert demand.ios == pytest.approx(np.full(29, 100.0), abs=1)


def test_what_was_read_is_in_files_of_ten_minutes_and_the_same_goes_on(tmp_path: Path) -> None:
    """A killed program is one whose last part was never written."""
    clock = MadeUpClock(BEGIN_S)
    pages = page_at(clock)

    def killed(url: str, timeout_s: float) -> str:
        if clock.now() > BEGIN_S + 1500:
            raise SystemExit
        return pages(url, timeout_s)

    with pytest.raises(SystemExit):
        reading(tmp_path, clock, killed).read(3600.0)
    parts = files.samples(tmp_path)
    assert [int(p.stem[5:]) - BEGIN_S for p in parts[:2]] == [0, 600]
    for last in parts[2:]:
        last.unlink()
    clock.time_s = BEGIN_S + 2000
    reading(tmp_path, clock, pages).read(3600.0)
    demand = of(tmp_path)
    assert clock.now() >= BEGIN_S + 3600 > clock.now() - 2
    assert len(demand.stretches) == 2
    gap_s = demand.begin_s[demand.stretches[1].start] - demand.end_s[demand.stretches[0].stop - 1]
    assert 780 < gap_s < 830  # from the end of the last part until it went on
    assert demand.step_s.max() < 1.5


def test_a_page_that_does_not_come_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    pages = page_at(clock)

    def flaky(url: str, timeout_s: float) -> str:
        if 10 <= clock.now() - BEGIN_S < 13:
            raise OSError("no route")
        return pages(url, timeout_s)

    observing = reading(tmp_path, clock, flaky)
    observing.read(30.0)
    demand = of(tmp_path)
    assert observing.misses == {"db-1:9100: no route": 3}
    assert len(demand.stretches) == 2 and demand.ios.max() < 110


def test_a_device_that_is_not_there_is_said(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    observing = reading(tmp_path, clock, page_at(clock), "sdx")
    observing.read(3.0)
    assert [*observing.misses.values()] == [3]
    assert "knows no device 'sdx'" in next(iter(observing.misses))
    assert not files.samples(tmp_path)


def test_a_page_without_the_nodes_clock_is_said(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    page = PAGE.replace("node_time_seconds", "node_other_seconds")
    observing = reading(tmp_path, clock, lambda url, timeout_s: page)
    observing.read(2.0)
    assert observing.misses == {"db-1:9100: the page lacks time_s": 2}
