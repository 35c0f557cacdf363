"""Processes on this machine, which no other module starts, and what git says of the code."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.powers import Completed, Shell, World
from orchestrator.system import at_once

_DEADLINE_S = 20.0
_POLITE_S = 5.0
_PROFILES_S = 6 * 3600.0
_READ_ONLY = {"GIT_OPTIONAL_LOCKS": "0"}  # `status` may otherwise rewrite the index


class SystemShell:
    """The `Shell` protocol on this machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        started = time.monotonic()
        environment = {**os.environ, **(env or {})}
        try:
            with _begun(argv, stderr=subprocess.PIPE, env=environment) as process:
                try:
                    out, err = process.communicate(timeout=timeout_s)
                except BaseException:
                    # The process is killed after an interrupt too: it would go on when this program
                    # is gone.
                    process.kill()
                    raise
        except subprocess.TimeoutExpired as error:
            command = " ".join(argv)
            output = (error.stdout or b"") + (error.stderr or b"")
            raise RunError(
                f"{command} did not end within {timeout_s:g} s",
                evidence=output.decode(errors="replace"),
            ) from error
        took_s = time.monotonic() - started
        return Completed(
            argv=tuple(argv),
            exit_code=process.returncode,
            out=out,
            err=err,
            duration_s=took_s,
        )


def _begun(argv: Sequence[str], **more: Any) -> subprocess.Popen[str]:
    """Begins a process, which signals reach whatever thread it is of. UnavailableError if the
    command is not installed."""
    options: dict[str, Any] = {
        # A command that asks something would wait for ever.
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "text": True,
        "errors": "replace",
        **more,
    }
    try:
        with at_once.hearing_signals():
            return subprocess.Popen(list(argv), **options)
    except FileNotFoundError as error:
        raise UnavailableError(
            f"the command {argv[0]} is not installed",
            advice=f"install the package that has {argv[0]}, or put it on the PATH",
        ) from error


class Beside:
    """A process beside this program. Its standard input stays open until `close`, or until this
    program is gone; what the terminal signals does not reach it."""

    def __init__(self, argv: Sequence[str]) -> None:
        """UnavailableError if the command is not installed."""
        self._process = _begun(
            argv,
            stdin=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def lines(self) -> Iterator[str]:
        """Yields lines of both its streams. When there are no more it has ended."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield line.rstrip()
        with self._process:
            pass  # closes its streams and waits

    def close(self) -> None:
        """Ends it, if it has not ended by itself."""
        self._process.terminate()
        try:
            self._process.wait(_POLITE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def script(package: str, name: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs `scripts/<name>.sh` of a package, by the shell that its first
    line names. The first argument is `$0`."""
    # Imported here: `--help` runs no script and is not to wait.
    from orchestrator.keys.package_files import package_file, without_header

    text = package_file(package, f"scripts/{name}.sh")
    first_line, _, _ = text.partition("\n")
    shell = "sh"
    if first_line.endswith("bash"):
        shell = "bash"
    return (shell, "-c", without_header(text, "#"), *arguments)


def run_of_profile(
    verb: str,
    command: str,
    target: str,
    env: Mapping[str, str],
    docs: str,
    world: World,
) -> Completed:
    """Runs the profile's `save` or `restore` for a target in a shell here. RunError if it fails.
    Values are in its environment alone (`docs` names them), so that none is read as a command."""
    world.progress.step(f"`{verb}` of the profile, for {target}")
    done = world.shell.run(("bash", "-c", command), timeout_s=_PROFILES_S, env=env)
    if done.exit_code != 0:
        raise RunError(
            f"the profile's `{verb}` command ended with {done.exit_code} for {target}",
            advice=f"try it by hand with the variables that {docs} names",
            evidence=done.tail(),
        )
    return done


def git_revision(root: Path, code: tuple[str, ...], shell: Shell) -> dict[str, Any]:
    """`revision`, and `revision_changed`: whether files in the folders `code` differ from it. Empty
    if `root` is no checkout of its own, or git is not there to say."""
    try:
        answer = _git(["rev-parse", "--show-toplevel", "HEAD"], root, shell)
        top, revision = answer.splitlines()
        # An installed program may lie within somebody's own repository.
        if Path(top).resolve() != root.resolve():
            return {}
        changed = _git(["status", "--porcelain", "--", *code], root, shell)
    except (TierbenchError, ValueError):
        return {}
    return {"revision": revision, "revision_changed": bool(changed.strip())}


def _git(argv: list[str], root: Path, shell: Shell) -> str:
    """ValueError if git says no."""
    done = shell.run(
        ["git", "-C", str(root), *argv], timeout_s=_DEADLINE_S, env=_READ_ONLY
    )
    if done.exit_code != 0:
        raise ValueError(done.err)
    return done.out
