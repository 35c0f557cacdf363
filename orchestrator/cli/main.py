"""The edge of the program: a command line → the command, errors → messages and exit codes.

Exit codes: 0 done · 1 a contender is worse (only with --fail-if-worse), or `verify` found a
difference · 2 inconclusive or invalid runs · 64 bad profile or arguments · 69 something needed is
unavailable · 70 our own fault · 130 interrupted."""

import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.markup import escape
from typer import Option

from orchestrator import PROJECT, __version__, errors
from orchestrator.cli.commands import LazyGroup, commands
from orchestrator.cli.common import defaults, option_values, streams
from orchestrator.cli.common.app import App
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.system.redaction import remember_environment

program = typer.Typer(
    cls=LazyGroup,
    help="Which disk tier should this distributed SQL database run on? Measured, not guessed.",
    no_args_is_help=True,
    invoke_without_command=True,  # needed for --version
    pretty_exceptions_enable=False,  # `_exit_code` says what to report
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


def _complain(error: errors.TierbenchError, app: App) -> None:
    """Prints what was wrong, and what to do about it."""
    app.progress.done()
    app.err.print(f"[red]tierbench:[/red] {escape(error.what)}")
    for mistake in error.mistakes:
        text = mistake.what
        if mistake.where:
            text = f"{mistake.where}: {mistake.what}"
        app.err.print(f"  {escape(text)}")
    if error.evidence:
        app.err.print(escape(error.evidence.strip()), style="dim")
    if error.advice:
        app.err.print(f"  → {escape(error.advice)}")
    if error.exit_code == errors.EXIT_USAGE:
        _print_defaults(app.defaults, app)


def _print_defaults(given: Iterable[defaults.GivenDefault], app: App) -> None:
    """A person may not know any more that a default of theirs is what was wrong."""
    for line in defaults.lines(given):
        app.err.print(f"  {escape(line)}")


def main() -> NoReturn:
    """Runs the command that was given to this process."""
    # Streams are replaced before the consoles are made, which keep the stream that they find.
    sys.stdout = streams.lasting(sys.stdout)
    sys.stderr = streams.lasting(sys.stderr)
    try:
        code = started(CampaignApp)
    finally:
        # Else Python would end by looking for garbage in all that was imported: a fifth of the
        # time of a short command.
        gc.freeze()
    sys.exit(code)


def started(make_app: Callable[[], CampaignApp]) -> int:
    """Runs the command with the app that is made here, and returns the exit code."""
    try:
        _require_current_folder()
        app = make_app()
    except errors.TierbenchError as error:
        # The project's folder may be what could not be made, so this app does without.
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
    # Passwords in it are hidden in all that is shown or written from here on.
    remember_environment(os.environ)
    given = replace(app, words=tuple(words), campaigns=[], at_end=[], defaults=[])
    code = _exit_code(words, given)
    why_lost = streams.why_output_is_lost()
    if why_lost:
        _complain(_output_lost(why_lost), given)
        # What had gone wrong before is worse than that it cannot be shown.
        code = code or errors.EXIT_UNAVAILABLE
    # Last, because a command of --on-end is told the exit code that the program ends with.
    for end in given.at_end:
        end(code)
    return code


def _exit_code(words: Sequence[str], app: CampaignApp) -> int:
    """The only place that turns errors into exit codes."""
    try:
        code = program(list(words), "tierbench", standalone_mode=False, obj=app)
        # typer turns Ctrl-C into this code, and would say nothing of how to go on.
        if code == errors.EXIT_INTERRUPTED:
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
        # Typer ends so for the shell that completes, or if nobody reads any more.
        if "_TIERBENCH_COMPLETE" in os.environ:
            return int(end.code or 0)
        return errors.EXIT_DONE
    except Exception as error:
        # The module tells them, because typer brings a copy of click, whose classes are not
        # click's.
        if type(error).__module__.startswith(("click", "typer")):
            _complain_of_words(error, app)
            return errors.EXIT_USAGE
        # Python encodes names of files as the locale says; texts are always written as UTF-8.
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
    command = commands().get("".join(words[:1]))
    if command is not None and command.entry.when_interrupted:
        return errors.InterruptedByUser("interrupted", command.entry.when_interrupted)
    # A command that carries out no campaign has nothing to go on with.
    advice = ""
    for campaign in app.campaigns:
        advice = _how_to_go_on(campaign())
    return errors.InterruptedByUser("interrupted", advice)


def _how_to_go_on(folder: Path | None) -> str:
    """`folder`: of the campaign that was interrupted; None before its first run."""
    if folder is None:
        return "no run was begun: give the same command again"
    # Whoever reads records has libraries of tables, which a campaign has loaded by then.
    from orchestrator.run.progress import status

    return status.how_to_go_on(folder)


def _complain_of_words(error: Exception, app: App) -> None:
    """Prints what typer refuses of a command line."""
    text = option_values.why_refused(error)
    # typer says itself what is missing, and would say it twice.
    if text.startswith("Missing parameter"):
        text = ""
    vars(error).update(message=text)
    show = getattr(error, "show", None)
    if show is not None:
        show()
    _print_defaults(defaults.given(getattr(error, "ctx", None)), app)
    # The nearest name, which typer asks about, may be another command than what is missing.
    if text.startswith("No such command"):
        app.err.print(
            "  → an extension that is not installed may bring it: `tierbench list`"
        )
    if "unexpected extra argument" in str(error):
        app.err.print(
            '  → put several names in quotation marks, as "premium ultra". Put '
            "a file or a value after the name of its option"
        )
