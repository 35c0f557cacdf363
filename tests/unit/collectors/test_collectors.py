"""Collectors on a fixture tree, and the sampler that never fails a run."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.common import node_by_node
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.dry import DryCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.keys.schema import DRY
from orchestrator.model import Node, Phase, Sample
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Machine
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.telemetry import read_once, sampling
from orchestrator.system.clock import SystemClock
from tests.fakes import FakeClock

ID = "7fc3631a2414fc17e88d21bc82e3c2a096a8d0ee159cfc64d226d0264f6ffead"
OTHER_ID = "5ab8ef74edfda0b403c7fa12d40b4adb0000000000000000000000000000000a"
DATABASE = Node("node-1", "database", container_id=ID, process_id=42, device="loop3")
SECOND = Node(
    "node-2", "database", container_id=OTHER_ID, process_id=43, device="loop4"
)
HOST = Node("host", "host")
PROCESS = {"proc/42/cgroup": f"4:cpu,cpuacct:/docker/{ID}\n0::/docker/{ID}\n"}


def tree(root: Path, files: dict[str, str]) -> LocalMachine:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return LocalMachine(root)


def on(machine: Machine) -> node_by_node.Where:
    return lambda _: machine


def values(samples: Iterable[Sample]) -> dict[str, float]:
    return {sample.metric: sample.value for sample in samples}


def test_disk_counters_are_in_base_units(tmp_path: Path) -> None:
    line = "   7       3 loop3 100 1 800 50 20 2 1600 70 4 30 120 0 0 0 0 9 11\n"
    table = "   7 0 loop0 1 0 8 1 0 0 0 0 0 0 0\n" + line
    here = tree(tmp_path, {**PROCESS, "proc/diskstats": table})
    assert values(DiskCollector(on(here)).read([DATABASE, HOST], 1.0)) == {
        "disk_reads_total": 100,
        "disk_read_bytes_total": 409_600,
        "disk_read_seconds_total": pytest.approx(0.05),
        "disk_writes_total": 20,
        "disk_written_bytes_total": 819_200,
        "disk_write_seconds_total": pytest.approx(0.07),
        "disk_in_flight": 4,
        "disk_busy_seconds_total": pytest.approx(0.03),
        "disk_queue_seconds_total": pytest.approx(0.12),
        "disk_flushes_total": 9,
    }


def test_the_disk_of_the_wal_is_told_from_that_of_the_data(tmp_path: Path) -> None:
    """Of an array only its own line is read: those of its members count the same I/O again."""
    table = "".join(
        f"   9 {number} {name} {reads} 0 0 0 {writes} 0 16 1 0 0 0\n"
        for number, (name, reads, writes) in enumerate(
            (("loop3", 100, 20), ("md0", 5, 700), ("sdb", 3, 350), ("sdc", 2, 350))
        )
    )
    here = tree(tmp_path, {**PROCESS, "proc/diskstats": table})
    found = values(
        DiskCollector(on(here)).read([replace(DATABASE, wal_device="md0")], 1.0)
    )
    assert (found["disk_reads_total"], found["disk_writes_total"]) == (100, 20)
    assert (found["wal_disk_reads_total"], found["wal_disk_writes_total"]) == (5, 700)
    with pytest.raises(OSError, match="sdd is not in"):
        list(DiskCollector(on(here)).read([replace(DATABASE, wal_device="sdd")], 1.0))


def test_a_device_that_vanished_is_an_error(tmp_path: Path) -> None:
    here = tree(tmp_path, {**PROCESS, "proc/diskstats": ""})
    with pytest.raises(OSError, match="loop3 is not in"):
        list(DiskCollector(on(here)).read([DATABASE], 1.0))


def test_control_group_version_1(tmp_path: Path) -> None:
    group = "sys/fs/cgroup"
    here = tree(
        tmp_path,
        {
            "proc/42/cgroup": f"5:memory:/docker/{ID}\n4:cpu,cpuacct:/docker/{ID}\n0::/\n",
            f"{group}/cpuacct/docker/{ID}/cpuacct.usage": "2500000000\n",
            f"{group}/cpu/docker/{ID}/cpu.stat": (
                "nr_periods 5\nnr_throttled 2\nthrottled_time 1000000000\n"
            ),
            f"{group}/memory/docker/{ID}/memory.usage_in_bytes": "4096\n",
            f"{group}/memory/docker/{ID}/memory.stat": "cache 1\ntotal_cache 1024\n",
        },
    )
    assert values(CgroupCollector(on(here)).read([DATABASE], 1.0)) == {
        "cpu_seconds_total": 2.5,
        "cpu_throttled_seconds_total": 1.0,
        "cpu_periods_total": 5,
        "cpu_throttled_periods_total": 2,
        "memory_used_bytes": 4096,
        "memory_cache_bytes": 1024,
    }


def test_a_kernel_that_counts_no_quota_throttles_nothing(tmp_path: Path) -> None:
    """Of version 1, whose controllers may be left out one by one."""
    group = "sys/fs/cgroup"
    here = tree(
        tmp_path,
        {
            "proc/42/cgroup": f"5:memory:/docker/{ID}\n4:cpuacct:/docker/{ID}\n0::/\n",
            f"{group}/cpuacct/docker/{ID}/cpuacct.usage": "2500000000\n",
            f"{group}/memory/docker/{ID}/memory.usage_in_bytes": "4096\n",
            f"{group}/memory/docker/{ID}/memory.stat": "cache 1\n",
        },
    )
    assert values(CgroupCollector(on(here)).read([DATABASE], 1.0)) == {
        "cpu_seconds_total": 2.5,
        "cpu_throttled_seconds_total": 0.0,
        "memory_used_bytes": 4096,
        "memory_cache_bytes": 0,
    }


@pytest.mark.parametrize(
    "path",
    [
        f"/docker/{ID}",  # Docker, its own driver
        f"/system.slice/docker-{ID}.scope",  # Docker, systemd's
        f"/user.slice/user-1000.slice/user@1000.service/app.slice/docker-{ID}.scope",  # rootless
        f"/machine.slice/libpod-{ID}.scope",  # Podman
    ],
)
@pytest.mark.parametrize("below", ["", "/container", "/init.scope"])
def test_control_group_version_2(tmp_path: Path, path: str, below: str) -> None:
    """The container's whole group counts, also where its first process has one below."""
    group = f"sys/fs/cgroup{path}"
    here = tree(
        tmp_path,
        {
            "proc/42/cgroup": f"0::{path}{below}\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu io memory\n",
            f"{group}/cpu.stat": "usage_usec 2500000\nnr_periods 0\nthrottled_usec 0\n",
            f"{group}/memory.current": "4096\n",
            f"{group}/memory.stat": "anon 1\nfile 1024\n",
        },
    )
    assert values(CgroupCollector(on(here)).read([DATABASE], 1.0)) == {
        "cpu_seconds_total": 2.5,
        "cpu_throttled_seconds_total": 0.0,
        "memory_used_bytes": 4096,
        "memory_cache_bytes": 1024,
    }


