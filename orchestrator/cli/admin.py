"""`tierbench admin …`: what a person needs once, or for other programs: files for editors and an
image of YugabyteDB. Extensions bring more to it."""

from pathlib import Path

import typer

from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.prepare import validate

admin = typer.Typer(
    help="Rarely needed: files for other programs, an image of YugabyteDB, baselines."
)
admin.command(name="schema")(validate.schema)


@admin.command(name="yugabyte-image")
@takes()
def yugabyte_image(app: App, tarball: Path) -> None:
    """Packs a downloaded distribution of YugabyteDB into an image."""
    supply = app.parts(None).databases["yugabytedb"].abilities.image_supply
    assert supply is not None, "tierbench does not build its image"

    # A build has lines of any length, and the moving line of a terminal is one.
    def show_line(line: str) -> None:
        app.progress.step(line[:100])

    tag = supply.pack(tarball.resolve(), app.root, app.connect(), show_line)
    app.progress.done()
    app.out.print(f"built {tag}")
