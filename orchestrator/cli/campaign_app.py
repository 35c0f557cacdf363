"""An App that carries campaigns out: what the commands of a campaign are given.

A test hands the command line one of its own. Nothing heavy is imported before it is used."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from orchestrator.cli.app import App, Platforms
from orchestrator.model import Placing
from orchestrator.parts import Parts
from orchestrator.powers import Clock, Platform

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    def rehearse(self, request: Request) -> Path:
        """Plans as asked, goes through all runs in made-up time, on parts that do nothing and
        without Docker; returns the campaign's folder."""
        from orchestrator.cli import campaign
        from orchestrator.planning import rehearsal
        from orchestrator.platforms.dry import DryPlatform
        from orchestrator.run import experiment
        from orchestrator.system.clock import MadeUpClock

        platform: Any = DryPlatform()
        request = replace(request, database="postgresql")  # any: none is started
        with TemporaryDirectory() as cache:
            dry = replace(
                self,
                cache=Path(cache),
                clock=MadeUpClock(self.clock.now()),
                platforms=partial(_platforms_alike, self.platforms(), platform),
            )
            plan = rehearsal.rehearsed(dry.plan(request))
            self.progress.warn(rehearsal.WARNING)
            world = replace(dry.world(), scope="tierbench")
            host = asdict(world.machine.facts())
            facts = campaign.fingerprint(self, host, rehearsal.WARNING, world)
            parts = _dry_parts(dry.parts(platform))
            return experiment.execute(plan, parts, world, request.results, facts)

    def show(self, folder: Path, slo: str | None = None) -> tuple[Results, Verdict]:
        """Judges a campaign, writes its report and prints what was found."""
        from orchestrator import report
        from orchestrator.cli import concluding

        self.progress.step("judging and writing the report")
        loaded, verdict, paths = concluding.conclude(folder, slo, self.cache)
        self.progress.done()
        files = [
            f"report: {paths.html.resolve()}",
            f"report: {paths.markdown.resolve()}",
        ]
        content = None
        if self.out.as_json:
            content = json.loads((folder / "verdict.json").read_text())
        self.out.show(content, *report.console(loaded, verdict), *files)
        return loaded, verdict


def _dry_parts(parts: Parts) -> Parts:
    """With the collectors alone that make figures up."""
    from orchestrator.keys.schema import DRY

    collectors = [collector for collector in parts.collectors if collector.name == DRY]
    return replace(parts, collectors=tuple(collectors))


def _platforms_alike(names: Iterable[str], platform: Platform) -> Platforms:
    """Whatever platform is connected to, it is this one."""

    def connect(_clock: Clock, _placing: Placing) -> Platform:
        return platform

    return dict.fromkeys(names, connect)
