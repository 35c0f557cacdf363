"""A user's script of sysbench, and the modules that it requires from its own folder.

Scripts such as Percona's sysbench-tpcc are several files: `tpcc.lua` requires `tpcc_common`, which
LuaJIT looks for in the current folder (`./?.lua` of its package.path). So the files that are
required by name, also by one another, go into a folder of the client, and sysbench runs there."""

import base64
import hashlib
import io
import re
import shlex
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.load_generators.sysbench_stock.scripts import is_path
from orchestrator.model import Workload
from orchestrator.powers import World

VARIABLE = "SYSBENCH_SCRIPTS"  # has the files, as base64 of a compressed archive
_FOLDER = "/tmp/own"  # in the client
_SHIPPED = "/workloads"
_UNPACK = (
    f'mkdir -p {_FOLDER}; printf %s "${VARIABLE}" | base64 -d | tar -xzf - -C {_FOLDER}'
)
_REQUIRED = re.compile(r"""\brequire\s*\(?\s*["']([\w.-]+)["']""")
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


def needed(workload: Workload, world: World) -> Sequence[Path]:
    """The user's script, and the files of its folder that it requires; none of sysbench's own."""
    first = script(workload, world)
    if first is None:
        return ()
    files = [first]
    for file in files:
        for required in _required(file):
            if required not in files:
                files.append(required)
    return files


def _required(file: Path) -> Iterator[Path]:
    """Those beside it. Other modules are sysbench's or LuaJIT's."""
    text = file.read_text(encoding="utf-8", errors="replace")
    for name in _REQUIRED.findall(text):
        beside = file.parent / f"{name}.lua"
        if beside.is_file():
            yield beside


def identity(workload: Workload, world: World) -> str:
    """A hash of the user's files; empty of sysbench's own, which are in the image."""
    files = needed(workload, world)
    if not files:
        return ""
    whole = hashlib.sha256(files[0].read_bytes())
    for file in sorted(files[1:]):
        whole.update(file.name.encode())
        whole.update(file.read_bytes())
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
    """Of a user's script, in the client."""
    if is_shipped(name, world):
        return str(Path(_SHIPPED, name).parent)
    return _FOLDER


def environment(workload: Workload, world: World) -> dict[str, str]:
    """Has the files of a script that the client does not have. UsageError if they are too large."""
    if not is_path(workload.script) or is_shipped(workload.script, world):
        return {}
    files = needed(workload, world)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file in files:
            archive.add(file, file.name)
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
