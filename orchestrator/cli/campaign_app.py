"""An App that carries campaigns out: what the commands of a campaign are given.

A test hands the command line one of its own. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.app import App

if TYPE_CHECKING:
    from orchestrator.analysis.conclusions import Verdict
    from orchestrator.analysis.results import Results
    from orchestrator.cli.options import Request
    from orchestrator.model import Plan


@dataclass(frozen=True)
class CampaignApp(App):
    """What `run`, `compare` and those that report are made of."""

    def plan(self, request: Request) -> Plan:
        """The plan of what was asked for; nothing is started."""
        from orchestrator.cli import plans

        return plans.make_plan(self, request)

    def carry_out(self, plan: Plan, request: Request) -> Path:
        """Runs the plan; returns the campaign's folder."""
        from orchestrator.cli import campaign

        return campaign.carry_out(self, plan, request)

    def show(self, folder: Path, slo: str | None = None) -> tuple[Results, Verdict]:
        """Judges a campaign, writes its report and prints what was found."""
        from orchestrator import report
        from orchestrator.cli import concluding

        self.progress.step("judging and writing the report")
        loaded, verdict, paths = concluding.conclude(folder, slo, self.cache)
        self.progress.done()
        files = (f"report: {path.resolve()}" for path in (paths.html, paths.markdown))
        content = json.loads((folder / "verdict.json").read_text()) if self.out.as_json else None
        self.out.show(content, *report.console(loaded, verdict), *files)
        return loaded, verdict
