"""Counters of each node's block devices, from /proc/diskstats of its machine.

Fields after `major minor name`, as the kernel documents them (Documentation/admin-guide/
iostats.rst): reads, reads merged, sectors read, ms reading, writes, writes merged, sectors
written, ms writing, in flight, ms busy, weighted ms, …, flushes (16th), ms flushing. A sector is
512 bytes here whatever the device's own is. Of a device that is made of others, such as an array,
only its own line is read: those of its members count the same I/O again. Counters of a disk that
only holds WAL begin with `wal_`. Every machine has devices of the same names, so the node's process
must be on its machine too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.collectors.common import local
from orchestrator.model import Node, Sample
from orchestrator.powers import Machine

_DISKSTATS = "/proc/diskstats"
_SECTOR_BYTES = 512
_MS = 1e-3


class DiskCollector:
    name = "disk"

    def __init__(self, where: local.Where) -> None:
        self._where = where

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        watched = [node for node in nodes if node.device]

        def readings(machine: Machine, node: Node) -> Iterable[local.Reading]:
            local.groups(machine, node)  # OSError if the process is not the container's
            fields = _rows(machine)
            for device, prefix in ((node.device, ""), (node.wal_device, "wal_")):
                if device is None:
                    continue
                if device not in fields:
                    raise OSError(f"{device} is not in {_DISKSTATS}: the device is gone")
                for name, unit, value in _readings(fields[device]):
                    yield f"{prefix}{name}", unit, value

        return local.each_on_its_machine(watched, now_s, self._where, readings)


def by_device(machine: Machine) -> dict[str, dict[str, float]]:
    """Every device of the machine → its counters and gauges now, by metric."""
    return {
        device: {metric: value for metric, _, value in _readings(row)}
        for device, row in _rows(machine).items()
    }


def _rows(machine: Machine) -> dict[str, list[int]]:
    rows = (line.split() for line in machine.read(_DISKSTATS).splitlines())
    return {row[2]: [int(number) for number in row[3:]] for row in rows if len(row) >= 14}


def _readings(row: Sequence[int]) -> Iterable[local.Reading]:
    yield "disk_reads_total", "", row[0]
    yield "disk_read_bytes_total", "bytes", row[2] * _SECTOR_BYTES
    yield "disk_read_seconds_total", "s", row[3] * _MS
    yield "disk_writes_total", "", row[4]
    yield "disk_written_bytes_total", "bytes", row[6] * _SECTOR_BYTES
    yield "disk_write_seconds_total", "s", row[7] * _MS
    yield "disk_in_flight", "", row[8]
    yield "disk_busy_seconds_total", "s", row[9] * _MS
    yield "disk_queue_seconds_total", "s", row[10] * _MS
    if len(row) >= 17:  # kernels since 5.5 count flushes
        yield "disk_flushes_total", "", row[15]
