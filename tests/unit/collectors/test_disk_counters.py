"""Counters of a block device, of kernels that count more and less."""

from __future__ import annotations

from pathlib import Path

from orchestrator.kernel import block_devices
from orchestrator.platforms.common.local_machine import LocalMachine

SINCE_5_5 = (100, 1, 800, 50, 200, 2, 1_600, 90, 3, 120, 140, 0, 0, 0, 0, 7, 4)


def test_a_line_of_eleven_counters_is_a_disk(tmp_path: Path) -> None:
    """As of kernels before 4.18."""
    whole = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11"
    short = "   8       1 sda1 1 2 3 4 5 6 7 8 9 10"
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "diskstats").write_text(f"{whole}\n{short}\n")
    rows = block_devices.counter_rows(LocalMachine(tmp_path))
    assert rows == {"sda": list(range(1, 12))}


def test_a_kernel_before_5_5_counts_no_flushes() -> None:
    newer = {metric: value for metric, _, value in block_devices.readings(SINCE_5_5)}
    assert newer["disk_flushes_total"] == 7
    assert newer["disk_read_bytes_total"] == 800 * 512
    assert newer["disk_queue_seconds_total"] == 0.14
    older = {metric for metric, _, _ in block_devices.readings(SINCE_5_5[:15])}
    flushes = {metric for metric in newer if "flush" in metric}
    assert flushes and older == set(newer) - flushes
    # The last of eleven counters, as of kernels before 4.18, is the queue's.
    eleven = {metric for metric, _, _ in block_devices.readings(SINCE_5_5[:11])}
    assert "disk_queue_seconds_total" in eleven
    ten = {metric for metric, _, _ in block_devices.readings(SINCE_5_5[:10])}
    assert eleven - ten == {"disk_queue_seconds_total"}
    only_reads = SINCE_5_5[:1]
    (found,) = block_devices.readings(only_reads)
    assert found == ("disk_reads_total", "", 100)
