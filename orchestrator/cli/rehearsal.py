"""`tierbench rehearse`: a whole campaign without Docker, on parts that do nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from typer import Option

from orchestrator.cli import campaign, plans
from orchestrator.cli.options import ProfilesOption, Request, WorkloadsOption, names_in
from orchestrator.collectors import collectors
from orchestrator.databases import databases
from orchestrator.load_generators import load_generators
from orchestrator.parts import Parts
from orchestrator.planning import rehearsal
from orchestrator.platforms.dry import DryPlatform
from orchestrator.powers import Progress, World
from orchestrator.run import experiment
from orchestrator.system.clock import MadeUpClock, SystemClock
from orchestrator.system.shell import SystemShell
from orchestrator.tiers import tier_mechanisms


def command(
    root: Path, kept: Path, progress: Progress, conclude: Callable[[Path], object]
) -> Callable[..., None]:
    """The command; `kept`: where rehearsals stay unless named, `conclude`: judges and shows one."""

    def rehearse(
        profiles: ProfilesOption = "premium ultra",
        workloads: WorkloadsOption = "point-select insert tpcc",
        scale: Annotated[str, Option(help="As of `compare`.")] = "smoke",
        repeats: Annotated[int, Option(min=1, help="Repetitions of every cell.")] = 3,
        seed: Annotated[int, Option(help="Seed of the run order and of the figures.")] = 1,
        results: Annotated[Path, Option(file_okay=False, help="Where rehearsals are kept.")] = kept,
    ) -> None:
        """Goes through a whole campaign in seconds, without Docker: its figures are made up."""
        request = Request(
            profiles=names_in(profiles),
            workloads=names_in(workloads),
            scale=scale,
            repetitions=repeats,
            seed=seed,
        )
        conclude(carry_out(request, root, results, progress))

    return rehearse


def carry_out(request: Request, root: Path, results: Path, progress: Progress) -> Path:
    """Plans as asked, goes through all runs in made-up time, and returns the campaign's folder."""
    with TemporaryDirectory() as cache:
        request = replace(request, database="postgresql")  # any: none is started
        platform: Any = DryPlatform()
        plan = plans.make_plan(request, root, Path(cache), connect=lambda *_: platform)
        made = rehearsal.rehearsed(plan)
        progress.warn(rehearsal.WARNING)
        clock = MadeUpClock(SystemClock().now())
        world = World(clock, SystemShell(), platform, progress, Path(cache), root)
        dry = tuple(c for c in collectors(world.platform) if c.name == rehearsal.NAME)
        parts = Parts(databases(), load_generators(), tier_mechanisms(), dry)
        fingerprint = campaign.fingerprint(asdict(world.machine.facts()), rehearsal.WARNING, world)
        return experiment.execute(made, parts, world, results, fingerprint)
