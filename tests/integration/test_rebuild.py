"""A node lost under load and rebuilt, from the command line to a report, and one that is not back.

Goal: the report has the time, the bytes of its disk and the load before, meanwhile and afterwards,
and they are those of what happened; a node that is not back in time makes the run void.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.system import store
from tests.integration.conftest import tierbench

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]


def lost_node(results: Path, load: str, *sets: str) -> tuple[int, str, Results]:
    """A campaign of one run on three nodes, on the disks of `ultra`."""
    changed = ("table_size=100_000", "warmup=2s", *sets)
    code, text = tierbench(
        *["run", "--profile", "ultra", "--workload", load, "--scale", "smoke"],
        *[
            "--nodes",
            "3",
            "--repeats",
            "1",
            "--db",
            "postgresql",
            "--results",
            str(results),
        ],
        *["--retry-failed", "0"],
        *(word for each in changed for word in ("--set", f"{load}.{each}")),
    )
    return code, text, store.load(results / "latest")


def test_a_lost_node_of_three_to_a_report(tmp_path: Path) -> None:
    _, text, campaign = lost_node(
        tmp_path, "rebuild", "measure=26s", "lost_after=11s", "arrival_rate=100"
    )
    (run,) = campaign.runs
    record = run.record
    assert record.outcome == "done", text
    figures = {(m.metric, m.scope): m.value for m in record.measurements}
    times = json.loads(
        (tmp_path / "latest/runs" / record.run.slug / "raw/rebuild.json").read_text()
    )
    window = record.phase("measure")
    assert window and times["lost_s"] == pytest.approx(window.start_s + 11, abs=0.5)
    assert figures["rebuild_s", "all"] == times["back_s"] - times["lost_s"] < 15
    # All that the primary has was written to the emptied disk, and some of its log besides.
    assert times["written_bytes"] >= 0.9 * record.facts["database"]["data_bytes"]
    # No commit waits for that node: inserts come, and are done, at their rate all the time.
    for scope in ("before_loss", "rebuild", "after_rebuild"):
        assert figures["throughput_per_s", scope] == pytest.approx(100, rel=0.3), scope
    assert figures["latency_p99_s", "before_loss"] > 0
    assert record.facts["database"]["replicas_in_sync"] == 2
    # The new node is sampled as the old one was, and its absence is no gap.
    seconds = run.telemetry.by_second
    sampled = seconds[
        (seconds["node"] == "node-3") & (seconds["time_s"] > times["back_s"])
    ]
    assert len(sampled["cpus"].dropna()) >= window.end_s - times["back_s"] - 4
    assert "telemetry gaps" not in {doubt.kind for doubt in kinds.find(campaign)}
    report = (tmp_path / "latest" / "report.md").read_text()
    for words in ("Onto the rebuilt disk", "before loss", "after rebuild"):
        assert words in report
    code, text = tierbench("verify", str(tmp_path / "latest"))
    assert code == 0, text


def test_a_node_that_is_not_back_in_time_makes_the_run_void(tmp_path: Path) -> None:
    """Under a load that only reads: a session of the lost node that the primary still had would
    lack nothing."""
    code, _, campaign = lost_node(
        tmp_path, "point-select", "measure=6s", "lost_after=5.5s"
    )
    (run,) = campaign.runs
    assert code != 0
    assert run.record.outcome == "failed" and not run.record.measurements
    assert "node-3 was lost, and was not back when the window ended" in (
        run.record.failure or ""
    )
    raw = tmp_path / "latest" / "runs" / run.record.run.slug / "raw"
    assert "copying the primary" in (raw / "node-3.log").read_text()
