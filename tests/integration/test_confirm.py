"""`--confirm` on real disks of ours: the limit that binds is proven, and the others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests.integration.conftest import measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


@pytest.mark.slow
@measured
def test_a_disk_at_its_iops_cap_is_proven_to_be_the_limit(tmp_path: Path) -> None:
    """Data beyond memory on 1,100 IOPS. Afterwards all limits are read back as declared, or the run
    would have failed; what was changed is in no figure."""
    code, text = tierbench(
        *[
            "run",
            "--profile",
            "premium",
            "--workload",
            "point-select",
            "--scale",
            "smoke",
        ],
        *["--nodes", "1", "--confirm", "--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    (run,) = campaign.done
    measure, confirm = (run.record.phase(name) for name in ("measure", "confirm"))
    assert (
        measure is not None and confirm is not None and confirm.start_s == measure.end_s
    )
    assert measure.duration_s == pytest.approx(run.record.workload.measure_s, abs=0.01)
    assert all(time_s < measure.end_s for time_s in run.intervals["time_s"])
    (bottleneck,) = judge(campaign).bottlenecks
    tried = {elasticity.limit: elasticity for elasticity in bottleneck.elasticities}
    tier = {"IOPS", "bandwidth", "disk latency"}
    assert set(tried) == {*tier, "node CPU", "client CPU", "sessions"}
    assert bottleneck.evidence["sessions"] == pytest.approx(
        run.record.workload.threads, rel=0.1
    )
    assert bottleneck.cause == "iops_cap", bottleneck.text
    assert tried["IOPS"].value >= 0.5 and tried["IOPS"].low > 0.1, bottleneck.text
    for limit in ("bandwidth", "disk latency", "node CPU", "client CPU"):
        assert tried[limit].value < 0.5, bottleneck.text
