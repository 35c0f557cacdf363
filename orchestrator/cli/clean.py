"""`tierbench clean`: removes what campaigns have left, here or on the machines of a profile."""

from collections.abc import Callable, Iterable

from rich.console import Console

from orchestrator.cli.app import App
from orchestrator.cli.options import (
    OnlyShowOption,
    PlacingOption,
    PlatformOption,
    YesOption,
    takes,
)
from orchestrator.errors import TierbenchError, UsageError
from orchestrator.powers import World


@takes()
def clean(
    app: App,
    platform: PlatformOption = None,
    profile: PlacingOption = None,
    yes: YesOption = False,
    dry_run: OnlyShowOption = False,
) -> None:
    """Removes leftovers on the platform and existing clusters, and kept data sets, after
    asking. Results stay, and so do disks that are up, and what has no mark of this cache."""
    from orchestrator.cli import plans
    from orchestrator.tiers.common.emulated import standing

    if not (yes or dry_run or app.stdin.isatty()):
        what = "`clean` removes kept data sets and what campaigns left, and nobody can be asked"
        raise UsageError(what, advice="see them with --dry-run, then say --yes")
    world = app.world(*plans.place(app, profile, platform))
    with app.alone(world.platform):
        is_there = True
        failed = list[TierbenchError]()
        if dry_run or not yes:
            is_there, failed = _each(world, app.out, only_list=True)
        if is_there and not dry_run:
            if not yes:
                app.confirm("These will be removed. Go on?")
            _, failed = _each(world, app.out, only_list=False)
    for line in standing.reminders(world.platform):
        app.out.print(line)
    if failed:
        raise failed[0]


def _each(
    world: World, out: Console, only_list: bool
) -> tuple[bool, list[TierbenchError]]:
    """Does each step, or says what it would remove, whatever became of the one before. Returns
    whether there is anything, and the errors."""
    from orchestrator.databases import existing
    from orchestrator.run import datasets
    from orchestrator.tiers.common.real.removal import MarkedFolder

    steps: tuple[Callable[[], Iterable[object]], ...] = (
        lambda: world.platform.sweep(only_list),
        lambda: existing.clean(world, only_list=only_list),
        lambda: datasets.forget(world, only_list),
    )
    failed: list[TierbenchError] = []
    nothing = True
    for step in steps:
        try:
            for line in step():
                nothing = False
                stays = isinstance(line, MarkedFolder) and line.foreign
                if only_list:
                    verb = "would be removed: "
                    if stays:
                        verb = "stays: "
                else:
                    verb = ""
                out.print(f"{verb}{line}", soft_wrap=True)
        except TierbenchError as error:
            failed.append(error)
            world.progress.warn(f"{error.what}; the rest goes on")
    if nothing and not failed:
        out.print("nothing to remove")
    return not nothing or bool(failed), failed
