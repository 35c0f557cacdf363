"""Live readings of disks: whose clock they have, what is kept, and what a kill loses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER
from orchestrator.errors import UsageError
from orchestrator.extensions.observe import observation_files, observation_folders
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.judging.drawn_seconds import refusals
from orchestrator.extensions.observe.live.disk_readers import of_disks as of_disks_alone
from orchestrator.extensions.observe.live.observing import (
    EXPORTER_PATH,
    observe,
    of_disks,
)
from orchestrator.kernel import block_devices
from orchestrator.model import Node, Sample
from orchestrator.parts import Collector
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Clock, Machine
from orchestrator.run.record.readings import Miss, Readings
from orchestrator.system.clock import MadeUpClock, SystemClock
from orchestrator.system.http_client import get_exporter
from tests import ROOT
from tests.agents import Agents, Piped
from tests.clocks import SampledClock
from tests.fakes import QuietProgress

PAGE = (
    ROOT / "tests/fixtures/histories/node_exporter.txt"
).read_text()  # of node_exporter 1.5.0
LATER_S = 3600.0  # the node's clock is ahead by so much
BEGIN_S = 1_795_651_200.0
ASKED: list[str] = []
AN_EXPORTER = Node(
    "", "database", sources={NODE_EXPORTER: "http://user:secret@db-1:9100/"}
)


def counting_by(clock: Clock) -> Callable[[str, float], str]:
    """Pages of a disk with 100 writes of 4 KiB a second, by a node whose clock is ahead of this."""

    def page(url: str, timeout_s: float) -> str:
        address = "http://user:secret@db-1:9100"
        assert url == f"{address}/metrics?collect[]=diskstats&collect[]=time"
        ASKED.append(url)
        now_s = clock.now() + LATER_S
        lines: list[str] = []
        for line in PAGE.splitlines():
            name = line.partition("{")[0].partition(" ")[0]
            if name == "node_disk_writes_completed_total":
                line = f"{line.rpartition(' ')[0]} {100 * now_s!r}"
            elif name == "node_disk_written_bytes_total":
                line = f"{line.rpartition(' ')[0]} {4096 * 100 * now_s!r}"
            elif name == "node_time_seconds":
                line = f"{name} {now_s!r}"
            lines.append(line)
        return "\n".join(lines)

    return page


counting = counting_by(SystemClock())


def by_a_person() -> None:
    raise KeyboardInterrupt


def reading_of(machines: Sequence[Machine]) -> Sequence[Collector]:
    return of_disks_alone(machines, EXPORTER_PATH, get_exporter)


def read(
    folder: Path,
    get: Callable[[str, float], str],
    clock: Clock,
    device: str = "vda",
    last_s: float = 3600.0,
) -> Mapping[str, int]:
    reading = of_disks_alone([], EXPORTER_PATH, get)
    disks = list(of_disks([AN_EXPORTER], device))
    misses = observe(folder, disks, last_s, clock, reading)
    return {str(miss): count for miss, count in misses.items()}


def of(folder: Path) -> Demand:
    (demand,) = demands(files.read(folder))
    return demand


def sampled(
    folder: Path,
    seconds: int,
    begin_s: float = BEGIN_S,
    every_s: int = 1,
    ends: str = "",
    without: Sequence[int] = (),
) -> None:
    """As the sampler leaves it that is killed after so many seconds at 100 writes of 4 KiB."""
    kept = Readings(folder=folder / "samples" / f"{begin_s:.0f}{ends}")
    for second in range(0, seconds, every_s):
        time_s = begin_s + second
        if second in without:
            continue
        for metric, value in (
            ("clock_s", time_s + 5.0),
            ("disk_writes_total", 100.0 * time_s),
            ("disk_written_bytes_total", 4096 * 100.0 * time_s),
        ):
            kept.add(Sample(time_s, "db-1:9100 sdc", metric, "", value))
        for metric in ("disk_reads_total", "disk_read_bytes_total"):
            kept.add(Sample(time_s, "db-1:9100 sdc", metric, "", 0.0))
        kept.end_tick(time_s)


def test_what_is_read_is_timed_by_the_nodes_own_clock(tmp_path: Path) -> None:
    clock = SampledClock(BEGIN_S)
    assert not read(tmp_path, counting_by(clock), clock, last_s=4.0)
    demand = of(tmp_path)
    assert (demand.node, demand.device) == ("db-1:9100", "vda")
    begins_s = [BEGIN_S + LATER_S + second for second in range(len(demand.ios))]
    assert demand.begin_s.tolist() == begins_s
    assert len(demand.ios) >= 3
    assert (demand.ios / demand.step_s).tolist() == [100.0] * len(demand.ios)


def test_what_was_read_is_kept_if_it_is_interrupted(tmp_path: Path) -> None:
    clock = SampledClock(BEGIN_S)
    clock.after(2.5, by_a_person)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, counting_by(clock), clock)
    assert len(of(tmp_path).ios) == 2


def test_the_same_line_goes_on_until_the_time_is_over_since_the_first_reading(
    tmp_path: Path,
) -> None:
    sampled(tmp_path, 150)
    clock = MadeUpClock(BEGIN_S + 2000)
    read(tmp_path, counting, clock)
    assert clock.now() == BEGIN_S + 3600
    folders = {file.parent.name for file in observation_files.live(tmp_path)}
    assert folders == {f"{BEGIN_S:.0f}", f"{BEGIN_S + 2000:.3f}-1"}


def test_no_time_is_left_of_one_that_is_over_although_its_first_page_took_a_while(
    tmp_path: Path,
) -> None:
    """Where some was left, the same command went on in it instead of reading anew."""
    clock = MadeUpClock(BEGIN_S + 0.6)

    def slow(url: str, timeout_s: float) -> str:
        if clock.now() == BEGIN_S + 0.6:
            clock.sleep(2.0)
        return counting(url, timeout_s)

    assert not read(tmp_path, slow, clock)
    begun_s = observation_folders.begun_s(tmp_path)
    assert begun_s is not None
    assert begun_s + 3600 <= clock.now()


def test_a_folder_whose_time_is_over_is_not_read_into(tmp_path: Path) -> None:
    sampled(tmp_path, 150)
    asked = len(ASKED)
    with pytest.raises(UsageError, match=r"ended at 2026-11-26 01:00.*nothing is read"):
        read(tmp_path, counting, MadeUpClock(BEGIN_S + 3600))
    assert len(ASKED) == asked


@pytest.mark.parametrize(("passed_s", "goes_on"), [(3563.0, True), (3564.0, False)])
def test_an_observation_of_which_a_hundredth_is_left_is_over(
    tmp_path: Path, passed_s: float, goes_on: bool
) -> None:
    folder = tmp_path / "observed-db-1"
    sampled(folder, 150)
    now_s = BEGIN_S + passed_s
    with observation_folders.of_live(
        tmp_path, "observed-db", 3600.0, now_s, QuietProgress()
    ) as read_into:
        assert (read_into == folder) is goes_on


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
    assert "node_exporter counts no disk 'sdx', but vda" in miss
    assert "Error" not in miss and clock.now() == BEGIN_S
    assert not observation_files.live(tmp_path)


def test_each_disk_of_a_node_is_read_by_itself() -> None:
    """Those that a run would find: of several disks a run takes the sum, and the log's apart."""
    sources = {NODE_EXPORTER: "http://db-1:9100", DISK_DEVICE: "sdb sdc"}
    node = Node("node-1", "database", sources=sources, wal_device="sdd")
    disks = list(of_disks([node], ""))
    assert [disk.name for disk in disks] == [
        f"db-1:9100 {name}" for name in ("sdb", "sdc", "sdd")
    ]
    assert [disk.sources[DISK_DEVICE] for disk in disks] == ["sdb", "sdc", "sdd"]
    assert [disk.name for disk in of_disks([node], "sde|sdf")] == [
        "db-1:9100 sde",
        "db-1:9100 sdf",
    ]
    with pytest.raises(UsageError, match="the disk of db-1:9100"):
        list(of_disks([AN_EXPORTER], ""))


