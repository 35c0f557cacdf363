"""`tierbench resume`: the runs that a stored campaign lacks, for what it may still cost."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.cli.common.app import App
from orchestrator.cli.common.options import Measuring
from orchestrator.cli.measure import on_end
from orchestrator.cli.measure.campaign import execute, reported
from orchestrator.design import cost_limit, costs
from orchestrator.errors import (
    UsageError,
)
from orchestrator.facts import NoteKind
from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.planning.plan import attempts
from orchestrator.powers import World
from orchestrator.run.beforehand import expiry, room
from orchestrator.run.progress import campaign_time, outlines, status
from orchestrator.run.resuming.resuming import Resumption

_NOT_MEASURED_HERE: tuple[NoteKind, ...] = ("rehearsal", "published figures")


def resume(app: App, folder: Path, despite: Sequence[str], asked: Measuring) -> Path:
    """Makes the runs of a stored campaign that have no finished record; returns its folder.
    UsageError if its figures are not of runs, these would not be like those before, or they would
    cost more than is left of what all may cost; UnavailableError when they have."""
    folder = folder.resolve()
    begun = Resumption(
        folder, tuple(despite), asked.max_cost, _command_anew(app, asked)
    )
    # First of all: a rehearsal must not get real runs beside made-up ones.
    _check_measured_here(begun, folder)
    if begun.lacks_nothing:
        # Nothing is written, so that no page says that it was interrupted.
        app.progress.note(
            f"{folder.name}: {status.all_finished(len(attempts(begun.plan)))}, "
            "none is left"
        )
        return folder

    def resumed() -> Path:
        return folder

    # The folder is noted before anything is done, so that an interrupt names it to go on with.
    app.campaigns.append(resumed)
    command = on_end.of_resumed(app, begun.plan, asked.on_end)
    if command:
        app.at_end.append(on_end.ending_with(app, command, resumed))
    room.require(folder, app.cache)
    # This is refused before a machine is connected to, so it has cost nothing.
    most_s = _affordable_s(begun, app)
    finished = len(begun.finished)
    app.progress.note(
        f"{folder.name} goes on: {finished} of {len(begun.plan.runs)} runs are finished"
    )
    with (
        reported(app, resumed, begun.most_cost),
        app.at_work(begun.plan.platform or None, begun.plan.placing, most_s) as world,
    ):
        # Another program may have gone on with it while this one waited to be alone. A copy reads
        # the folder again.
        begun = replace(begun)
        _affordable_s(begun, app)
        _warn_of_shortages(begun, app.parts(world.platform), world)
        return execute(app, begun.plan, asked, world, folder.parent, begun)


def _command_anew(app: App, asked: Measuring) -> str | None:
    """What the plan has of --on-end from now on; None if it is not given."""
    if asked.on_end is None:
        return None
    return on_end.kept(app, asked.on_end)


def _check_measured_here(begun: Resumption, folder: Path) -> None:
    """UsageError if figures were published by others, or made up."""
    if any(note.kind in _NOT_MEASURED_HERE for note in begun.plan.notes):
        raise UsageError(
            f"{folder} holds no campaign that was measured here, so it cannot "
            "be resumed",
            "`tierbench compare` measures",
        )


def _affordable_s(begun: Resumption, app: App) -> float | None:
    """How long the rest of it may take for what is left of its limit; None: no end. UsageError if
    it would cost more."""
    outline = outlines.of_campaign(begun.before)
    elapsed_s = campaign_time.elapsed_before_s(outline, begun.folder, app.clock.now())
    rest = _rest(begun.plan, len(begun.finished))
    cost_limit.check(rest, begun.most_cost, elapsed_s)
    return cost_limit.affordable_s(begun.plan, begun.most_cost, elapsed_s)


def _rest(plan: Plan, finished: int) -> Plan:
    """The plan as long as its other runs take, as far as that can be told: each takes as long."""
    share = 1 - finished / len(plan.runs)
    return replace(
        plan,
        estimate_s=plan.estimate_s * share,
        most_s=costs.most_s(plan) * share,
    )


def _warn_of_shortages(begun: Resumption, parts: Parts, world: World) -> None:
    """Says which certificates end, and where room is short, before the rest of it has ended."""
    finished = begun.finished
    rest = _rest(begun.plan, len(finished))
    for text in expiry.warnings(rest, parts, world):
        world.progress.warn(text)
    for text in room.warnings(begun.plan, begun.folder, finished):
        world.progress.warn(text)
