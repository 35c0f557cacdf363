"""A machine by its node_exporter has the counters of a node that is started here."""

from __future__ import annotations

from orchestrator.collectors.node_exporter import NodeExporterCollector, readings
from orchestrator.databases.existing import disks
from orchestrator.model import NODE_EXPORTER, PRESSURE, Node
from tests import ROOT

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
