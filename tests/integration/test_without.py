"""`--without` on real parts: the same runs without disk, without network and without commits.

Premium's writes take 1.3 ms and more, and each of ten inserts of a session commits at the end: what
takes the disk away, or the wait for it, is seen at once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis import metric_values, results
from orchestrator.system import store
from tests.integration.conftest import measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]
SMALL = ("tables=1", "table_size=5000", "threads=2", "warmup=1s", "measure=4s")


@pytest.mark.slow
@measured
def test_each_stage_is_taken_away_and_the_report_says_what_that_did(
    tmp_path: Path,
) -> None:
    code, text = tierbench(
        *["run", "--profile", "premium", "--workload", "insert", "--scale", "smoke"],
        *["--db", "postgresql", "--nodes", "1", "--without", "disk,network,commit"],
        *[word for key in SMALL for word in ("--set", key)],
        *["--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    runs = {
        run.record.workload.name.removeprefix("insert-at-"): run
        for run in campaign.done
    }
    assert runs.keys() == {
        "all-stages",
        *(f"without-{of}" for of in ("disk", "network", "commit")),
    }
    rates = {
        at: metric_values.value_of(run.record, "throughput_per_s")
        for at, run in runs.items()
    }
    disk, full = runs["without-disk"].record, runs["all-stages"].record
    assert (
        disk.facts["tier"]["image"] == "/tmp/node-1.img"
        and disk.profile.tier.disk.in_memory
    )
    assert full.facts["tier"]["image"].startswith("/images/")
    assert (rates["without-disk"] or 0) > 1.2 * (rates["all-stages"] or 0), rates
    assert (rates["without-commit"] or 0) > 1.2 * (rates["all-stages"] or 0), rates
    durable = {at: results.database(run.record).durable for at, run in runs.items()}
    assert [at for at, is_durable in durable.items() if not is_durable] == [
        "without-commit"
    ]
    page = (tmp_path / "latest" / "report.md").read_text()
    for stage in ("disk", "network", "sync of commits"):
        assert f"with the {stage} out of the path" in page, page
    assert "commits not durable" in text or "durab" in page
