"""A machine by its node_exporter has the counters of a node that is started here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest

from orchestrator.collectors.node_exporter import NodeExporterCollector, readings
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER, PRESSURE
from orchestrator.databases.existing import exporter_host
from orchestrator.databases.existing.exporter_host import device_of, processors
from orchestrator.model import Node, Sample
from tests import ROOT
from tests.pages import Server

PAGE, NETWORK = (
    (ROOT / f"tests/fixtures/node-exporter-1.5.0/{name}.txt").read_text()
    for name in ("page", "network")
)
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


def test_several_disks_of_a_node_are_summed_and_that_of_its_log_stands_beside_them() -> (
    None
):
    other = "".join(
        f"{line.replace('vda', 'vdb')}\n"
        for line in PAGE.splitlines()
        if 'device="vda"' in line
    )
    once, twice, apart = (
        {name: value for name, _, value in readings(PAGE + other, *devices)}
        for devices in ((["vda"],), (["vda", "vdb"],), (["vda"], "vdb"))
    )
    assert twice["disk_writes_total"] == 2 * once["disk_writes_total"]
    assert twice["disk_busy_seconds_total"] == once["disk_busy_seconds_total"]
    assert apart == {
        **once,
        **{
            f"wal_{name}": value
            for name, value in once.items()
            if name.startswith("disk_")
        },
    }


def test_pressure_is_read_where_the_kernel_counts_it() -> None:
    found = {name: value for name, _, value in readings(PAGE + WAITED, ["vda"])}
    assert set(found) == OF_A_NODE | PRESSURES
    assert found["pressure_io_some_seconds_total"] == 159.817709
    assert exporter_host.has_pressure(WAITED) and not exporter_host.has_pressure(PAGE)


def test_it_is_asked_for_only_where_it_is_known_to_be() -> None:
    """An exporter without that collector refuses the whole page."""
    asked: list[str] = []

    def get(url: str, _timeout_s: float) -> str:
        asked.append(url)
        return PAGE

    old = Node("db-1", "database", sources={NODE_EXPORTER: "http://a"})
    new = Node(
        "db-2", "database", sources={NODE_EXPORTER: "http://b", PRESSURE: "http://b"}
    )
    list(NodeExporterCollector(get).read([old, new], 1.0))
    asked_for = {url: "pressure" in url for url in sorted(asked)}
    assert list(asked_for.values()) == [False, True]


def test_processors_and_memory_of_a_machine() -> None:
    assert (exporter_host.processors(PAGE), exporter_host.memory_bytes(PAGE)) == (
        2,
        25274793984,
    )


# ------------------------------------------------------------------ its network


def classes(**devices: Sequence[float]) -> str:
    """A page of netclass. Of each device: flags, its number, that of what it is made of, how it got
    its address, its type, its speed in Mbit/s; all with a link."""
    names = (
        "flags",
        "iface_id",
        "iface_link",
        "address_assign_type",
        "protocol_type",
        "speed",
    )
    lines = [
        f'node_network_{name}{"_bytes" * (name == "speed")}{{device="{device}"}} '
        f"{value * 125_000 if name == 'speed' else value:g}"
        for device, values in devices.items()
        for name, value in zip((*names, "carrier"), (*values, 1), strict=True)
    ]
    return "\n".join(lines) + "\n"


# Values of type and address: the kernel's Documentation/ABI/testing/sysfs-class-net; flags:
# netdevice(7). A bundle with its member 6979 was seen of a router, the bridge of a Proxmox.
CLASSES: dict[str, tuple[str, dict[str, float]]] = {
    "a card below a bridge of virtual machines, which takes over its address": (
        classes(
            enp0s31f6=(4867, 2, 2, 0, 1, 1000),
            vmbr0=(4099, 4, 4, 3, 1, 10000),
            veth100i0=(4867, 5, 2, 3, 1, 10000),
        ),
        {"enp0s31f6": 1.25e8},
    ),
    "two cards in a bundle, a VLAN on it": (
        classes(
            eth0=(6979, 2, 2, 0, 1, 10000),
            eth1=(6979, 3, 3, 3, 1, 10000),
            uplink=(5891, 4, 4, 2, 1, 20000),
            storage=(4099, 5, 4, 2, 1, 20000),
        ),
        {"uplink": 2.5e9},
    ),
    "Hyper-V's card, whose bytes have those of the virtual function below it": (
        classes(eth0=(4099, 2, 2, 0, 1, 50000), enP1s2=(6147, 3, 3, 0, 1, 50000)),
        {"eth0": 6.25e9},
    ),
    "two cards, of which one does not say its speed, and a tunnel": (
        classes(
            ens5=(4099, 2, 2, 0, 1, 25000),
            ib0=(4099, 3, 3, 0, 32, -1),
            wg0=(209, 4, 4, 0, 65534, 10000),
        ),
        {"ens5": 3.125e9, "ib0": 0.0},
    ),
    "the end of a pair, as in a container": (
        classes(eth0=(4099, 16, 17, 3, 1, 10000)),
        {},
    ),
    "an exporter that has no such collector": ("", {}),
}


@pytest.mark.parametrize("machine", CLASSES)
def test_what_is_made_of_cards_is_no_card(machine: str) -> None:
    page, cards = CLASSES[machine]
    assert exporter_host.cards(page) == cards


def test_a_byte_counts_once_though_a_bridge_and_a_pair_pass_it_on() -> None:
    """On this page the bytes of all devices are 590 times those that the card sent."""
    assert exporter_host.cards(NETWORK) == {"eth0": 0.0}
    own = {
        "network_received_bytes_total": 2.176817829e09,
        "network_sent_bytes_total": 3.141055e06,
        "network_received_packets_total": 56185,
        "network_sent_packets_total": 32988,
    }
    for cards in ({"eth0": 0.0}, {}):  # known, or by the names of the others
        assert {
            name: value for name, _, value in readings(NETWORK, [], cards=cards)
        } == own


def test_a_node_is_read_with_its_cards() -> None:
    node = Node(
        "db-1", "database", sources={NODE_EXPORTER: "http://a"}, cards={"docker0": 1.0}
    )
    samples = NodeExporterCollector(lambda *_: NETWORK).read([node], 1.0)
    assert {s.metric: s.value for s in samples}[
        "network_sent_bytes_total"
    ] == 1.836402427e09


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
    assert {
        name: (unit, value) for name, unit, value in readings(EXPORTED, ["nvme1n1"])
    } == {
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
    with pytest.raises(OSError, match="sda"):
        list(readings(EXPORTED, ["sda"]))
    assert not [
        name for name, _, _ in readings(EXPORTED, []) if name.startswith("disk_")
    ]


def test_who_names_an_unknown_device_is_told_which_disks_there_are() -> None:
    """Names differ from machine to machine: sdc, nvme1n1, vda."""
    many = EXPORTED + "".join(
        f'node_disk_io_now{{device="dm-{number}"}} 0\n' for number in range(20)
    )
    for page, expected in (
        (EXPORTED, "node_exporter counts no disk 'sdz', but nvme0n1 and nvme1n1"),
        (many, "counts no disk 'sdz', but dm-0, dm-1, .* and 17 more"),
        ("node_memory_Cached_bytes 4e9\n", "counts no disk 'sdz', and no other"),
    ):
        with pytest.raises(OSError, match=expected):
            list(readings(page, ["sdz"]))


def test_node_exporter_tells_processors_and_the_device_below_a_path() -> None:
    assert processors(EXPORTED) == 2
    assert device_of(EXPORTED, "/mnt/d0/yb-data") == "nvme1n1"
    assert device_of(EXPORTED, "/mnt/d00") == "nvme0n1"


def test_a_machine_is_sampled_under_its_nodes_name() -> None:
    samples: list[Sample] = []
    with (
        closing(Server()) as server,
        pytest.raises(OSError, match="db-1: node_exporter counts no disk 'sdz', but"),
    ):
        server.pages["/metrics"] = (200, EXPORTED)
        nodes = [
            Node(
                name,
                "database",
                sources={NODE_EXPORTER: server.url, DISK_DEVICE: device},
            )
            for name, device in (("db-1", "sdz"), ("db-2", "nvme1n1"))
        ]
        samples.extend(NodeExporterCollector().read(nodes, 5.0))
    assert {sample.node for sample in samples} == {"db-2"}
    assert ("disk_reads_total", 11.0) in {
        (sample.metric, sample.value) for sample in samples
    }
