"""The commands under `tierbench disk`: single disks, outside of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from orchestrator.cli.console import ConsoleProgress
from orchestrator.cli.disk_record import record_command


def disk_app(root: Path, cache: Path, out: Console, progress: ConsoleProgress) -> Any:
    """The commands, for the program's own folders and console."""
    app = typer.Typer(help="Single disks, outside of a campaign.", no_args_is_help=True)

    @app.callback()
    def group() -> None:
        """Single disks, outside of a campaign."""

    app.command(name="record")(record_command(root, cache, out, progress))
    return app
