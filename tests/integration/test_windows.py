"""A window that begins when throughput is steady, and holds whole checkpoint intervals.

One run of the built-in inserts on PostgreSQL with the shortest checkpoint interval that it allows.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.system import store
from tests.integration.conftest import HERE, tierbench

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]


def test_a_steady_window_of_two_checkpoint_intervals(tmp_path: Path) -> None:
    code, text = tierbench(
        *[
            "run",
            "--profile",
            str(HERE / "profiles" / "checkpoints.yaml"),
            "--db",
            "postgresql",
        ],
        *[
            "--workload",
            str(HERE / "workloads" / "short-insert.yaml"),
            "--scale",
            "smoke",
        ],
        *["--warmup", "steady", "--windows", "checkpoints", "--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    (run,) = campaign.runs
    warm_up, window = run.record.phase("warm-up"), run.record.phase("measure")
    assert warm_up is not None and window is not None
    facts = run.record.facts["generator"]
    assert facts["warmup_s"] == pytest.approx(warm_up.duration_s, abs=0.1)
    assert 30 <= warm_up.duration_s <= 121 and isinstance(facts["warmup_steady"], bool)
    assert window.duration_s == 60
    # The load ended with the window: nobody waited for the longest warm-up.
    folder = tmp_path / "latest" / "runs" / run.record.run.slug
    transactions = pd.read_parquet(folder / "latencies.parquet")
    ends_s = (transactions["start_s"] + transactions["latency_s"]).max()
    assert window.end_s - 1 < ends_s < window.end_s + 2
    assert not campaign.excluded, "sysbench counted what was kept"
    times = run.record.facts["database"]["checkpoints_s"]
    assert sum(window.start_s <= at <= window.end_s for at in times) >= 2
    assert "few checkpoints" not in {doubt.kind for doubt in kinds.find(campaign)}