def test_a_machine_without_an_exporter_is_read_by_the_agent_of_runs(
    tmp_path: Path,
) -> None:
    agents, clock = Agents(), SampledClock(BEGIN_S)
    machine = agents.machine("far", clock)
    device = next(iter(block_devices.counter_rows(machine)))
    disks = list(of_disks([Node("far", "host", machine="far")], device))
    with closing(machine):
        assert not observe(
            tmp_path, disks, 3.0, clock, reading_of([machine]), [machine]
        )
    demand = of(tmp_path)
    assert (demand.node, demand.device) == ("far", device)
    assert demand.begin_s.tolist() == [BEGIN_S, BEGIN_S + 1, BEGIN_S + 2]
    assert demand.end_s.tolist() == [BEGIN_S + 1, BEGIN_S + 2, BEGIN_S + 3]
    assert {json.loads(line)[0] for line in agents.asked} == {"read"}


@pytest.mark.slow
def test_a_machine_that_is_cut_off_takes_no_seconds_of_the_others(
    tmp_path: Path,
) -> None:
    """What its engine is asked to remove lasts, as where the way there is lost."""
    agents, over = (Agents(), Agents()), threading.Event()

    @contextmanager
    def lasting() -> Iterator[Piped]:
        try:
            with agents[1].conversation() as talking:
                yield talking
        finally:
            over.wait(30)

    machines = agents[0].machine("near"), AgentMachine("far", lasting, SystemClock())
    device = next(iter(block_devices.counter_rows(LocalMachine())))
    nodes = [Node("", "host", machine=each.name) for each in machines]

    def look(misses: Mapping[Miss, int]) -> None:
        if not misses:
            agents[1].processes[0].kill()

    disks = list(of_disks(nodes, device))
    misses = observe(
        tmp_path, disks, 15.0, SystemClock(), reading_of(machines), machines, look=look
    )
    over.set()
    for machine in machines:
        machine.close()
    of_machines = {each.node: each for each in demands(files.read(tmp_path))}
    assert any("far does not answer: it has ended" in str(miss) for miss in misses)
    assert of_machines["far"].end_s[-1] < of_machines["near"].end_s[-1] - 5
    assert of_machines["near"].is_fine and len(of_machines["near"].starts) <= 2


