"""`tierbench clean`: removes what campaigns have left, here or on the machines of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Option, Typer

from orchestrator.cli import completion, outside, plans
from orchestrator.cli.options import PlatformOption
from orchestrator.databases.existing import cleaning
from orchestrator.model import Placing
from orchestrator.planning import project_files
from orchestrator.powers import Progress
from orchestrator.run import datasets
from orchestrator.tiers.common import standing

ProfileOption = Annotated[
    str | None,
    Option(
        "--profile",
        "-p",
        help="A profile: its platform and its machines.",
        autocompletion=completion.profiles,
    ),
]
_SCALE = "smoke"  # any will do: machines are the same at every one


def register(app: Typer, root: Path, cache: Path, out: Console, progress: Progress) -> None:
    """Adds the command."""

    @app.command()
    def clean(platform: PlatformOption = None, profile: ProfileOption = None) -> None:
        """Removes leftovers on the platform and existing clusters, and kept data sets. Results
        stay, and so do disks that are up."""
        placing: Placing | None = None
        if profile is not None:
            (found,), _ = project_files.read(root, [profile], [], _SCALE, plans.disk_kinds())
            platform, placing = platform or found.platform, found.placing
        with (
            outside.powers(root, cache, progress, platform, placing) as (world, engine),
            outside.alone(engine),
        ):
            removed = (*engine.sweep(), *cleaning.clean(world), *datasets.forget(world))
        for line in (*(removed or ("nothing to remove",)), *standing.reminders(engine)):
            out.print(line, highlight=False)
