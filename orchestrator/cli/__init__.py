"""The command line: commands, progress on the console, set-up of a machine.

Files that the program reads beside its code are in its checkout, or came with a wheel. There the
user's own stay in the folder in which a command is given, and the cache where XDG says."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from orchestrator import IS_CHECKOUT as IS_CHECKOUT, PROJECT
from orchestrator.system import files


def _current_folder() -> Path:
    """The current folder.

    If it was removed its name is not known, and `main` refuses every command.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path()


# Where the user's profiles, workloads and results are. In a checkout it is the checkout: a command
# given in any folder finds the same results.
OWN = _current_folder()
if IS_CHECKOUT:
    OWN = PROJECT


def cache_folder(
    environment: Mapping[str, str] = os.environ,
    is_checkout: bool = IS_CHECKOUT,
    home: Callable[[], Path] = Path.home,
) -> Path:
    """The folder of the cache: where the environment says, else in the checkout, else as XDG says.

    For a user without a home it is in the folder of the command.
    """
    named = environment.get("TIERBENCH_CACHE")
    if named:
        return Path(named)
    if is_checkout:
        return OWN / ".cache"
    xdg = environment.get("XDG_CACHE_HOME")
    if xdg:
        return Path(xdg) / "tierbench"
    with suppress(RuntimeError):  # HOME is not set, and no entry of the user's has one
        return home() / ".cache" / "tierbench"
    return OWN / ".cache" / "tierbench"


CACHE = cache_folder()
RESULTS = OWN / "results"
REHEARSALS = CACHE / "rehearsals"  # apart from what was measured
# Files with other endings do not count: a note beside a profile would change the digest below, and
# with it the project that a command copies.
_OWN_FILES = {"profiles": (".yaml",), "workloads": (".yaml", ".lua", ".sql", ".fio")}


@lru_cache(maxsize=1)
def root() -> Path:
    """The project folder, with `profiles/`, `workloads/` and `docker/`: the checkout. Of a wheel a
    copy in the cache, named by its content: what was shipped, with the user's own files over it."""
    if IS_CHECKOUT:
        return PROJECT
    contents = _shipped_and_own()
    project = CACHE / "projects" / digest_of(contents)[:12]
    if not project.is_dir():
        _copy(contents, project)
    return project


def digest_of(contents: Mapping[Path, Path]) -> str:
    """SHA-256 of all paths in the project and of their files, in hexadecimal digits."""
    digest = hashlib.sha256()
    # Sorted, because `rglob` gives files in another order on another file system.
    for name, file in sorted(contents.items()):
        digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _shipped_and_own() -> dict[Path, Path]:
    """Path in the project → file: what was shipped, and the user's own in the place of it."""
    contents: dict[Path, Path] = {}
    for file in PROJECT.rglob("*"):
        if file.is_file():
            contents[file.relative_to(PROJECT)] = file
    for folder, endings in _OWN_FILES.items():
        for file in (OWN / folder).rglob("*"):
            if file.suffix in endings and file.is_file():
                contents[file.relative_to(OWN)] = file
    return contents


def _copy(contents: Mapping[Path, Path], project: Path) -> None:
    """Makes the folder whole or not at all."""
    with files.writing(project):
        project.parent.mkdir(parents=True, exist_ok=True)
        # The folder is made beside the project, because a rename into another file system is
        # refused.
        begun = Path(tempfile.mkdtemp(dir=project.parent))
        for name, file in contents.items():
            (begun / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, begun / name)
    with suppress(OSError):  # another command has just made it
        begun.rename(project)
    shutil.rmtree(begun, ignore_errors=True)
