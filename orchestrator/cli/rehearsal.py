"""`tierbench rehearse`: a whole campaign without Docker, on parts that do nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from typer import Option

from orchestrator.cli.options import ProfilesOption, Request, WorkloadsOption, names_in
from orchestrator.parts import Parts
from orchestrator.powers import Progress, World


def command(
    root: Path, kept: Path, progress: Progress, conclude: Callable[[Path, bool], object]
) -> Callable[..., None]:
    """The command; `kept`: where rehearsals stay unless named, `conclude`: judges and shows one."""

    def rehearse(
        profiles: ProfilesOption = "premium ultra",
        workloads: WorkloadsOption = "point-select insert tpcc",
        scale: Annotated[str, Option(help="smoke, laptop, study, …: sizes and times.")] = "smoke",
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
        conclude(carry_out(request, root, results, progress), False)

    return rehearse


def carry_out(request: Request, root: Path, results: Path, progress: Progress) -> Path:
    """Plans as asked, goes through all runs in made-up time, and returns the campaign's folder."""
    from orchestrator.cli import campaign, plans
    from orchestrator.collectors import collectors
    from orchestrator.databases import databases
    from orchestrator.keys.schema import DRY
    from orchestrator.load_generators import load_generators
    from orchestrator.planning import rehearsal
    from orchestrator.platforms.dry import DryPlatform
    from orchestrator.run import experiment
    from orchestrator.system.clock import MadeUpClock, SystemClock
    from orchestrator.system.shell import SystemShell
    from orchestrator.tiers import tier_mechanisms

    with TemporaryDirectory() as cache:
        request = replace(request, database="postgresql")  # any: none is started
        platform: Any = DryPlatform()
        plan = plans.make_plan(request, root, Path(cache), connect=lambda *_: platform)
        made = rehearsal.rehearsed(plan)
        progress.warn(rehearsal.WARNING)
        clock = MadeUpClock(SystemClock().now())
        world = World(clock, SystemShell(), platform, progress, Path(cache), root)
        dry = tuple(c for c in collectors(world.platform) if c.name == DRY)
        parts = Parts(databases(), load_generators(), tier_mechanisms(), dry)
        fingerprint = campaign.fingerprint(asdict(world.machine.facts()), rehearsal.WARNING, world)
        return experiment.execute(made, parts, world, results, fingerprint)
