"""The raw disk matrix on a real emulated disk, held against the limits that it declares.

An Azure Standard HDD (500 IOPS, 60 MB/s) has the shape of the published raw-disk study: its
ceilings must be found within 3 %, and its latency must be linear in depth once it is saturated.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.analysis.results import Results, value_of
from orchestrator.model import Record
from orchestrator.planning import disk_matrix
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import store
from tests.integration.conftest import tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

IOPS, BYTES_PER_S, READ_LATENCY_S = 500, 60_000_000, 0.0125


@pytest.fixture(scope="module")
def results(engine: DockerPlatform, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    code, text = tierbench(
        *["run", "--profile", "standard-hdd", "--workload", "disk-matrix"],
        *["--scale", "smoke", "--results", str(folder)],
    )
    assert code == 0, text
    return folder / "latest"


@pytest.fixture(scope="module")
def campaign(results: Path) -> Results:
    return store.load(results)


@pytest.fixture(scope="module")
def record(campaign: Results) -> Record:
    (run,) = campaign.runs
    return run.record


def test_ceilings_are_found_within_three_percent(record: Record) -> None:
    for way in ("all", "read"):
        assert value_of(record, "iops_ceiling", way) == pytest.approx(IOPS, rel=0.03)
    for way in ("all", "read", "write"):
        found = value_of(record, "bytes_per_s_ceiling", way)
        assert found == pytest.approx(BYTES_PER_S, rel=0.03), way
    assert value_of(record, "native_io_bytes") == pytest.approx(BYTES_PER_S / IOPS, rel=0.06)


def test_latency_is_linear_in_depth_beyond_saturation(record: Record) -> None:
    figures = {(one.metric, one.scope): one.value for one in record.measurements}
    rows = disk_matrix.table(disk_matrix.planned(record.workload.options), figures)
    law = disk_matrix.depth_laws(rows)[0]
    # 500 IOPS × 12.5 ms = 6.25 in flight: one is below saturation, eight are beyond it
    assert law.saturated_from == 8 and law.points == 4
    assert law.off_pct < 3, rows
    assert law.slope_s == pytest.approx(1 / IOPS, rel=0.03)
    assert law.alone_s == pytest.approx(READ_LATENCY_S, rel=0.15)


def test_a_larger_block_than_native_costs_in_proportion(record: Record) -> None:
    figures = {(one.metric, one.scope): one.value for one in record.measurements}
    rows = disk_matrix.table(disk_matrix.planned(record.workload.options), figures)
    last = disk_matrix.block_steps(rows)[-1]
    assert last.bytes_ratio == 4.0
    assert last.latency_ratio == pytest.approx(4.0, rel=0.15)


def test_the_matrix_is_held_to_the_limits_of_a_control_group(
    engine: DockerPlatform, tmp_path: Path
) -> None:
    """1,000 IOPS passed the gate, and the matrix then ran without any limit."""
    profile = tmp_path / "held.yaml"
    tier = "{enforcement: cgroup, iops: 1000, throughput: 100MB/s}"
    text = f"question: does it hold?\ntitle: held\ntier: {tier}\ncluster: azure-d8s-v5\n"
    profile.write_text(text)
    code, said = tierbench(
        *["run", "--profile", str(profile), "--workload", "disk-matrix"],
        *["--scale", "smoke", "--results", str(tmp_path / "results")],
    )
    assert code == 0, said
    (run,) = store.load(tmp_path / "results" / "latest").runs
    assert value_of(run.record, "iops_ceiling", "read") == pytest.approx(1000, rel=0.05)


def test_fio_output_is_kept_and_the_report_made(results: Path, record: Record) -> None:
    raw = next((results / "runs").iterdir()) / "raw" / "fio"
    cells = disk_matrix.planned(record.workload.options)
    for cell in cells:
        asked = json.loads((raw / f"{cell.name}.json").read_text())["jobs"][0]["job options"]
        assert (int(asked["bs"]), int(asked["iodepth"])) == (cell.block_bytes, cell.depth)
        assert asked["rw"].startswith("rand") == (cell.pattern == "random")
    assert (raw / "commands.txt").read_text().count("depth.fio") == len(cells)
    report = (results / "report.md").read_text()
    assert "### Ceilings found" in report
    assert (results / "charts" / "disk-matrix-standard-hdd-iops.svg").is_file()
