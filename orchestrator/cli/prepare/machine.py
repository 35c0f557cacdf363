"""`tierbench setup` and `doctor`: what a first campaign needs of a machine, and what it lacks."""

from pathlib import Path
from typing import Literal

import typer

from orchestrator import errors
from orchestrator.cli.common import forms, options as asked
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.command_making import takes


@takes()
def setup(
    app: App,
    platform: asked.PlatformOption = None,
    profile: asked.PlacingOption = None,
    db: str | None = None,
) -> None:
    """Prepares a first campaign: Docker engine, base image, our images; with --db hdfs also that of
    HDFS. Of a platform elsewhere it brings the images to the registry."""
    from orchestrator.cli.measure import members, platform_choice
    from orchestrator.cli.prepare import provision
    from orchestrator.platforms import own_images

    platform, placing = platform_choice.place(app, profile, platform)
    # A database's image is built only if it is asked for, because other campaigns do without it.
    names = [*own_images.OURS]
    if db:
        names.append(members.image_of(db))
    # Images are built on this machine first, whatever the platform: only an engine can build them.
    engine = provision.provide(app, names)
    if platform not in (None, PLATFORM):
        elsewhere = app.connect(platform, placing)
        provision.bring_images(engine, elsewhere, names, app.root, app.progress)
    app.progress.done()


@takes(shown_as=forms.OR_JSON)
def show_doctor(
    app: App,
    db: Literal["yugabytedb"] | None = None,
    version: str | None = None,
    platform: asked.PlatformOption = None,
    profile: asked.PlacingOption = None,
    bundle: Path | None = None,
) -> None:
    """Says what this machine, or a platform elsewhere, offers and lacks. With --db yugabytedb it
    runs the first-run checklist. With --bundle it stores what a running YugabyteDB answers."""
    from orchestrator.cli.measure import platform_choice
    from orchestrator.cli.prepare import doctor

    if db is None and version is not None:
        raise errors.UsageError(
            "--version belongs to the checklist", advice="give --db yugabytedb too"
        )
    if db is None and bundle is not None:
        raise typer.Exit(_write_bundle(app, bundle, profile, platform))
    if db is None:
        asked_platform, placing = platform_choice.place(app, profile, platform)
        raise typer.Exit(doctor.show(app, asked_platform, placing))
    placed = None
    if profile:
        placed = platform_choice.placed(app, profile, platform)
    raise typer.Exit(doctor.show_first_run(app, version, platform, placed, bundle))


def _write_bundle(
    app: App, file: Path, profile: str | None, platform: str | None
) -> int:
    from orchestrator.cli.measure import platform_choice
    from orchestrator.cli.prepare import bundle

    if profile is None:
        raise errors.UsageError(
            "--bundle reads a running cluster",
            "name the profile of an existing cluster with --profile, or give "
            "--db yugabytedb, which starts nodes",
        )
    return bundle.show(app, file, platform_choice.placed(app, profile, platform))
