"""What hosts say of themselves, as texts to be damaged: files of a kernel, pages of servers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from orchestrator.collectors import cgroup, disk, machine, network
from orchestrator.collectors.common.node_by_node import OnItsMachine, Reading
from orchestrator.databases.existing import probe, remembered as memory
from orchestrator.databases.existing.declaration import Existing
from orchestrator.databases.existing.exporter_host import Places
from orchestrator.databases.postgresql import checkpoints_s
from orchestrator.keys.addresses import read as addresses
from orchestrator.model import Node
from orchestrator.yugabyte import pages
from tests.pages import Server

ID = "3f2a9c41d7e0"
NODE = Node("node-1", "database", container_id=ID, process_id=7, device="sda")
_WHOLE = Node("host", "host")

# ------------------------------------------------------------------ files of a kernel


class FilesOfAMachine:
    """A machine whose files are in one text, as `grep -r '' /proc /sys` prints them."""

    name = "test"

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def read(self, path: str) -> str:
        found = [
            line.removeprefix(f"{path}:")
            for line in self._lines
            if line.startswith(f"{path}:")
        ]
        if not found:
            raise FileNotFoundError(path)
        return "".join(f"{line}\n" for line in found)


def _printed(files: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"{path}:{line}" for path, text in files for line in text.splitlines()
    )


_NET = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:     120       2    0    0    0     0          0         0      120       2    0    0    0
  eth0: 1514323    2210    0    0    0     0          0         0   914421    1874    0    0    0
"""
_SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens InSegs OutSegs RetransSegs InErrs
Tcp: 1 200 120000 -1 12 2201 1866 3 0
Udp: InDatagrams NoPorts
Udp: 4 0
"""
_DISKSTATS = (
    "   8       0 sda 4410 1217 409154 1743 1921 2341 98170 2213 0 2484 3957 "
    "0 0 0 0 12 1\n"
)
_UNIFIED = f"/sys/fs/cgroup/docker/{ID}"
UNIFIED = _printed((
    ("/proc/7/cgroup", f"0::/docker/{ID}\n"),
    ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
    (f"{_UNIFIED}/cpu.stat", "usage_usec 8123400\nnr_throttled 3\nthrottled_usec 4100\n"),
    (f"{_UNIFIED}/memory.current", "201326592\n"),
    (f"{_UNIFIED}/memory.stat", "anon 91750400\nfile 73400320\n"),
    ("/proc/7/net/dev", _NET),
    ("/proc/7/net/snmp", _SNMP),
    ("/proc/diskstats", _DISKSTATS),
))  # fmt: skip
SEPARATE = _printed((
    ("/proc/7/cgroup", f"5:memory:/docker/{ID}\n3:cpu,cpuacct:/docker/{ID}\n"),
    (f"/sys/fs/cgroup/cpuacct/docker/{ID}/cpuacct.usage", "8123400000\n"),
    (f"/sys/fs/cgroup/cpu/docker/{ID}/cpu.stat", "nr_throttled 3\nthrottled_time 4100000\n"),
    (f"/sys/fs/cgroup/memory/docker/{ID}/memory.usage_in_bytes", "201326592\n"),
    (f"/sys/fs/cgroup/memory/docker/{ID}/memory.stat", "cache 73400320\ntotal_cache 73400320\n"),
    ("/proc/7/net/dev", _NET),
    ("/proc/7/net/snmp", _SNMP),
    ("/proc/diskstats", _DISKSTATS),
))  # fmt: skip
_WAITED = "some avg10=0.00 avg60=0.31 avg300=0.11 total=5120031\n"
WHOLE = _printed((
    ("/proc/stat", "cpu  42913 44 20441 139116 3790 0 1769 81 0 0\nctxt 9311\n"),
    *((f"/proc/pressure/{resource}", _WAITED) for resource in ("cpu", "io", "memory")),
))  # fmt: skip


def counted(kind: type[OnItsMachine], node: Node) -> Callable[[str], Iterable[Reading]]:
    """Readings of a collector on a machine with these files."""

    def read(text: str) -> Iterable[Reading]:
        there = FilesOfAMachine(text)
        return kind(lambda _: there).readings(there, node)  # type: ignore[arg-type,return-value]

    return read


def of_a_kernel() -> Iterator[
    tuple[str, tuple[str, ...], Callable[[str], Iterable[Reading]]]
]:
    for kind in (cgroup.CgroupCollector, network.NetworkCollector, disk.DiskCollector):
        yield f"files for {kind.name}", (UNIFIED, SEPARATE), counted(kind, NODE)
    yield "files for machine", (WHOLE,), counted(machine.MachineCollector, _WHOLE)


# ------------------------------------------------------------------ pages of servers


@cache
def _server() -> Server:
    return Server()


_ROW = {
    "status": "ALIVE", "num_sst_files": 3, "total_sst_file_size_bytes": 199735,
    "uncompressed_sst_file_size_bytes": 200238, "user_tablets_leaders": 1,
    "cloud": "a", "region": "b", "zone": "d",
}  # fmt: skip
_ENTITIES = {
    "keyspaces": [{"keyspace_id": "k1", "keyspace_name": "bench", "keyspace_type": "ysql"}],
    "tables": [{"table_id": "t1", "keyspace_id": "k1", "table_name": "sbtest1"}],
    "tablets": [{
        "table_id": "t1", "tablet_id": "x1", "state": "RUNNING", "leader": "s1",
        "replicas": [{"type": "VOTER", "server_uuid": "s1", "addr": "10.0.0.1:9100"}],
    }],
}  # fmt: skip
_FLAG = {"name": "durable_wal_write", "value": "true", "type": "Default"}
# Name → a page, and what is read of a server that has it at every path.
PAGES: dict[str, tuple[object, Callable[[str], object]]] = {
    "flags": ({"flags": [_FLAG]}, pages.flags),
    "version": ({"version_number": "2.18.1.0", "build_number": "84"}, pages.version),
    "tablet servers": (
        {"": {"10.0.0.1:9000": _ROW, "10.0.0.2:9000": {"status": "DEAD"}}},
        lambda url: pages.tablet_servers([url]),
    ),
    "entities": (_ENTITIES, lambda url: pages.tablet_leaders([url], "bench")),
    "copies": (
        {"version": 1, "replication_info": {"live_replicas": {"num_replicas": 3}}},
        lambda url: pages.replication_factor([url]),
    ),
    "health": (
        {
            "dead_nodes": ["s2"],
            "under_replicated_tablets": [],
            "most_recent_uptime": 31,
        },
        lambda url: pages.health([url]),
    ),
}


def of_servers() -> Iterator[tuple[str, str, Callable[[str], object]]]:
    for name, (content, read) in PAGES.items():
        yield f"YugabyteDB's page of {name}", json.dumps(content), _asking(read)
    yield "node_exporter of a host", HOST, _asking(_seen)


def _asking(read: Callable[[str], object]) -> Callable[[str], object]:
    def enter(text: str) -> object:
        _server().otherwise = (200, text)
        return read(_server().url)

    return enter


HOST = """\
node_cpu_seconds_total{cpu="0",mode="idle"} 1391.16
node_cpu_seconds_total{cpu="1",mode="idle"} 1209.32
# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 8.366080e+09
node_filesystem_size_bytes{device="/dev/nvme0n1p1",fstype="ext4",mountpoint="/"} 5.2e+10
node_filesystem_size_bytes{device="/dev/mapper/data",fstype="xfs",mountpoint="/mnt/data"} 1e+12
node_disk_device_mapper_info{device="dm-0",lv_name="",name="data",uuid="LVM-x",vg_name=""} 1
node_disk_reads_completed_total{device="nvme0n1"} 134710
node_disk_reads_completed_total{device="dm-0"} 4710
node_pressure_io_waiting_seconds_total 31.5
"""


def _seen(url: str) -> object:
    where = Places(("/mnt/data/yb",), ("/var/lib/wal",))
    host = probe.Host(banner="PostgreSQL 16.4")
    declared = Existing(node_exporters=(url,))
    return probe._with_machine(host, f"{url}/metrics", declared, 0, where)


# ------------------------------------------------------------------ a server's log, our own notes

LOG = """\
2026-01-01 12:19:35.470 UTC [21] LOG:  checkpoint starting: time
2026-01-01 12:19:35.981 UTC [21] LOG:  checkpoint complete: wrote 4 buffers (0.0%)
2026-01-01 12:24:35.112 UTC [21] LOG:  checkpoint complete: wrote 19 buffers (0.1%)
"""


def checkpoints(text: str) -> object:
    """How many there were: moments are held against a window, so a false one counts nowhere."""
    return len(checkpoints_s(text) or ())


def note() -> str:
    """What is remembered of a database that was made in a cluster of others."""
    with tempfile.TemporaryDirectory() as folder:
        declared = Existing(addresses("db-1:5433,db-2"), tls_root="ca.pem")
        memory.remember(
            Path(folder),
            declared,
            memory.owner_here(Path(folder), "feed00", 9.0),
        )
        (file,) = Path(folder).rglob("*.json")
        return file.read_text()


def remembered(text: str) -> object:
    """As `clean` reads it: each command that would drop one."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "existing").mkdir()
        (Path(folder) / "existing/x.json").write_text(text, errors="replace")
        read = memory.leftovers(Path(folder))
        return [(left.command, left.declared.where) for left in read] or None
