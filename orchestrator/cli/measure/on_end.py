"""`--on-end`: whose command it is, what holds over `resume`, and `tierbench allow`."""

import shlex
from collections.abc import Callable
from pathlib import Path

from orchestrator.cli.common import defaults
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.errors import TierbenchError, UnavailableError, UsageError
from orchestrator.model import Plan
from orchestrator.system import confirmed

_ON_END_S = 600.0  # a command that hangs must not keep the program for ever


@takes()
def allow(app: App) -> None:
    """Confirms the `on-end` of the tierbench.yaml in this folder, until the file is changed."""
    command = defaults.on_end()
    if not command:
        raise UsageError(
            f"there is no `on-end` in {defaults.FILE.resolve()}",
            "give the command in the folder of the file that has it",
        )
    confirmed.allow(defaults.FILE, app.state)
    app.out.print(f"allowed, until the file is changed: {command}", markup=False)


def require_confirmed(app: App) -> None:
    """UsageError if the command is from a `tierbench.yaml` that the user has not confirmed."""
    # A folder that was cloned or unpacked may bring the file, and would run a command. What a
    # person typed, or has in the environment, is that person's.
    for default in app.defaults:
        option, *values = default.words
        if option != "--on-end" or default.source != str(defaults.FILE):
            continue
        if not confirmed.is_allowed(defaults.FILE, app.state):
            command = shlex.join(values)
            raise UsageError(
                f"{defaults.FILE.resolve()} would run {command} as you, and is not confirmed",
                "read it, then `tierbench allow` in this folder, once for each change; "
                "or give --on-end",
            )


def kept(app: App, command: str | None) -> str:
    """What a plan has of the command, which is kept for `resume`; "" if there is none, or no place
    to keep it."""
    if not command:
        return ""
    try:
        return confirmed.keep_command(command, app.state)
    except UnavailableError as error:
        # The campaign goes on: it has the command at hand, and only `resume` would lack it.
        app.progress.warn(
            f"`resume` will not run the command of --on-end: {error.what}"
        )
        return ""


def of_resumed(app: App, plan: Plan, given: str | None) -> str:
    """The command for the end of a campaign that goes on; "" for none.

    A command that is given now comes before the command of the plan. UsageError if this user never
    gave the plan's command here.
    """
    # `--on-end ''` is given too: it takes the command away.
    if given is not None:
        return given
    if not plan.on_end:
        return ""
    # The plan has only a name for it: a results folder of somebody else must not bring a command.
    command = confirmed.command(plan.on_end, app.state)
    if command is None:
        raise UsageError(
            "the campaign was started with an --on-end command that is not known here",
            "give --on-end again, or --on-end '' for none",
        )
    return command


def ending_with(
    app: App, command: str, begun: Callable[[], Path | None]
) -> Callable[[int], None]:
    """What is to be called with the exit code when the campaign has ended: runs `command`."""

    def run(code: int) -> None:
        environment = {
            "TIERBENCH_EXIT_CODE": str(code),
            # Asked for at the end: a campaign that never began has no folder.
            "TIERBENCH_FOLDER": str(begun() or ""),
        }
        argv = ["sh", "-c", command]
        # The exit code is the campaign's: nothing that this command does may change it.
        try:
            done = app.shell.run(argv, timeout_s=_ON_END_S, env=environment)
            output = (done.out + done.err).strip()
            if output:
                app.progress.note(output)
            if done.exit_code:
                app.progress.warn(f"--on-end `{command}` ended with {done.exit_code}")
        except (TierbenchError, KeyboardInterrupt) as error:
            # An interrupt has no text of its own.
            why = str(error) or "interrupted"
            app.progress.warn(f"--on-end: {why}")

    return run
