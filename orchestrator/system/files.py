"""Files that outlive a power cut: on the disk before they replace what was there, and so is the
folder that names them; and checksums by which a file that was cut or changed is told later."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import UNREADABLE, CutError, UsageError
from orchestrator.keys import plain_files
from orchestrator.system.redaction import hidden, hidden_in

Checksums = Mapping[str, Mapping[str, Any]]  # path below a folder → bytes, sha256


def write_text(file: Path, text: str) -> None:
    """Writes atomically: a reader sees the old file or the new one, never half of one."""
    new_file = file.with_name(f".{file.name}.new")
    new_file.write_text(text, encoding="utf-8")
    put(new_file, file)


def write_json(file: Path, content: Any) -> None:
    """The same for any JSON. Passwords in URLs and connection strings are left out."""
    text = json.dumps(hidden_in(content), indent=1, ensure_ascii=False, default=str)
    write_text(file, text + "\n")


def content(file: Path) -> dict[str, Any]:
    """What is in a JSON file; empty if it is not there. ValueError if it was cut; CutError if it is
    no plain file."""
    if plain_files.kind_of(file) == "nothing":
        return {}
    return dict(json.loads(plain_files.read(file)))


def keep(file: Path, text: str, *, adds: bool = False) -> None:
    """Writes, or adds to, a text that something else said or was told, without secrets."""
    mode = "w"
    if adds:
        mode = "a"
    with file.open(mode, encoding="utf-8") as opened:
        opened.write(hidden(text))


def put(new_file: Path, file: Path) -> None:
    """Gives a file that is written its name, once its content is on the disk."""
    sync(new_file)
    new_file.replace(file)
    sync(file.parent)


def require_absent(file: Path) -> None:
    """UsageError if something has this name, or its folder is not there: a file that others are
    sent replaces none."""
    if file.is_symlink() or file.exists():
        raise UsageError(f"{file} is there already", "name a file that is not there")
    if not file.parent.is_dir():
        raise UsageError(
            f"there is no folder {file.parent}", "make it, or name another"
        )


def write_private(file: Path, text: str) -> None:
    """Writes a new file that only its user may read. UsageError if something has its name by now, a
    link among others: nothing is written through it."""
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        number = os.open(file, how, 0o600)
    except FileExistsError:
        require_absent(file)
        raise
    with os.fdopen(number, "w", encoding="utf-8") as opened:
        os.fchmod(number, 0o600)
        opened.write(text)
        opened.flush()
        os.fsync(number)


def sync(path: Path) -> None:
    """What was written to a file, or a folder's names, is on the disk when this returns. Some file
    systems refuse that for folders: then their names are as safe as these make them."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(number)


def checksums(folder: Path, record: Path) -> dict[str, dict[str, Any]]:
    """Puts every file below a folder on the disk and returns its checksum. Those that an earlier
    `record` beside them has, and that did not change since, are taken from there."""
    earlier = recorded_checksums(record)
    since_ns = 0
    if record.is_file():
        since_ns = record.stat().st_mtime_ns
    sums: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if not plain_files.is_file(file) or file == record or name.startswith("."):
            continue
        status = file.stat()
        is_older = status.st_mtime_ns < since_ns
        if is_older and earlier.get(name, {}).get("bytes") == status.st_size:
            sums[name] = dict(earlier[name])
        else:
            sums[name] = _checksum(file)
    return sums


def _checksum(file: Path) -> dict[str, Any]:
    with os.fdopen(plain_files.open_plain(file), "rb") as content:
        os.fsync(content.fileno())
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return {"bytes": content.tell(), "sha256": digest}


def recorded_checksums(record: Path) -> Checksums:
    """Those in a run's record; none of earlier releases, or if it was cut."""
    with contextlib.suppress(OSError, CutError, RecursionError, *UNREADABLE):
        content = json.loads(plain_files.read(record))
        sums: dict[str, dict[str, Any]] = {}
        for name, checksum in dict(content["files"]).items():
            sums[str(name)] = {
                "bytes": int(checksum["bytes"]),
                "sha256": str(checksum["sha256"]),
            }
        return sums
    return {}


def differences(record: Path) -> Iterator[str]:
    """Which files are not as `record` beside them says, in words."""
    for name, recorded in recorded_checksums(record).items():
        if not _is_below(name):
            yield f"{name!r} is no file of this run"
            continue
        file = record.parent / name
        try:
            present = _checksum(file)
        except CutError as error:
            yield error.what
            continue
        except OSError as error:
            yield f"{name} is missing or cannot be read: {error.strerror}"
            continue
        if present["bytes"] < recorded["bytes"]:
            left = present["bytes"]
            yield f"{name} was cut: {left} of {recorded['bytes']} bytes are there"
        elif present["sha256"] != recorded["sha256"]:
            yield f"{name} was changed after its run"


def _is_below(name: str) -> bool:
    """Whether it is the name of a file below a folder, as `checksums` writes it."""
    if not name or "\0" in name:
        return False
    parts = name.split("/")
    return not any(part in ("", ".", "..") for part in parts)
