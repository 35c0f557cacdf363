"""What this user has confirmed: commands that a campaign runs when it ends, and `tierbench.yaml`.

It lies in a folder of the user, `~/.local/state/tierbench` or where XDG says, apart from caches,
results and projects, which others may have filled. A results folder has the SHA-256 of its command
alone: the command may hold a token, and a folder of somebody else can make nothing run."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import UnavailableError
from orchestrator.system import files


def folder(home_of_user: Callable[[], Path] = Path.home) -> Path:
    """The folder in which it lies; nothing is made."""
    named = os.environ.get("XDG_STATE_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / "tierbench"
    try:
        home = home_of_user()
    except RuntimeError:
        # A user without a home, as in a container: then nothing can be kept.
        home = Path("/nonexistent")
    return home / ".local" / "state" / "tierbench"


def keep_command(command: str, state: Path) -> str:
    """Keeps a command that the user gave; returns its SHA-256. UnavailableError if it cannot."""
    digest = hashlib.sha256(command.encode()).hexdigest()
    with _writable(state):
        files.write_text(_command(digest, state), command)
    return digest


def command(digest: str, state: Path) -> str | None:
    """The command with this SHA-256; None if the user did not give it here."""
    try:
        text = _command(digest, state).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    # Somebody else may have written the file, under a name that its content does not have.
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        return None
    return text


def _command(digest: str, state: Path) -> Path:
    return state / "commands" / digest


def allow(file: Path, state: Path) -> None:
    """Keeps that the file is confirmed, as it is now and where it is. UnavailableError if that
    cannot be kept."""
    with _writable(state):
        files.write_text(_mark_of_file(file, state), f"{file.resolve()}\n")


def is_allowed(file: Path, state: Path) -> bool:
    return _mark_of_file(file, state).is_file()


def _mark_of_file(file: Path, state: Path) -> Path:
    """Called by path and content, so that neither a copy nor a change is confirmed."""
    place = os.fsencode(file.resolve())
    # No path has a NUL, so that neither part can pass for the other's end.
    digest = hashlib.sha256(place + b"\0" + file.read_bytes())
    return state / "allowed" / digest.hexdigest()


@contextmanager
def _writable(state: Path) -> Iterator[None]:
    try:
        for subfolder in ("commands", "allowed"):
            files.make_folder(state.parent, state.name, subfolder)
        yield
    except OSError as error:
        raise UnavailableError(
            f"{state} cannot be written: {error.strerror or error}",
            advice="name another folder with XDG_STATE_HOME",
        ) from error
