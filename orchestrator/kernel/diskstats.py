"""Counters of block devices, from /proc/diskstats.

Fields after `major minor name`, as the kernel documents them (Documentation/admin-guide/
iostats.rst): reads, reads merged, sectors read, ms reading, writes, writes merged, sectors
written, ms writing, in flight, ms busy, weighted ms, …, flushes (16th), ms flushing. A sector is
512 bytes here whatever the device's own is. Of a device that is made of others, such as an array,
only its own line is read: those of its members count the same I/O again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.powers import Machine

PATH = "/proc/diskstats"
_SECTOR_BYTES = 512
_MS = 1e-3


def by_device(machine: Machine) -> dict[str, dict[str, float]]:
    """Every device of the machine → its counters and gauges now, by metric."""
    return {
        device: {metric: value for metric, _, value in readings(row)}
        for device, row in rows(machine).items()
    }


def rows(machine: Machine) -> dict[str, list[int]]:
    """Device → its fields after the name."""
    lines = (line.split() for line in machine.read(PATH).splitlines())
    return {row[2]: [int(number) for number in row[3:]] for row in lines if len(row) >= 14}


def readings(row: Sequence[int]) -> Iterator[tuple[str, str, float]]:
    """(metric, unit, value) of one device."""
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
