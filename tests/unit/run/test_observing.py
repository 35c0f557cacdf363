"""Live readings of disks: when they are due, what is kept, and what a kill loses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from orchestrator.run.observing import Exporter, Observing, ReadingPace, demands
from orchestrator.system.clock import MadeUpClock
from tests import ROOT

PAGE = (ROOT / "tests/fixtures/histories/node_exporter.txt").read_text()  # of node_exporter 1.5.0
BEGIN_S = 1_795_651_200.0


def page_at(clock: MadeUpClock, late_s: float = 0.004) -> Callable[[str, float], str]:
    """The page of a disk with 100 writes a second, by the clock of its node."""

    def get(url: str, timeout_s: float) -> str:
        assert url == "http://db-1:9100/metrics?collect[]=diskstats&collect[]=time"
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
    folder: Path, pace: ReadingPace, clock: MadeUpClock, get: Callable[[str, float], str]
) -> Observing:
    return Observing(folder, [Exporter("db-1", "http://db-1:9100/", "vda")], pace, clock, get)


def test_the_page_of_a_real_exporter_is_read() -> None:
    row = Exporter("db-1", "", "vda").row(PAGE)
    lines = dict(line.rsplit(" ", 1) for line in PAGE.splitlines())
    assert row[0] == float(lines["node_time_seconds"])
    assert row[1:3] == ("db-1", "vda")
    assert row[3] == float(lines['node_disk_reads_completed_total{device="vda"}'])
    assert row[6] == float(lines['node_disk_written_bytes_total{device="vda"}'])


def test_each_second_is_read_by_the_nodes_own_clock(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    reading(tmp_path, ReadingPace(30.0), clock, page_at(clock)).read()
    (demand,) = demands(tmp_path)
    assert demand.is_fine and demand.own_clock and demand.coverage == 1
    assert demand.begin_s[0] == pytest.approx(BEGIN_S + 0.004, abs=1e-3)
    assert demand.ios == pytest.approx(np.full(29, 100.0), abs=1)


def test_what_was_read_is_in_files_of_ten_minutes_and_the_same_goes_on(tmp_path: Path) -> None:
    """A killed program is one whose last part was never written."""
    clock, pace = MadeUpClock(BEGIN_S), ReadingPace(3600.0, 15.0)
    pages = page_at(clock)

    def killed(url: str, timeout_s: float) -> str:
        if clock.now() > BEGIN_S + 1500:
            raise SystemExit
        return pages(url, timeout_s)

    with pytest.raises(SystemExit):
        reading(tmp_path, pace, clock, killed).read()
    parts = sorted(tmp_path.glob("part-*.parquet"))
    assert [int(p.stem[5:]) - BEGIN_S for p in parts[:2]] == [0, 600]
    for last in parts[2:]:
        last.unlink()
    clock.time_s = BEGIN_S + 2000
    reading(tmp_path, pace, clock, pages).read()
    (demand,) = demands(tmp_path)
    assert clock.now() >= BEGIN_S + 3600 > clock.now() - 15
    assert len(demand.stretches) == 2
    gap_s = demand.begin_s[demand.stretches[1].start] - demand.end_s[demand.stretches[0].stop - 1]
    assert 780 < gap_s < 830  # from the end of the last part until it went on
    assert demand.step_s.max() < 16


def test_a_page_that_does_not_come_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    pages = page_at(clock)

    def flaky(url: str, timeout_s: float) -> str:
        if 10 <= clock.now() - BEGIN_S < 13:
            raise OSError("no route")
        return pages(url, timeout_s)

    observing = reading(tmp_path, ReadingPace(30.0), clock, flaky)
    observing.read()
    (demand,) = demands(tmp_path)
    assert observing.misses == {"db-1: no route": 3}
    assert len(demand.stretches) == 2 and demand.ios.max() < 110


def test_a_device_that_is_not_there_is_said(tmp_path: Path) -> None:
    clock = MadeUpClock(BEGIN_S)
    observing = Observing(
        tmp_path,
        [Exporter("db-1", "http://db-1:9100", "sdx")],
        ReadingPace(3.0),
        clock,
        page_at(clock),
    )
    observing.read()
    assert [*observing.misses.values()] == [3]
    assert next(iter(observing.misses)).startswith("db-1: the page has no sdx")
    with pytest.raises(ValueError, match="nothing was read"):
        demands(tmp_path)


def test_pieces_are_read_every_second_and_are_spread(tmp_path: Path) -> None:
    clock, pace = MadeUpClock(BEGIN_S), ReadingPace(4 * 3600.0, 15.0, 24, 60.0)
    reading(tmp_path, pace, clock, page_at(clock)).read()
    (demand,) = demands(tmp_path)
    assert demand.resolution_s == pytest.approx(15, abs=0.1)
    assert len(demand.pieces) == 24
    slots = {int((piece.begin_s[0] - BEGIN_S) // 600) for piece in demand.pieces}
    assert slots == set(range(24))
    assert all(60 <= piece.step_s.sum() < 62 for piece in demand.pieces)
