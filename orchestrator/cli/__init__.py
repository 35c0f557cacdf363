"""The command line: commands, progress on the console, set-up of a machine.

Files that the program reads beside its code are in its checkout, or came with a wheel. There the
user's own stay in the folder in which a command is given, and the cache where XDG says."""

import hashlib
import os
import shutil
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from orchestrator import IS_CHECKOUT as IS_CHECKOUT
from orchestrator import PROJECT

OWN = (
    PROJECT if IS_CHECKOUT else Path.cwd()
)  # where the user's profiles, workloads and results are
_XDG_CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tierbench"
)
CACHE = Path(
    os.environ.get("TIERBENCH_CACHE") or (OWN / ".cache" if IS_CHECKOUT else _XDG_CACHE)
)
RESULTS = OWN / "results"
REHEARSALS = CACHE / "rehearsals"  # apart from what was measured
_OWN_FILES = {"profiles": (".yaml",), "workloads": (".yaml", ".lua", ".sql", ".fio")}


@lru_cache(maxsize=1)
def root() -> Path:
    """The project folder, with `profiles/`, `workloads/` and `docker/`: the checkout. Of a wheel a
    copy in the cache, named by its content: what was shipped, with the user's own files over it."""
    if IS_CHECKOUT:
        return PROJECT
    files = {
        file.relative_to(PROJECT): file for file in PROJECT.rglob("*") if file.is_file()
    }
    for folder, endings in _OWN_FILES.items():
        own = (file for file in (OWN / folder).rglob("*") if file.suffix in endings)
        files |= {file.relative_to(OWN): file for file in own if file.is_file()}
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    project = CACHE / "projects" / digest.hexdigest()[:12]
    if not project.is_dir():
        project.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(dir=project.parent))
        for name, file in files.items():
            (begun / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, begun / name)
        with suppress(OSError):  # another command has just made it
            begun.rename(project)
        shutil.rmtree(begun, ignore_errors=True)
    return project