def test_machine_with_and_without_pressure(tmp_path: Path) -> None:
    here = tree(
        tmp_path,
        {"proc/stat": "cpu  100 60 50 900 3 1 2 7 0 0\ncpu0 1 0 0 0 0 0 0 0\n"},
    )
    assert values(MachineCollector(on(here)).read([HOST, DATABASE], 1.0)) == {
        "cpu_busy_seconds_total": pytest.approx(1.53),
        "cpu_low_priority_seconds_total": pytest.approx(0.6),
        "cpu_steal_seconds_total": pytest.approx(0.07),
    }
    tree(
        tmp_path,
        {"proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"},
    )
    pressure = values(MachineCollector(on(here)).read([HOST], 1.0))[
        "pressure_io_some_seconds_total"
    ]
    assert pressure == pytest.approx(1.5)


def test_the_busiest_core_is_that_since_the_last_reading(tmp_path: Path) -> None:
    """A thread that moves keeps one core busy in each second, and each for half of the time."""
    line = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 {} 40 0 {} 0 0 0 0 0 0\ncpu1 {} 0 0 {} 5 0 0 0 0 0\n"
    here = tree(tmp_path, {"proc/stat": line.format(100, 100, 100, 100)})
    collector = MachineCollector(on(here))
    assert "busiest_core_pct" not in values(collector.read([HOST], 1.0))
    for ticks, busiest_pct in (((197, 103, 103, 197), 97), ((200, 200, 194, 206), 91)):
        tree(tmp_path, {"proc/stat": line.format(*ticks)})
        assert values(collector.read([HOST], 2.0))["busiest_core_pct"] == busiest_pct
    tree(tmp_path, {"proc/stat": line.format(200, 210, 194, 216)})
    assert values(collector.read([HOST], 2.5))["busiest_core_pct"] == 0, "both rested"
    tree(tmp_path, {"proc/stat": line.format(1, 1, 1, 1)})
    for time_s in (3.0, 3.001):  # counted anew, and read again before a tick has passed
        assert "busiest_core_pct" not in values(collector.read([HOST], time_s))


