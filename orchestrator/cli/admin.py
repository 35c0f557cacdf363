"""`tierbench admin …`: what a person needs once, or for other programs: files for Kubernetes and
for editors, an image of YugabyteDB, names for stored campaigns."""

from pathlib import Path

import typer

from orchestrator.cli import helm_values, over_time, validate
from orchestrator.cli.app import App
from orchestrator.cli.options import takes

admin = typer.Typer(
    help="Rarely needed: values for Helm, schemas, an image of YugabyteDB, baselines."
)
admin.command(name="helm-values")(helm_values.values)
admin.command(name="schema")(validate.schema)
admin.add_typer(over_time.baseline, name="baseline")


@admin.command(name="yugabyte-image")
@takes()
def yugabyte_image(app: App, tarball: Path) -> None:
    """Packs a downloaded distribution of YugabyteDB into an image."""
    supply = app.parts(None).databases["yugabytedb"].abilities.image_supply
    assert supply is not None, "its image is not one of ours"

    def show_line(line: str) -> None:
        app.progress.step(line[:100])

    tag = supply.pack(tarball.resolve(), app.root, app.connect(), show_line)
    app.progress.done()
    app.out.print(f"built {tag}")
