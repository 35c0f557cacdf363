"""`tierbench rehearse`: a whole campaign without Docker, on parts that do nothing."""

from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orchestrator.cli import campaign
from orchestrator.cli.campaign_app import CampaignApp
from orchestrator.cli.options import Request
from orchestrator.keys.schema import DRY
from orchestrator.planning import rehearsal
from orchestrator.platforms.dry import DryPlatform
from orchestrator.run import experiment
from orchestrator.system.clock import MadeUpClock


def carry_out(app: CampaignApp, request: Request) -> Path:
    """Plans as asked, goes through all runs in made-up time, and returns the campaign's folder."""
    with TemporaryDirectory() as cache:
        platform: Any = DryPlatform()
        known = dict.fromkeys(app.platforms(), lambda *_: platform)
        dry = replace(
            app, cache=Path(cache), clock=MadeUpClock(app.clock.now()), platforms=lambda: known
        )
        request = replace(request, database="postgresql")  # any: none is started
        plan = rehearsal.rehearsed(dry.plan(request))
        app.progress.warn(rehearsal.WARNING)
        world = replace(dry.world(), scope="tierbench")
        parts = dry.parts(world.platform)
        collectors = tuple(collector for collector in parts.collectors if collector.name == DRY)
        parts = replace(parts, collectors=collectors)
        host = asdict(world.machine.facts())
        fingerprint = campaign.fingerprint(app, host, rehearsal.WARNING, world)
        return experiment.execute(plan, parts, world, request.results, fingerprint)
