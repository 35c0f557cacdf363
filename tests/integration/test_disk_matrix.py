"""The raw disk matrix on a real emulated disk, held against the limits that it declares.

An Azure Standard HDD (500 IOPS, 60 MB/s) has the shape of the published raw-disk study: its
ceilings must be found within 3 %, and its latency must be linear in depth once it is saturated.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.analysis.figures import matrix_laws
from orchestrator.analysis.metric_values import value_of
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.design import disk_matrix
from orchestrator.model import Record
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import store
from tests.integration.conftest import measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

IOPS, BYTES_PER_S, READ_LATENCY_S = 500, 60_000_000, 0.0125


@pytest.mark.slow
@measured
def test_a_hard_disk_is_found_as_it_was_declared(
    engine: DockerPlatform, tmp_path: Path
) -> None:
    """Ceilings within 3 %, latency linear in depth beyond saturation and in size beyond native."""
    code, text = tierbench(
        *["run", "--profile", "standard-hdd", "--workload", "disk-matrix"],
        *["--scale", "smoke", "--results", str(tmp_path)],
    )
    assert code == 0, text
    (run,) = store.load(tmp_path / "latest").runs
    ceilings_are_found(run.record)
    latency_follows_depth_and_size(run.record)
    counts_add_up(run)
    output_is_kept_and_the_report_made(tmp_path / "latest", run.record)


def ceilings_are_found(record: Record) -> None:
    for direction in ("all", "read"):
        assert value_of(record, "iops_ceiling", direction) == pytest.approx(
            IOPS, rel=0.03
        )
    for direction in ("all", "read", "write"):
        ceiling = value_of(record, "bytes_per_s_ceiling", direction)
        assert ceiling == pytest.approx(BYTES_PER_S, rel=0.03), direction
    assert value_of(record, "native_io_bytes") == pytest.approx(
        BYTES_PER_S / IOPS, rel=0.06
    )


def latency_follows_depth_and_size(record: Record) -> None:
    values = {(row.metric, row.scope): row.value for row in record.measurements}
    rows = matrix_laws.table(disk_matrix.planned(record.workload.options), values)
    law = matrix_laws.depth_laws(rows)[0]
    # 500 IOPS × 12.5 ms = 6.25 in flight: one is below saturation, eight are beyond it
    assert law.saturated_from == 8 and law.points == 4
    assert law.off_pct < 3, rows
    assert law.slope_s == pytest.approx(1 / IOPS, rel=0.03)
    assert law.alone_s == pytest.approx(READ_LATENCY_S, rel=0.15)
    last = matrix_laws.block_steps(rows)[-1]
    assert last.large_bytes / last.small_bytes == 4.0
    assert last.latency_ratio == pytest.approx(4.0, rel=0.15)


def counts_add_up(run: RunData) -> None:
    """Bytes that fio counted, and those of the disk in the same times. Each point lasts for 1.5 s,
    and the disk is read once a second, at times of its own."""
    figures = {figure.metric: figure.value for figure in conservation.figures(run)}
    assert figures["read_per_payload"] == pytest.approx(1.0, rel=0.1)
    assert figures["written_per_payload"] == pytest.approx(1.0, rel=0.1)


def output_is_kept_and_the_report_made(results: Path, record: Record) -> None:
    raw = next((results / "runs").iterdir()) / "raw" / "fio"
    cells = disk_matrix.planned(record.workload.options)
    for cell in cells:
        options = json.loads((raw / f"{cell.name}.json").read_text())["jobs"][0][
            "job options"
        ]
        assert (int(options["bs"]), int(options["iodepth"])) == (
            cell.block_bytes,
            cell.depth,
        )
        assert options["rw"].startswith("rand") == (cell.pattern == "random")
    assert (raw / "commands.txt").read_text().count("depth.fio") == len(cells)
    report = (results / "report.md").read_text()
    assert "### Ceilings found" in report
    assert (results / "charts" / "disk-matrix-standard-hdd-iops.svg").is_file()
