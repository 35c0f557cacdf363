"""`tierbench tiers set` on a run that is going on."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.cli import main
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.system import store
from tests.integration.conftest import HERE, Program

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


@pytest.mark.slow
def test_limits_are_changed_by_command_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(run: str, *limits: str) -> tuple[int, str]:
        """Without starting Python anew, which may take longer than the run."""
        command = ["tiers", "set", run, "--results", str(tmp_path), *limits]
        code = main.exit_code(command, CampaignApp())
        return code, "".join(capsys.readouterr())

    workload = str(HERE / "workloads" / "tiny.yaml")
    program = Program.start(
        *["run", "--profile", "ultra", "--workload", workload, "--scale", "smoke"],
        *["--nodes", "1", "--results", str(tmp_path)],
    )
    program.until("measuring")
    code, text = change("latest", "iops=3000", "bytes_per_s=1e8")
    assert code == 0, text
    assert "iops = 3000" in text and "bytes_per_s = 100000000" in text
    code, text = change("99-other", "iops=3000")
    assert code == 64 and "99-other is not going on" in text
    code, text = change("latest", "iosp=3000")
    assert code == 64 and "not a limit that can be changed" in text.replace("\n", " ")
    assert program.end() == 2, program.text  # its only run counts for nothing
    code, text = change("latest", "iops=3000")
    assert code == 64 and "no run is going on" in text.replace("\n", " ")
    campaign = store.load(tmp_path / "latest")
    (run,) = campaign.runs
    assert list(campaign.excluded) == [run.record.run.number]
    (change_made,) = run.record.facts["limit_changes"]
    assert change_made["set"] == {"iops": 3000.0, "bytes_per_s": 1e8}
    assert "limits changed" in {doubt.kind for doubt in kinds.of_run(run, Totals())}