def test_network_leaves_out_loopback(tmp_path: Path) -> None:
    table = "head\nhead\n    lo: 9 7 0 0 0 0 0 0 9 7\n  eth0: 100 1 0 0 0 0 0 0 200 2\n"
    here = tree(
        tmp_path, {**PROCESS, "proc/42/net/dev": table, "proc/42/net/snmp": SNMP}
    )
    assert values(NetworkCollector(on(here)).read([DATABASE], 1.0)) == {
        "network_received_bytes_total": 100,
        "network_sent_bytes_total": 200,
        "network_received_packets_total": 1,
        "network_sent_packets_total": 2,
        "tcp_sent_segments_total": 4711,
        "tcp_sent_again_segments_total": 12,
    }


# As Linux 6.1 has it, without most columns.
SNMP = (
    "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoMax InSegs OutSegs RetransSegs InErrs\n"
    "Tcp: 120000 5000 4711 12 0\nUdp: InDatagrams NoPorts\nUdp: 4 0\n"
)


STATS = "7 3 loop3 1 0 8 1 0 0 0 0 0 0 0\n7 4 loop4 2 0 8 1 0 0 0 0 0 0 0\n"
NETWORK = "head\nhead\n  eth0: 100 1 0 0 0 0 0 0 200 1\n"


def machine(root: Path, of_42: str, of_43: str) -> LocalMachine:
    """Two processes with everything that collectors read of them; `of_…`: their groups."""
    files = {
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "proc/diskstats": STATS,
    }
    for process, group in ((42, of_42), (43, of_43)):
        files[f"proc/{process}/cgroup"] = f"0::{group}\n"
        files[f"proc/{process}/net/dev"] = NETWORK
        files[f"proc/{process}/net/snmp"] = SNMP
    for group in {of_42, of_43} - {"/"}:
        files[f"sys/fs/cgroup{group}/cpu.stat"] = "usage_usec 2500000\n"
        files[f"sys/fs/cgroup{group}/memory.current"] = "4096\n"
        files[f"sys/fs/cgroup{group}/memory.stat"] = "file 1024\n"
    files["sys/fs/cgroup/cpu.stat"] = "usage_usec 99000000\n"
    files["sys/fs/cgroup/memory.current"] = "999999\n"
    files["sys/fs/cgroup/memory.stat"] = "file 9999\n"
    return tree(root, files)


STRANGER = "node-1: process 42 is in no group of container 7fc3631a2414"


@pytest.mark.parametrize("kind", [CgroupCollector, DiskCollector, NetworkCollector])
@pytest.mark.parametrize(
    ("group", "reason"),
    [
        ("/user.slice", STRANGER),  # the number now belongs to a process of somebody
        (f"/docker/{'0' * 64}", STRANGER),  # ... or of another container
        ("/", STRANGER),  # the engine's machine is not this one, or shows no groups
        (
            f"/../../docker/{ID}",
            STRANGER,
        ),  # this program sees it from a group of its own
        (None, "node-1: FileNotFoundError"),  # the process is gone
    ],
)
def test_a_process_that_is_not_the_containers_is_a_miss_and_hides_no_other_node(
    tmp_path: Path, kind: type[Any], group: str | None, reason: str
) -> None:
    collector = kind(on(machine(tmp_path, group or "/", f"/docker/{OTHER_ID}")))
    if group is None:
        (tmp_path / "proc/42/cgroup").unlink()
    readings = Readings()
    read_once([DATABASE, SECOND], [collector], readings, FakeClock())
    assert {sample.node for sample in readings.samples()} == {"node-2"}
    (miss,) = readings.facts()["misses"]
    assert reason in miss


def test_a_number_used_again_by_a_later_container_gives_that_containers_values(
    tmp_path: Path,
) -> None:
    """One collector serves a whole campaign; process numbers come round within it."""
    here = machine(tmp_path, f"/docker/{ID}", "/")
    collector = CgroupCollector(on(here))
    assert values(collector.read([DATABASE], 1.0))["memory_used_bytes"] == 4096
    machine(tmp_path, f"/docker/{OTHER_ID}", "/")
    tree(tmp_path, {f"sys/fs/cgroup/docker/{OTHER_ID}/memory.current": "8192\n"})
    later = Node("node-1", "database", container_id=OTHER_ID, process_id=42)
    assert values(collector.read([later], 2.0))["memory_used_bytes"] == 8192


def test_a_container_without_an_id_is_not_read(tmp_path: Path) -> None:
    here = machine(tmp_path, "/user.slice", "/")
    node = Node("node-1", "database", container="c", process_id=42)
    for kind in (CgroupCollector, NetworkCollector):
        with pytest.raises(OSError, match="no container's id"):
            list(kind(on(here)).read([node], 1.0))


class Broken:
    name = "broken"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def read(self, nodes: Sequence[Node], now_s: float) -> Sequence[Sample]:
        raise self._error


