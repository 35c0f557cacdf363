"""Live readings of disks: whose clock they have, what is kept, and what a kill loses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from orchestrator.analysis.observed.demand import Demand, demands
from orchestrator.histories import files
from orchestrator.model import NODE_EXPORTER, Node, Sample
from orchestrator.powers import Clock
from orchestrator.run.observing import observe, of_disks
from orchestrator.run.telemetry import Readings
from orchestrator.system.clock import MadeUpClock, SystemClock
from tests import ROOT

PAGE = (ROOT / "tests/fixtures/histories/node_exporter.txt").read_text()  # of node_exporter 1.5.0
CLOCK = SystemClock()
LATER_S = 3600.0  # the node's clock is ahead by so much
BEGIN_S = 1_795_651_200.0
ASKED: list[str] = []


class UntilRead(SystemClock):
    """Its sleep lasts until so many pages more were asked for, and then it may be interrupted."""

    def __init__(self, pages: int, ends: type[BaseException] | None = None) -> None:
        self.pages, self.ends = len(ASKED) + pages, ends

    def sleep(self, seconds: float) -> None:
        while len(ASKED) < self.pages:
            super().sleep(0.05)
        if self.ends:
            raise self.ends


def counting(url: str, timeout_s: float) -> str:
    """The page of a disk with 100 writes a second, by the clock of its node."""
    assert url == "http://user:secret@db-1:9100/metrics?collect[]=diskstats&collect[]=time"
    ASKED.append(url)
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
    folder: Path, get: Callable[[str, float], str], clock: Clock, device: str = "vda"
) -> Mapping[str, int]:
    sources = {NODE_EXPORTER: "http://user:secret@db-1:9100/"}
    disks = list(of_disks([Node("", "database", sources=sources)], device))
    return observe(folder, disks, 3600.0, clock, get=get)


def of(folder: Path) -> Demand:
    (demand,) = demands(files.read(folder))
    return demand


def sampled(folder: Path, seconds: int) -> None:
    """As the sampler leaves it that is killed after so many seconds at 100 writes each."""
    kept = Readings(folder=folder / "samples" / f"{BEGIN_S:.0f}")
    for time_s in BEGIN_S + np.arange(float(seconds)):
        for metric, value in (("clock_s", time_s + 5.0), ("disk_writes_total", 100.0 * time_s)):
            kept.add(Sample(time_s, "db-1:9100 sdc", metric, "", value))
        for metric in ("disk_reads_total", "disk_read_bytes_total", "disk_written_bytes_total"):
            kept.add(Sample(time_s, "db-1:9100 sdc", metric, "", 0.0))
        kept.end_tick(time_s)


def test_what_is_read_is_timed_by_the_nodes_own_clock(tmp_path: Path) -> None:
    begin_s = CLOCK.now()
    assert not read(tmp_path, counting, UntilRead(4))
    demand = of(tmp_path)
    assert (demand.node, demand.device) == ("db-1:9100", "vda")
    assert begin_s <= demand.begin_s[0] - LATER_S <= CLOCK.now()
    assert demand.ios / demand.step_s == pytest.approx(np.full(len(demand.ios), 100.0), rel=1e-3)


def test_what_was_read_is_kept_if_it_is_interrupted(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, counting, UntilRead(4, KeyboardInterrupt))
    assert len(of(tmp_path).ios) >= 1


def test_the_same_line_goes_on_until_the_time_is_over_since_the_first_reading(
    tmp_path: Path,
) -> None:
    sampled(tmp_path, 150)
    clock = MadeUpClock(BEGIN_S + 2000)
    read(tmp_path, counting, clock)
    assert clock.now() == BEGIN_S + 3600
    folders = {file.parent.name for file in files.live(tmp_path)}
    assert folders == {f"{BEGIN_S:.0f}", f"{BEGIN_S + 2000:.0f}-1"}
    asked = len(ASKED)
    assert read(tmp_path, counting, clock) == {} and len(ASKED) == asked  # it is over


def test_a_killed_program_leaves_all_but_its_last_minute(tmp_path: Path) -> None:
    sampled(tmp_path, 150)
    demand = of(tmp_path)
    assert demand.device == "sdc" and demand.end_s[-1] >= BEGIN_S + 150 - 60
    assert (demand.ios == 100).all() and demand.begin_s[0] == BEGIN_S + 5.0


def test_a_device_that_is_not_there_is_said_at_once_and_not_when_the_time_is_over(
    tmp_path: Path,
) -> None:
    clock = MadeUpClock(BEGIN_S)
    (miss,) = read(tmp_path, counting, clock, "sdx")
    assert "knows no device 'sdx'" in miss and clock.now() == BEGIN_S
    assert not files.live(tmp_path)
