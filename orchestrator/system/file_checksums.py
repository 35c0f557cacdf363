"""Checksums of a run's files, by which it is told later whether one was cut off or changed."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import UNREADABLE, CutError
from orchestrator.keys import plain_files

Checksums = Mapping[str, Mapping[str, Any]]  # path below a folder → bytes, sha256


def checksums(folder: Path, record: Path) -> dict[str, dict[str, Any]]:
    """Puts every file below a folder on the disk, and returns their checksums.

    `record`: an earlier record in that folder. Checksums of files that did not change since are
    taken from it."""
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
        # A file changed in the moment of the record may have its date, and is read again.
        is_older = status.st_mtime_ns < since_ns
        if is_older and earlier.get(name, {}).get("bytes") == status.st_size:
            sums[name] = dict(earlier[name])
        else:
            sums[name] = _checksum(file)
    return sums


def _checksum(file: Path) -> dict[str, Any]:
    with os.fdopen(plain_files.open_plain(file), "rb") as content:
        # The file must be on the disk before the record that vouches for it.
        os.fsync(content.fileno())
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return {"bytes": content.tell(), "sha256": digest}


def recorded_checksums(record: Path) -> Checksums:
    """The checksums in a run's record. Empty if it was cut off, or is of a release without them."""
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


@dataclass(frozen=True)
class FileDifference:
    """A file that is not as its run's record says. `name`: as recorded, such as `raw/log.txt`."""

    name: str
    text: str

    @property
    def is_raw(self) -> bool:
        """Whether it is what a load generator wrote, from which tables can be made anew."""
        return self.name.startswith("raw/")

    def __str__(self) -> str:
        return self.text


def differences(record: Path) -> Iterator[FileDifference]:
    """Which files are not as `record` beside them says."""
    for name, recorded in recorded_checksums(record).items():
        # The record may be somebody else's work, and name any file of the user.
        if not _is_below(name):
            yield FileDifference(name, f"{name!r} is not a file of this run")
            continue
        file = record.parent / name
        try:
            present = _checksum(file)
        except CutError as error:
            yield FileDifference(name, error.what)
            continue
        except OSError as error:
            missing = f"{name} is missing or cannot be read: {error.strerror}"
            yield FileDifference(name, missing)
            continue
        if present["bytes"] < recorded["bytes"]:
            left = present["bytes"]
            cut = f"{name} was cut: {left} of {recorded['bytes']} bytes are there"
            yield FileDifference(name, cut)
        elif present["sha256"] != recorded["sha256"]:
            yield FileDifference(name, f"{name} was changed after its run")


def _is_below(name: str) -> bool:
    """Whether it is the name of a file below a folder, as `checksums` writes it."""
    if not name or "\0" in name:
        return False
    parts = name.split("/")
    return {"", ".", ".."}.isdisjoint(parts)