def test_a_machine_that_does_not_have_the_disk_is_named_at_once(tmp_path: Path) -> None:
    machine, clock = LocalMachine(), MadeUpClock(BEGIN_S)
    disks = list(of_disks([Node("", "host", machine=machine.name)], "sdx"))
    (miss,) = observe(tmp_path, disks, 3600.0, clock, reading_of([machine]), [machine])
    assert f"{machine.name} sdx: sdx is not in /proc/diskstats" in str(miss)
    assert clock.now() == BEGIN_S and not observation_files.live(tmp_path)


# ------------------------------------------------------------------ pieces


def test_pieces_are_spread_over_the_time_and_again_at_the_same_moments(
    tmp_path: Path,
) -> None:
    def begins(folder: Path) -> list[float]:
        clock, disks = MadeUpClock(BEGIN_S), list(of_disks([AN_EXPORTER], "vda"))
        reading = of_disks_alone([], EXPORTER_PATH, counting)
        observe(folder, disks, 24 * 3600.0, clock, reading, pieces=(24, 60.0))
        assert clock.now() == BEGIN_S + 24 * 3600.0
        names = {file.parent.name for file in observation_files.live(folder)}
        assert f"{BEGIN_S:.3f}-15" in names  # and the rest of the time
        return sorted(float(name[:-2]) for name in names if name.endswith("-1"))

    first = np.array(begins(tmp_path / "first"))
    assert ((first - BEGIN_S) // 3600).tolist() == list(range(24))
    assert np.ptp((first - BEGIN_S) % 3600) > 1800  # not all at one minute of the hour
    assert begins(tmp_path / "second") == first.tolist()


def test_pieces_within_a_coarse_reading_are_pieces_of_it(tmp_path: Path) -> None:
    sampled(tmp_path, 24 * 240, every_s=15, ends="-15")
    for number in range(24):
        sampled(tmp_path, 120, BEGIN_S + number * 240 + 100, without=(20,))
    demand = of(tmp_path)
    assert demand.resolution_s == 15.0 and demand.coverage == 1.0
    assert (demand.ios == 1500).all()
    assert len(demand.pieces) == 24  # a second that is lost does not make two of one
    assert not list(refusals(demand))


def test_two_disks_of_one_exporter_are_read_from_one_page() -> None:
    disks, asked = list(of_disks([AN_EXPORTER], "vda|zram0")), len(ASKED)
    path = "/metrics?collect[]=diskstats&collect[]=time"
    samples = [*NodeExporterCollector(counting, path).read(disks, 0.0)]
    assert len(ASKED) == asked + 1
    assert len([each for each in samples if each.metric == "disk_writes_total"]) == 2
