"""Collectors on a fixture tree, and the sampler that never fails a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.model import Node, Phase, Sample
from orchestrator.telemetry import Readings, read_once, sampling
from tests.fakes import FakeClock

DATABASE = Node("node-1", "database", process_id=42, device="loop3")
HOST = Node("host", "host")


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def values(samples: object) -> dict[str, float]:
    assert not isinstance(samples, str)
    return {one.metric: one.value for one in samples}  # type: ignore[attr-defined]


def test_disk_counters_are_in_base_units(tmp_path: Path) -> None:
    line = "   7       3 loop3 100 1 800 50 20 2 1600 70 4 30 120 0 0 0 0 9 11\n"
    root = tree(tmp_path, {"proc/diskstats": "   7 0 loop0 1 0 8 1 0 0 0 0 0 0 0\n" + line})
    assert values(DiskCollector(root).read([DATABASE, HOST], 1.0)) == {
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


def test_a_device_that_vanished_is_an_error(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/diskstats": ""})
    with pytest.raises(OSError, match="loop3 is not in"):
        list(DiskCollector(root).read([DATABASE], 1.0))


def test_control_group_version_1(tmp_path: Path) -> None:
    group = "sys/fs/cgroup"
    root = tree(
        tmp_path,
        {
            "proc/42/cgroup": "5:memory:/d/x\n4:cpu,cpuacct:/d/x\n0::/\n",
            f"{group}/cpuacct/d/x/cpuacct.usage": "2500000000\n",
            f"{group}/cpu/d/x/cpu.stat": "nr_periods 5\nthrottled_time 1000000000\n",
            f"{group}/memory/d/x/memory.usage_in_bytes": "4096\n",
            f"{group}/memory/d/x/memory.stat": "cache 1\ntotal_cache 1024\n",
        },
    )
    assert values(CgroupCollector(root).read([DATABASE], 1.0)) == {
        "cpu_seconds_total": 2.5,
        "cpu_throttled_seconds_total": 1.0,
        "memory_used_bytes": 4096,
        "memory_cache_bytes": 1024,
    }


def test_control_group_version_2(tmp_path: Path) -> None:
    group = "sys/fs/cgroup"
    root = tree(
        tmp_path,
        {
            "proc/42/cgroup": "0::/system.slice/x.scope\n",
            f"{group}/cgroup.controllers": "cpu io memory\n",
            f"{group}/system.slice/x.scope/cpu.stat": "usage_usec 2500000\nthrottled_usec 0\n",
            f"{group}/system.slice/x.scope/memory.current": "4096\n",
            f"{group}/system.slice/x.scope/memory.stat": "anon 1\nfile 1024\n",
        },
    )
    assert values(CgroupCollector(root).read([DATABASE], 1.0)) == {
        "cpu_seconds_total": 2.5,
        "cpu_throttled_seconds_total": 0.0,
        "memory_used_bytes": 4096,
        "memory_cache_bytes": 1024,
    }


def test_machine_with_and_without_pressure(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/stat": "cpu  100 0 50 900 3 1 2 7 0 0\ncpu0 1\n"})
    assert values(MachineCollector(root).read([HOST, DATABASE], 1.0)) == {
        "cpu_busy_seconds_total": pytest.approx(1.53),
        "cpu_steal_seconds_total": pytest.approx(0.07),
    }
    tree(tmp_path, {"proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"})
    found = values(MachineCollector(root).read([HOST], 1.0))
    assert found["pressure_io_some_seconds_total"] == pytest.approx(1.5)


def test_network_leaves_out_loopback(tmp_path: Path) -> None:
    table = "head\nhead\n    lo: 9 0 0 0 0 0 0 0 9\n  eth0: 100 1 0 0 0 0 0 0 200 1\n"
    root = tree(tmp_path, {"proc/42/net/dev": table})
    assert values(NetworkCollector(root).read([DATABASE], 1.0)) == {
        "network_received_bytes_total": 100,
        "network_sent_bytes_total": 200,
    }


class Broken:
    name = "broken"

    def read(self, nodes: Sequence[Node], now_s: float) -> Sequence[Sample]:
        raise OSError("gone")


class Steady:
    name = "steady"

    def read(self, nodes: Sequence[Node], now_s: float) -> Sequence[Sample]:
        return [Sample(now_s, "node-1", "cpu_seconds_total", "s", 1.0)]


def test_a_broken_collector_fails_nothing_and_is_remembered() -> None:
    readings = Readings()
    read_once([DATABASE], [Broken(), Steady()], readings, FakeClock())
    assert len(readings.samples) == 1
    assert readings.facts()["misses"] == {"broken: OSError: gone": 1}


def test_every_sample_carries_its_phase() -> None:
    readings = Readings([Sample(t, "n", "m", "s", 0.0) for t in (1.0, 5.0, 7.0)])
    table = readings.table([Phase("warm-up", 4.0, 6.0), Phase("measure", 6.0, 8.0)])
    assert table["phase"].tolist() == ["", "warm-up", "measure"]


def test_the_sampler_stops_with_its_block() -> None:
    from orchestrator.clock import SystemClock

    with sampling([DATABASE], [Steady()], SystemClock(), every_s=0.01) as readings:
        SystemClock().sleep(0.1)
    ticks = readings.ticks
    assert ticks >= 3
    SystemClock().sleep(0.05)
    assert readings.ticks == ticks
