"""A machine by its node_exporter has the counters of a node that is started here."""

from __future__ import annotations

from contextlib import closing

import pytest

from orchestrator.collectors.node_exporter import NodeExporterCollector, readings
from orchestrator.databases.existing import disks
from orchestrator.databases.existing.disks import device_of, processors
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, PRESSURE, Node, Sample
from tests import ROOT
from tests.pages import Server

PAGE = (ROOT / "tests/fixtures/node-exporter-1.5.0/page.txt").read_text()
# With the names of node_exporter's collector `pressure`, on a kernel that has the counters.
WAITED = """\
# TYPE node_pressure_cpu_waiting_seconds_total counter
node_pressure_cpu_waiting_seconds_total 14.036782
# TYPE node_pressure_io_waiting_seconds_total counter
node_pressure_io_waiting_seconds_total 159.817709
# TYPE node_pressure_memory_waiting_seconds_total counter
node_pressure_memory_waiting_seconds_total 0.5
"""
# What collectors/cgroup.py, disk.py and network.py read of a container, and machine.py of the host;
# nobody limits the processors of a machine that is used as it is.
OF_A_NODE = {
    "cpu_seconds_total",
    "memory_used_bytes",
    "memory_cache_bytes",
    "disk_reads_total",
    "disk_read_bytes_total",
    "disk_read_seconds_total",
    "disk_writes_total",
    "disk_written_bytes_total",
    "disk_write_seconds_total",
    "disk_in_flight",
    "disk_busy_seconds_total",
    "disk_queue_seconds_total",
    "disk_flushes_total",
    "network_received_bytes_total",
    "network_sent_bytes_total",
    "cpu_steal_seconds_total",
}
PRESSURES = {f"pressure_{what}_some_seconds_total" for what in ("cpu", "io", "memory")}


def test_everything_that_is_read_of_an_own_node_is_read_of_another_machine() -> None:
    found = {name: value for name, _, value in readings(PAGE, ["vda"])}
    assert set(found) == OF_A_NODE
    assert found["disk_queue_seconds_total"] == 1207.851
    assert found["memory_used_bytes"] == 2.5274793984e10 - 2.4520347648e10


def test_several_disks_of_a_node_are_summed_and_that_of_its_log_stands_beside_them() -> None:
    other = "".join(
        f"{line.replace('vda', 'vdb')}\n" for line in PAGE.splitlines() if 'device="vda"' in line
    )
    once, twice, apart = (
        {name: value for name, _, value in readings(PAGE + other, *devices)}
        for devices in ((["vda"],), (["vda", "vdb"],), (["vda"], "vdb"))
    )
    assert twice["disk_writes_total"] == 2 * once["disk_writes_total"]
    assert twice["disk_busy_seconds_total"] == once["disk_busy_seconds_total"]
    assert apart == {
        **once,
        **{f"wal_{name}": value for name, value in once.items() if name.startswith("disk_")},
    }


def test_pressure_is_read_where_the_kernel_counts_it() -> None:
    found = {name: value for name, _, value in readings(PAGE + WAITED, ["vda"])}
    assert set(found) == OF_A_NODE | PRESSURES
    assert found["pressure_io_some_seconds_total"] == 159.817709
    assert disks.has_pressure(WAITED) and not disks.has_pressure(PAGE)


def test_it_is_asked_for_only_where_it_is_known_to_be() -> None:
    """An exporter without that collector refuses the whole page."""
    asked: list[str] = []

    def get(url: str, _timeout_s: float) -> str:
        asked.append(url)
        return PAGE

    old = Node("db-1", "database", sources={NODE_EXPORTER: "http://a"})
    new = Node("db-2", "database", sources={NODE_EXPORTER: "http://b", PRESSURE: "http://b"})
    list(NodeExporterCollector(get).read([old, new], 1.0))
    asked_for = {url: "pressure" in url for url in sorted(asked)}
    assert list(asked_for.values()) == [False, True]


def test_processors_and_memory_of_a_machine() -> None:
    assert (disks.processors(PAGE), disks.memory_bytes(PAGE)) == (2, 25274793984)


EXPORTED = """\
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000
node_cpu_seconds_total{cpu="0",mode="iowait"} 30
node_cpu_seconds_total{cpu="0",mode="steal"} 2
node_cpu_seconds_total{cpu="0",mode="system"} 20.5
node_cpu_seconds_total{cpu="1",mode="user"} 40
# TYPE node_disk_reads_completed_total counter
node_disk_reads_completed_total{device="nvme0n1"} 7
node_disk_reads_completed_total{device="nvme1n1"} 11
# TYPE node_disk_written_bytes_total counter
node_disk_written_bytes_total{device="nvme1n1"} 4.096e+06
# TYPE node_disk_io_time_weighted_seconds_total counter
node_disk_io_time_weighted_seconds_total{device="nvme1n1"} 1.25
# TYPE node_network_receive_bytes_total counter
node_network_receive_bytes_total{device="lo"} 999
node_network_receive_bytes_total{device="eth0"} 100
node_network_receive_bytes_total{device="eth1"} 1
# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 8e+09
node_memory_MemAvailable_bytes 5e+09
node_memory_Cached_bytes 4e+09
# TYPE node_filesystem_size_bytes gauge
node_filesystem_size_bytes{device="/dev/nvme0n1p1",fstype="ext4",mountpoint="/"} 1e+10
node_filesystem_size_bytes{device="/dev/nvme1n1",fstype="xfs",mountpoint="/mnt/d0"} 1e+12
"""


def test_node_exporter_says_the_same_things_under_our_names() -> None:
    assert {name: (unit, value) for name, unit, value in readings(EXPORTED, ["nvme1n1"])} == {
        "cpu_seconds_total": ("s", 60.5),
        "cpu_steal_seconds_total": ("s", 2.0),
        "disk_reads_total": ("", 11.0),
        "disk_written_bytes_total": ("bytes", 4096000.0),
        "disk_queue_seconds_total": ("s", 1.25),
        "network_received_bytes_total": ("bytes", 101.0),
        "memory_used_bytes": ("bytes", 3e9),
        "memory_cache_bytes": ("bytes", 4e9),
    }


def test_an_unknown_device_is_an_error_and_none_leaves_the_disk_out() -> None:
    with pytest.raises(KeyError, match="sda"):
        list(readings(EXPORTED, ["sda"]))
    assert not [name for name, _, _ in readings(EXPORTED, []) if name.startswith("disk_")]


def test_node_exporter_tells_processors_and_the_device_below_a_path() -> None:
    assert processors(EXPORTED) == 2
    assert device_of(EXPORTED, "/mnt/d0/yb-data") == "nvme1n1"
    assert device_of(EXPORTED, "/mnt/d00") == "nvme0n1"


def test_a_machine_is_sampled_under_its_nodes_name() -> None:
    samples: list[Sample] = []
    with (
        closing(Server()) as server,
        pytest.raises(OSError, match=r"db-1: KeyError.*no device 'sdz'"),
    ):
        server.pages["/metrics"] = (200, EXPORTED)
        nodes = [
            Node(name, "database", sources={NODE_EXPORTER: server.url, DISK_DEVICE: device})
            for name, device in (("db-1", "sdz"), ("db-2", "nvme1n1"))
        ]
        samples.extend(NodeExporterCollector().read(nodes, 5.0))
    assert {sample.node for sample in samples} == {"db-2"}
    assert ("disk_reads_total", 11.0) in {(sample.metric, sample.value) for sample in samples}
