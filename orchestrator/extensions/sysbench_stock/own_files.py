"""A user's script of sysbench, and the modules that it requires from its own folder.

Scripts such as Percona's sysbench-tpcc are several files: `tpcc.lua` requires `tpcc_common`, which
LuaJIT looks for in the current folder (`./?.lua` of its package.path), and `m.lib` in `m/lib.lua`.
So the files that are required or run by name, also by one another, go into a folder of the client,
and sysbench runs there."""

import base64
import hashlib
import io
import re
import shlex
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from orchestrator.errors import UsageError
from orchestrator.extensions.sysbench_stock.scripts import is_path
from orchestrator.model import Workload
from orchestrator.powers import World

VARIABLE = "SYSBENCH_SCRIPTS"  # has the files, as base64 of a compressed archive
_FOLDER = "/tmp/own"  # a folder in the client
_SHIPPED = "/workloads"
_UNPACK = (
    f'mkdir -p {_FOLDER}; printf %s "${VARIABLE}" | base64 -d | tar -xzf - -C {_FOLDER}'
)
_REQUIRED = re.compile(r"""\brequire\s*\(?\s*["']([\w.-]+)["']""")
_RUN = re.compile(r"""\b(?:dofile|loadfile)\s*\(?\s*["']([\w./-]+)["']""")
# Linux takes no longer variable (MAX_ARG_STRLEN).
_MOST_CHARACTERS = 128 * 1024 - 1024


def script(workload: Workload, world: World) -> Path | None:
    """The user's script; None if there is no such file, or it is one of sysbench's own."""
    if not is_path(workload.script):
        return None
    for file in (world.root / "workloads" / workload.script, Path(workload.script)):
        if file.is_file():
            return file
    return None


def needed(workload: Workload, world: World) -> Mapping[str, Path]:
    """The user's script, and the files of its folder that it requires or runs, by their names in
    the client; none of sysbench's own."""
    first = script(workload, world)
    if first is None:
        return {}
    folders = [first.parent, first.resolve().parent]  # it may be a link
    files = {first.name: first}
    unread = [first]
    while unread:
        for name in _named_in(unread.pop()):
            file = _beside(name, folders)
            if file and name not in files:
                files[name] = file
                unread.append(file)
    return files


def _named_in(file: Path) -> Iterator[str]:
    """The files that its text requires or runs, from the folder in which sysbench runs."""
    text = file.read_text(encoding="utf-8", errors="replace")
    for module in _REQUIRED.findall(text):
        yield f"{module.replace('.', '/')}.lua"
    for name in _RUN.findall(text):
        yield str(PurePosixPath(name))


def _beside(name: str, folders: Sequence[Path]) -> Path | None:
    """The file of that name in one of the folders.

    None if it is elsewhere: it is then sysbench's, LuaJIT's or the client's.
    """
    path = PurePosixPath(name)
    # An archive's member may not leave the folder into which it is unpacked.
    if path.is_absolute() or ".." in path.parts:
        return None
    for folder in folders:
        if (folder / path).is_file():
            return folder / path
    return None


def identity(workload: Workload, world: World) -> str:
    """A hash of the user's files; empty of sysbench's own, which are in the image."""
    files = dict(needed(workload, world))
    if not files:
        return ""
    first = next(iter(files))
    whole = hashlib.sha256(files.pop(first).read_bytes())
    for name in sorted(files):
        whole.update(name.encode())
        whole.update(files[name].read_bytes())
    return whole.hexdigest()[:12]


def is_shipped(name: str, world: World) -> bool:
    """Whether it is below workloads/, which clients have."""
    if Path(name).is_absolute():
        return False
    return (world.root / "workloads" / name).is_file()


def in_client(name: str, world: World) -> str:
    """What sysbench is given as the script."""
    if not is_path(name):
        return name
    return f"{_folder(name, world)}/{Path(name).name}"


def _folder(name: str, world: World) -> str:
    """The folder of a user's script, in the client."""
    if is_shipped(name, world):
        return str(Path(_SHIPPED, name).parent)
    return _FOLDER


def environment(workload: Workload, world: World) -> dict[str, str]:
    """Has the files of a script that the client does not have. UsageError if they are too large."""
    if not is_path(workload.script) or is_shipped(workload.script, world):
        return {}
    files = needed(workload, world)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", dereference=True) as archive:
        for name, file in files.items():
            archive.add(file, name)
    text = base64.b64encode(packed.getvalue()).decode()
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(
            f"{workload.script} and what it requires are {len(text):,} characters when packed",
            f"{_MOST_CHARACTERS:,} fit: put it below workloads/, which clients have",
        )
    return {VARIABLE: text}


def prologue(workload: Workload, world: World) -> str:
    """A line of shell that goes to the script's folder; `true` for sysbench's own."""
    if not is_path(workload.script):
        return "true"
    enter = f"cd {shlex.quote(_folder(workload.script, world))}"
    if is_shipped(workload.script, world):
        return enter
    return f"{_UNPACK}; {enter}"
