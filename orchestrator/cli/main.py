"""The command line: arguments → calls, errors → messages and exit codes. No other logic.

Exit codes: 0 done · 1 a contender is worse (only with --fail-if-worse), or `verify` found a
difference · 2 inconclusive or invalid runs · 64 bad profile or arguments · 69 something needed is
unavailable · 70 our own fault · 130 interrupted."""

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer
from rich.markup import escape
from typer import Option

from orchestrator import PROJECT, __version__, errors
from orchestrator.cli import REHEARSALS, RESULTS
from orchestrator.cli.commands import LazyGroup
from orchestrator.cli.common import defaults, forms, option_values, streams
from orchestrator.cli.common import options as asked
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.common.options import (
    Compared,
    Measuring,
    Options,
    Request,
    all_names,
    takes,
)
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.system.redaction import remember_environment

REHEARSED_PROFILES = ["premium", "ultra"]
REHEARSED_WORKLOADS = ["point-select", "insert", "tpcc"]

program = typer.Typer(
    cls=LazyGroup,
    help="Which disk tier should this distributed SQL database run on? Measured, not guessed.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@program.callback()
def whole(
    context: typer.Context,
    version: Annotated[
        bool, Option("--version", help="Says which tierbench this is.")
    ] = False,
) -> None:
    if version:
        context.obj.out.print(f"tierbench {__version__}")
        raise typer.Exit


@program.command()
@takes(Options, shown_as=forms.OF_ANSWERS)
def run(
    app: CampaignApp,
    options: Options,
    profile_name: asked.ProfileName = None,
    workload_name: asked.WorkloadName = None,
    profiles: asked.ProfilesOption = None,
    workloads: asked.WorkloadsOption = None,
) -> None:
    """One workload on one tier: start, load, warm up, measure, report, take down."""
    names = [name for name in (profile_name, workload_name) if name]
    pair = asked.profile_and_workload(names, all_names(profiles), all_names(workloads))
    request = Request(
        profiles=[pair.profile], workloads=[pair.workload], **vars(options)
    )
    _carry_out(app, replace(request, accept_inconclusive=True))


@program.command()
@takes(Compared, shown_as=forms.OF_ANSWERS, repetitions=5)
def compare(
    app: CampaignApp,
    options: Compared,
    campaign_file: asked.CampaignFile = None,
    profiles: asked.ProfilesOption = None,
    workloads: asked.WorkloadsOption = None,
) -> None:
    """A whole plan: tiers × workloads × repetitions, interleaved, with deltas and a decision."""
    request = Request(
        profiles=all_names(profiles), workloads=all_names(workloads), **vars(options)
    )
    _carry_out(app, request)


@program.command()
@takes(shown_as=forms.OF_ANSWERS)
def rehearse(
    app: CampaignApp,
    campaign_file: asked.CampaignFile = None,
    profiles: asked.ProfilesOption = REHEARSED_PROFILES,
    workloads: asked.WorkloadsOption = REHEARSED_WORKLOADS,
    scale: asked.ScaleOption = "smoke",
    repeats: asked.RepeatsOption = 3,
    seed: int = 1,
    slo: asked.SloOption = None,
    question: Annotated[str, typer.Option(metavar="SENTENCE")] = "",
    results: asked.ResultsOption = REHEARSALS,
) -> None:
    """Goes through a whole campaign in seconds, without Docker: its figures are made up."""
    sizes = Options(
        scale=scale,
        repetitions=repeats,
        seed=seed,
        slo=slo,
        question=question,
        results=results,
    )
    tiers = all_names(profiles)
    loads = all_names(workloads)
    request = Request(profiles=tiers, workloads=loads, **vars(sizes))
    app.show(app.rehearse(request))


@program.command()
@takes(Measuring, shown_as=forms.OF_ANSWERS)
def resume(
    app: CampaignApp,
    campaign: asked.CampaignArgument,
    options: Measuring,
    despite: asked.DespiteOption = None,
    fail_if_worse: bool = False,
    accept_inconclusive: bool = False,
) -> None:
    """Goes on with a campaign that was ended: makes its runs that have no finished record."""
    from orchestrator.cli.measure.campaign import resume
    from orchestrator.cli.measure.on_end import require_confirmed

    require_confirmed(app)
    folder = app.folder(options.results, campaign).resolve()
    resume(app, folder, despite or (), options)
    _show(app, folder, fail_if_worse, accept_inconclusive)


@program.command()
@takes(shown_as=forms.OF_ANSWERS)
def analyze(
    app: CampaignApp,
    campaign: asked.CampaignArgument,
    slo: asked.SloOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Makes verdict and report of a stored campaign again, from its files alone."""
    app.show(app.folder(results, campaign), slo)


@program.command()
@takes(shown_as=forms.OR_JSON)
def calibrate(
    app: App,
    profile: asked.ProfileOption,
    scale: asked.ScaleOption = "laptop",
    quick: bool = False,
    drain: bool = False,
) -> None:
    """Measures a profile's disk with fio against what its tier declares: about three minutes."""
    from orchestrator.cli.measure import campaign
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.report.sections.disks import gate_table
    from orchestrator.run import busy_machines

    gate = campaign.calibrate(app, profile, scale, not quick, drain)
    app.progress.done()
    app.out.show(gate, TableView(gate_table(gate)))
    if gate.passed:
        raise typer.Exit(errors.EXIT_DONE)
    busy = " and ".join(busy_machines.reasons(gate))
    if busy:
        app.err.print(f"This machine was busy during the check: {busy}.")
    raise typer.Exit(errors.EXIT_INCONCLUSIVE)


@program.command()
@takes()
def setup(
    app: App,
    platform: asked.PlatformOption = None,
    profile: asked.PlacingOption = None,
    db: str | None = None,
) -> None:
    """Provides what a first campaign needs: Docker engine, base image, our images, with --db (hdfs)
    that of a database too; and brings those to the registry of a platform elsewhere."""
    from orchestrator.cli.measure import members, plans
    from orchestrator.cli.prepare import provision
    from orchestrator.platforms import own_images

    platform, placing = plans.place(app, profile, platform)
    names = [*own_images.OURS]
    if db:
        names.append(members.image_of(db))
    engine = provision.provide(app, names)
    if platform not in (None, PLATFORM):
        elsewhere = app.connect(platform, placing)
        provision.bring_images(engine, elsewhere, names, app.root, app.progress)
    app.progress.done()


@program.command(name="doctor")
@takes(shown_as=forms.OR_JSON)
def show_doctor(
    app: App,
    db: Literal["yugabytedb"] | None = None,
    version: str | None = None,
    platform: asked.PlatformOption = None,
    profile: asked.PlacingOption = None,
    bundle: Path | None = None,
) -> None:
    """Says what this machine, or a platform elsewhere, offers and lacks; with --db yugabytedb, what
    its image does there; with --bundle, what a running YugabyteDB answers."""
    from orchestrator.cli.measure import plans
    from orchestrator.cli.prepare import doctor

    if db is None and version is not None:
        raise errors.UsageError(
            "--version belongs to the checklist: give --db yugabytedb too"
        )
    if db is None and bundle is not None:
        raise typer.Exit(_write_bundle(app, bundle, profile, platform))
    if db is None:
        asked_platform, placing = plans.place(app, profile, platform)
        raise typer.Exit(doctor.show(app, asked_platform, placing))
    placed = None
    if profile:
        placed = plans.placed(app, profile, platform)
    raise typer.Exit(doctor.show_first_run(app, version, platform, placed, bundle))


def _write_bundle(
    app: App, file: Path, profile: str | None, platform: str | None
) -> int:
    from orchestrator.cli.measure import plans
    from orchestrator.cli.prepare import bundle

    if profile is None:
        raise errors.UsageError(
            "--bundle reads a running cluster",
            "name the profile of an existing cluster with --profile, or give "
            "--db yugabytedb, which starts nodes",
        )
    return bundle.show(app, file, plans.placed(app, profile, platform))


def _carry_out(app: CampaignApp, request: Request) -> None:
    from orchestrator.cli.measure import campaign, dry_run, on_end

    plan = app.plan(request)
    if request.dry_run:
        offline = request.offline
        raise typer.Exit(dry_run.show(app, plan, request.max_cost, offline))
    for note in plan.notes:
        app.progress.warn(str(note))
    on_end.require_confirmed(app)
    begun = campaign.begun_since_now(request.results)
    app.campaigns.append(begun)
    if request.on_end:
        app.at_end.append(on_end.ending_with(app, request.on_end, begun))
    app.progress.note(dry_run.spoken(plan))
    folder = app.carry_out(plan, request)
    _show(app, folder, request.fail_if_worse, request.accept_inconclusive)


def _show(
    app: CampaignApp, folder: Path, fail_if_worse: bool, accept_inconclusive: bool
) -> None:
    """Reports a campaign that was measured now; ends with its exit code."""
    from orchestrator.analysis.answers import campaign

    loaded, verdict = app.show(folder)
    if fail_if_worse and any(delta.verdict == "worse" for delta in verdict.deltas):
        raise typer.Exit(errors.EXIT_WORSE)
    answer = verdict.answer or campaign.campaign_answer(loaded, verdict)
    undecided = campaign.is_undecided(answer)
    if campaign.has_lost_runs(answer) or (undecided and not accept_inconclusive):
        raise typer.Exit(errors.EXIT_INCONCLUSIVE)


# ------------------------------------------------------------------ the edge


def _complain(error: errors.TierbenchError, app: App) -> None:
    """Prints what was wrong, and what to do about it."""
    app.progress.done()
    app.err.print(f"[red]tierbench:[/red] {escape(error.what)}")
    for mistake in getattr(error, "mistakes", ()):
        text = mistake.what
        if mistake.where:
            text = f"{mistake.where}: {mistake.what}"
        app.err.print(f"  {escape(text)}")
    if error.evidence:
        app.err.print(escape(error.evidence.strip()), style="dim")
    if error.advice:
        app.err.print(f"  → {escape(error.advice)}")
    if isinstance(error, errors.UsageError):
        _print_defaults(app.defaults, app)


def _print_defaults(given: Iterable[defaults.GivenDefault], app: App) -> None:
    """A person may not know any more that a default of theirs is what was wrong."""
    for line in defaults.lines(given):
        app.err.print(f"  {escape(line)}")


def main() -> NoReturn:
    """Runs the command that was given to this process."""
    sys.stdout = streams.lasting(sys.stdout)
    sys.stderr = streams.lasting(sys.stderr)
    sys.exit(started(CampaignApp))


def started(make_app: Callable[[], CampaignApp]) -> int:
    """Runs the command with the app that is made here, and returns the exit code."""
    try:
        _require_current_folder()
        app = make_app()
    except errors.TierbenchError as error:  # also of no folder for what was shipped
        _complain(error, CampaignApp(root=PROJECT))
        return error.exit_code
    return exit_code(sys.argv[1:], app)


def _require_current_folder() -> None:
    """UnavailableError if somebody has removed the folder in which the command is given."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise errors.UnavailableError(
            "the current folder no longer exists", "change to another folder"
        ) from error


def exit_code(words: Sequence[str], app: CampaignApp) -> int:
    """Runs the command of these words, and what it wants to have done at the end."""
    remember_environment(os.environ)
    given = replace(app, words=tuple(words), campaigns=[], at_end=[], defaults=[])
    code = _exit_code(words, given)
    why_lost = streams.why_output_is_lost()
    if why_lost:
        _complain(_output_lost(why_lost), given)
        code = code or errors.EXIT_UNAVAILABLE
    for end in given.at_end:
        end(code)
    return code


def _exit_code(words: Sequence[str], app: CampaignApp) -> int:
    """The only place that turns errors into exit codes."""
    try:
        code = program(list(words), "tierbench", standalone_mode=False, obj=app)
        if code == errors.EXIT_INTERRUPTED:  # what typer makes of it
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        _complain(_interrupted(words, app), app)
        return errors.EXIT_INTERRUPTED
    except errors.TierbenchError as error:
        _complain(error, app)
        return error.exit_code
    except (typer.Exit, typer.Abort) as end:
        return int(getattr(end, "exit_code", errors.EXIT_INTERRUPTED))
    except SystemExit as end:
        # Typer's: for the shell that completes; or nobody reads any more.
        if "_TIERBENCH_COMPLETE" in os.environ:
            return int(end.code or 0)
        return errors.EXIT_DONE
    except Exception as error:
        if type(error).__module__.startswith(("click", "typer")):
            _complain_of_words(error, app)
            return errors.EXIT_USAGE
        if isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":
            _complain(_unnamable(error), app)
            return errors.EXIT_UNAVAILABLE
        app.progress.done()
        app.err.print(escape(traceback.format_exc()))
        app.err.print(
            "[red]tierbench:[/red] this is a fault of tierbench; please report it with the above"
        )
        return errors.EXIT_INTERNAL
    return int(code or errors.EXIT_DONE)


def _unnamable(error: UnicodeEncodeError) -> errors.UnavailableError:
    """The error of a file whose name the locale has no letters for."""
    letters = error.object[error.start : error.end]
    return errors.UnavailableError(
        f"no file name can hold {letters!r}, because the locale knows only "
        f"{error.encoding}",
        "set LC_ALL=C.UTF-8",
    )


def _output_lost(why: str) -> errors.UnavailableError:
    return errors.UnavailableError(
        f"the output cannot be written: {why}", "send it to where there is room"
    )


def _interrupted(words: Sequence[str], app: App) -> errors.InterruptedByUser:
    """The error of a command that a user interrupted, with how to go on with it."""
    if "observe" in words[:1]:
        return errors.InterruptedByUser(
            "interrupted",
            "the same command goes on in the same folder until `--last` is "
            "over, if it reads live. `--file` with that folder judges what was "
            "read so far",
        )
    advice = ""
    for campaign in app.campaigns:
        advice = "no run was begun: give the same command again"
        folder = campaign()
        if folder:
            quoted = shlex.quote(str(folder))
            advice = (
                f"`tierbench resume {quoted}` makes the runs that are missing; "
                f"`tierbench analyze {quoted}` reports those that are finished"
            )
    return errors.InterruptedByUser("interrupted", advice)


def _complain_of_words(error: Exception, app: App) -> None:
    """Prints what typer refuses of a command line."""
    text = option_values.why_refused(error)
    if text.startswith("Missing parameter"):
        text = ""  # typer says what is missing once more
    vars(error).update(message=text)
    show = getattr(error, "show", None)
    if show is not None:
        show()
    _print_defaults(defaults.given(getattr(error, "ctx", None)), app)
    if "unexpected extra argument" in str(error):
        app.err.print(
            '  → put several names in quotation marks, as "premium ultra". Put '
            "a file or a value after the name of its option"
        )