class Steady:
    name = "steady"

    def read(self, nodes: Sequence[Node], now_s: float) -> Sequence[Sample]:
        return [Sample(now_s, "node-1", "cpu_seconds_total", "s", 1.0)]


@pytest.mark.parametrize(
    "error", [OSError("gone"), TypeError("gone"), RuntimeError("gone")]
)
def test_a_broken_collector_fails_nothing_and_is_remembered(error: Exception) -> None:
    readings = Readings()
    read_once([DATABASE], [Broken(error), Steady()], readings, FakeClock())
    assert len(list(readings.samples())) == 1
    assert readings.facts()["misses"] == {f"broken: {type(error).__name__}: gone": 1}


def test_every_sample_carries_its_phase() -> None:
    readings = Readings()
    for t in (1.0, 5.0, 7.0):
        readings.add(Sample(t, "n", "m", "s", 0.0))
    (table,) = readings.tables([Phase("warm-up", 4.0, 6.0), Phase("measure", 6.0, 8.0)])
    assert table["phase"].tolist() == ["", "warm-up", "measure"]


def test_all_but_the_last_minute_survives_a_program_that_is_killed(
    tmp_path: Path,
) -> None:
    readings = Readings(folder=tmp_path)
    for second in range(150):
        readings.add(Sample(1e9 + second, "n", "m", "s", float(second)))
        readings.end_tick(1e9 + second)
    left = pd.concat(map(pd.read_parquet, sorted(tmp_path.glob("*.parquet"))))
    assert left["value"].tolist() == [float(second) for second in range(121)]


def test_samples_beyond_a_part_are_in_files_until_the_run_ends(tmp_path: Path) -> None:
    added = [
        Sample(float(t), f"node-{t % 3}", "m" if t % 2 else "g", "s", t / 7)
        for t in range(11)
    ]
    readings = Readings(tmp_path / "parts", part=4)
    for sample in added:
        readings.add(sample)
    parts = sorted((tmp_path / "parts").iterdir())
    assert [len(pd.read_parquet(part)) for part in parts] == [4, 4]
    assert list(readings.samples()) == added
    assert list(readings.samples({"g"})) == added[::2]
    table = pd.concat(readings.tables([Phase("measure", 2.0, 5.0)]), ignore_index=True)
    assert table["value"].tolist() == [one.value for one in added]
    assert table["node"].tolist() == [one.node for one in added]
    assert table["phase"].tolist() == ["", "", *["measure"] * 4, *[""] * 5]
    (empty,) = Readings().tables([])
    assert empty.empty and list(empty.columns) == list(table.columns)
    readings.forget()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def full_at() -> Iterator[Callable[[int], None]]:
    """Files of this process can have so many bytes: the kernel writes what fits, then refuses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_samples_that_the_disk_has_no_room_for_are_missed_and_memory_stays(
    tmp_path: Path, full_at: Callable[[int], None]
) -> None:
    part = 100
    readings = Readings(folder=tmp_path, part=part)
    kept: list[Sample] = []

    def add(count: int) -> int:
        """How many were refused."""
        refused = 0
        for time_s in range(count):
            sample = Sample(float(time_s), "n", "m", "s", len(kept) / 7)
            try:
                readings.add(sample)
                kept.append(sample)
            except OSError:
                refused += 1
        return refused

    assert add(3 * part // 2) == 0
    full_at(200)
    try:
        refused = add(5 * part)
    finally:
        full_at(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    assert refused == 13 * part // 2 - len(kept) > 0
    assert len(readings._series) <= part, "memory holds no more than before"
    assert add(2 * part) == 0, "when there is room again, they are kept again"
    assert list(readings.samples()) == kept


def test_the_sampler_stops_with_its_block() -> None:
    with sampling([DATABASE], [Steady()], SystemClock(), every_s=0.01) as readings:
        SystemClock().sleep(0.1)
    ticks = readings.ticks
    assert ticks >= 3
    SystemClock().sleep(0.05)
    assert readings.ticks == ticks


def test_made_up_disks_do_seven_tenths_of_their_iops_and_swing_by_a_twentieth() -> None:
    """Half of it reads. A node of another kind has no counters of a rehearsal."""
    rehearsed = Node("node-1", "database", sources={DRY: "1000 IOPS, 0.002 s"})
    samples = list(DryCollector().read([rehearsed, Node("client", "client")], 500.5))
    assert {sample.node for sample in samples} == {"node-1", "host"}
    reads = [one.value for one in samples if one.metric == "disk_reads_total"]
    per_s = [after - before for before, after in pairwise(reads)]
    assert len(per_s) == 240
    assert min(per_s) == pytest.approx(350 * 0.95, rel=0.005)
    assert max(per_s) == pytest.approx(350 * 1.05, rel=0.005)
