"""`tierbench clean`: removes what campaigns have left, here or on the machines of a profile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Option, Typer, confirm

from orchestrator.cli import outside, plans
from orchestrator.cli.options import PlacingOption, PlatformOption
from orchestrator.databases.existing import cleaning
from orchestrator.errors import TierbenchError, UsageError
from orchestrator.powers import Progress, World
from orchestrator.run import datasets
from orchestrator.tiers.common import standing

DryRunOption = Annotated[bool, Option("--dry-run", help="Shows what would go; removes nothing.")]
YesOption = Annotated[bool, Option("--yes", "-y", help="Does not ask.")]


def register(app: Typer, root: Path, cache: Path, out: Console, progress: Progress) -> None:
    """Adds the command."""

    @app.command()
    def clean(
        platform: PlatformOption = None,
        profile: PlacingOption = None,
        yes: YesOption = False,
        dry_run: DryRunOption = False,
    ) -> None:
        """Removes leftovers on the platform and existing clusters, and kept data sets, after
        asking. Results stay, and so do disks that are up, and what has no mark of this cache."""
        if not (yes or dry_run or sys.stdin.isatty()):
            raise UsageError(
                "`clean` removes kept data sets and what campaigns left, and nobody can be asked",
                advice="see them with --dry-run, then say --yes (`make clean YES=1`)",
            )
        found = plans.placed(root, profile, platform) if profile else None
        platform, placing = (found.platform, found.placing) if found else (platform, None)
        with (
            outside.powers(root, cache, progress, platform, placing) as (world, engine),
            outside.alone(engine),
        ):
            if dry_run or not yes:
                _show(world, out)
            if dry_run:
                return
            if not yes:
                confirm("These and what campaigns left will be removed. Go on?", abort=True)
            failed = _clean(world, out)
        for line in standing.reminders(engine):
            out.print(line, highlight=False)
        if failed:
            raise failed[0]


def _show(world: World, out: Console) -> None:
    for found in datasets.forget(world, only_list=True):
        verb = "stays" if found.foreign else "would be removed"
        out.print(f"{verb}: {found}", highlight=False, soft_wrap=True)
    out.print(
        "would be removed: containers, networks, volumes and databases of campaigns that are over",
        highlight=False,
        soft_wrap=True,
    )


def _clean(world: World, out: Console) -> list[TierbenchError]:
    """Does each step whatever became of the one before; returns the errors."""
    steps: tuple[Callable[[], Iterable[object]], ...] = (
        world.platform.sweep,
        lambda: cleaning.clean(world),
        lambda: datasets.forget(world),
    )
    failed: list[TierbenchError] = []
    nothing = True
    for step in steps:
        try:
            for line in step():
                nothing = False
                out.print(str(line), highlight=False, soft_wrap=True)
        except TierbenchError as error:
            failed.append(error)
            world.progress.warn(f"{error.what}; the rest is cleaned")
    if nothing and not failed:
        out.print("nothing to remove")
    return failed
