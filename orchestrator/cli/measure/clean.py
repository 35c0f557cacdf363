"""`tierbench clean`: removes what campaigns have left, here or on the machines of a profile."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.options import (
    OnlyShowOption,
    PlacingOption,
    PlatformOption,
    YesOption,
)
from orchestrator.errors import TierbenchError, UsageError
from orchestrator.powers import World


@takes()
def clean(
    app: App,
    platform: PlatformOption = None,
    profile: PlacingOption = None,
    owner: str | None = None,
    yes: YesOption = False,
    dry_run: OnlyShowOption = False,
) -> None:
    """Removes leftovers on the platform and existing clusters, and kept data sets, after asking.
    Results and disks that are up stay. So does all that has no mark of this cache."""
    from orchestrator.cli.measure import platform_choice
    from orchestrator.run.data import other_caches
    from orchestrator.tiers.common.emulated import standing_notes

    # Kept data sets may have taken hours to load: they are not removed without a yes.
    if not (yes or dry_run or app.stdin.isatty()):
        what = (
            "`clean` removes kept data sets and what campaigns left, but there "
            "is no terminal to ask first"
        )
        raise UsageError(what, advice="list them with --dry-run, then give --yes")
    # Only the shared cache folder is looked at: that machine's containers are not reached from
    # here.
    if owner is not None:
        _clean_of(app, owner, yes, dry_run)
        return
    world = app.world(*platform_choice.place(app, profile, platform))
    # Alone, because the things that a running campaign uses have the same marks.
    with app.alone(world.platform):
        outcome = _clean(app, partial(_steps, world), yes, dry_run)
    # `clean` leaves these, so it says how they are taken down.
    for line in standing_notes.reminders(world.platform):
        app.out.print(line)
    for other in other_caches.found(app.cache):
        app.out.print_line(other.described(app.clock.now()))
    if outcome.failed:
        # All were said when they happened; the first gives the exit code.
        raise outcome.failed[0]


@dataclass(frozen=True)
class _Outcome:
    """Whether there was anything, and the errors of steps that failed."""

    is_anything: bool
    failed: Sequence[TierbenchError]


_Steps = Callable[[bool], list[Callable[[], Iterable[object]]]]


def _clean_of(app: App, owner: str, yes: bool, dry_run: bool) -> None:
    """Removes what another machine, or this one by another name, has in the cache folder."""
    from orchestrator.run.data import other_caches

    def steps(only_list: bool) -> list[Callable[[], Iterable[object]]]:
        return [partial(other_caches.forget, app.cache, owner, only_list)]

    for other in other_caches.found(app.cache):
        if other.owner.name == owner:
            warning = other.warning(app.clock.now())
            app.out.print_line(warning)
    outcome = _clean(app, steps, yes, dry_run)
    if outcome.failed:
        raise outcome.failed[0]


def _clean(app: App, steps: _Steps, yes: bool, dry_run: bool) -> _Outcome:
    """Shows what there is, unless `yes`; removes it after asking, unless it is a dry run."""
    # A dry run goes before --yes: who gives both wants to see first.
    if yes and not dry_run:
        return _remove(app, steps, only_list=False)
    shown = _remove(app, steps, only_list=True)
    if dry_run or not shown.is_anything:
        return shown
    app.confirm("These will be removed. Go on?")
    return _remove(app, steps, only_list=False)


def _remove(app: App, steps: _Steps, only_list: bool) -> _Outcome:
    """Does each step, or says what it would remove, whatever became of the one before. What
    cannot be told counts as something."""
    failed: list[TierbenchError] = []
    nothing = True
    for step in steps(only_list):
        try:
            for line in step():
                nothing = False
                verb = _verb(line, only_list)
                app.out.print_line(f"{verb}{line}")
        except TierbenchError as error:
            failed.append(error)
            app.progress.warn(f"{error.what}; the rest goes on")
    if nothing and not failed:
        app.out.print("nothing to remove")
    return _Outcome(not nothing or bool(failed), failed)


def _steps(world: World, only_list: bool) -> list[Callable[[], Iterable[object]]]:
    from orchestrator.databases.existing import left_behind
    from orchestrator.run.data import datasets
    from orchestrator.tiers import tier_mechanisms

    return [
        partial(world.platform.sweep, only_list),
        partial(left_behind.clean, world, only_list=only_list),
        partial(datasets.forget, tier_mechanisms(), world, only_list),
    ]


def _verb(line: object, only_list: bool) -> str:
    """What is said before something that was removed, or would be."""
    from orchestrator.parts import MarkedFolder

    if not only_list:
        return ""
    # It has the mark of another cache, whose data sets are not ours to remove.
    if isinstance(line, MarkedFolder) and line.foreign:
        return "stays: "
    return "would be removed: "
