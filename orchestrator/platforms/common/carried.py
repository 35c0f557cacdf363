"""Files of this program's computer, carried into a container elsewhere and brought back.

They go as tar streams through a `Pipe`; only files whose size or time of change differs are sent
again or brought back. The container needs `sh`, GNU `tar` and GNU `find`.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from orchestrator.errors import RunError
from orchestrator.powers import Mount

Pipe = Callable[[Sequence[str], bytes, Callable[[bytes], None]], None]
"""Runs a command in the container, sends it bytes, and hands on its standard output as it comes.
RunError if it fails. Its standard input may stay open: no command here waits for its end."""

# $0: the folder; $1: how many bytes come. --overwrite: a file that is mounted stays the same file.
_UNPACK = 'mkdir -p "$0" && head -c "$1" | tar -x -C "$0" --no-same-owner --overwrite -f -'
# tar ends with 1 if a file grew meanwhile: then it differs from the list, and is brought again.
_PACK = 'cd "$0" && head -c "$1" | tar -c --null --no-recursion -T - -f - || [ $? = 1 ]'
_REMOVE = 'cd "$0" && head -c "$1" | xargs -0 rm -f --'
_LIST = "find \"$0\" -type f -printf '%s %T@ %P\\0'"
_IN_MEMORY_BYTES = 16 * 2**20


def is_carried(mount: Mount) -> bool:
    """Whether it is a file or folder of this program's computer."""
    return mount.source.startswith("/") and not mount.on_machine


@dataclass(frozen=True)
class _Stamp:
    """By which a file is held to be the same: bytes, and the time of its last change as text."""

    size: int
    changed: str


class Carried:
    """`source`, a file or folder of this computer, and its copy at `place` in a container."""

    def __init__(self, source: Path, place: str, read_only: bool, pipe: Pipe) -> None:
        self._source, self._read_only, self._pipe = source, read_only, pipe
        self._is_file = source.is_file()
        self._folder = str(PurePosixPath(place).parent) if self._is_file else place
        self._name = PurePosixPath(place).name
        self._here: dict[str, _Stamp] | None = None
        self._there: dict[str, _Stamp] = {}
        self._busy = threading.Lock()

    def put_first(self, unpack: Callable[[str, bytes], object]) -> None:
        """Sends all there is to a container that does not run yet: `unpack` is given a folder of
        the container and a tar. The first `take` then brings all of it back."""
        with self._busy:
            here = self._listed_here()
            unpack(self._folder, self._packed(list(here)))
            self._here = here

    def put(self) -> None:
        """Sends what is new or changed here, and removes there what was removed here."""
        with self._busy:
            here, before = self._listed_here(), self._here or {}
            changed = _changed(here, before)
            gone = [name for name in before if name not in here]
            if changed or self._here is None:
                self._send(_UNPACK, self._packed(changed))
            if gone:
                self._send(_REMOVE, _names(gone))
            if changed or gone:
                self._there = self._listed_there()
            self._here = here

    def take(self) -> None:
        """Brings back what is new or changed there, and removes here what was removed there."""
        if self._read_only:
            return
        with self._busy:
            there = self._listed_there()
            if changed := _changed(there, self._there):
                self._bring(changed)
            for name in self._there.keys() - there.keys():
                self._path(name).unlink(missing_ok=True)
            self._there, self._here = there, self._listed_here()

    def _path(self, name: str) -> Path:
        return self._source if self._is_file else self._source / name

    def _listed_here(self) -> dict[str, _Stamp]:
        if self._is_file:
            files = {self._name: self._source}
        else:
            paths = sorted(path for path in self._source.rglob("*") if path.is_file())
            files = {path.relative_to(self._source).as_posix(): path for path in paths}
        stats = {name: path.stat() for name, path in files.items()}
        return {name: _Stamp(stat.st_size, str(stat.st_mtime_ns)) for name, stat in stats.items()}

    def _listed_there(self) -> dict[str, _Stamp]:
        output = io.BytesIO()
        self._pipe(("sh", "-c", _LIST, self._folder), b"", lambda data: _write(output, data))
        found: dict[str, _Stamp] = {}
        for line in output.getvalue().decode(errors="surrogateescape").split("\0"):
            if line:
                size, changed, name = line.split(" ", 2)
                folder = (self._source / name).parent.resolve()  # a link may lead out of it, too
                if ".." in Path(name).parts or not folder.is_relative_to(self._source.resolve()):
                    raise RunError(
                        f"a container lists a file outside of its folder: {name!r}",
                        advice="its image is not to be trusted: nothing was brought back",
                    )
                found[name] = _Stamp(int(size), changed)
        return {self._name: found[self._name]} if self._is_file and self._name in found else found

    def _packed(self, names: Sequence[str]) -> bytes:
        """A tar of these files; the first one also has all folders, for some may be empty."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
            if self._here is None and not self._is_file:
                for folder in sorted(path for path in self._source.rglob("*") if path.is_dir()):
                    tar.add(folder, folder.relative_to(self._source).as_posix(), recursive=False)
            for name in names:
                tar.add(self._path(name), name, recursive=False)
        return archive.getvalue()

    def _bring(self, names: Sequence[str]) -> None:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as archive:
            self._send(_PACK, _names(names), lambda data: _write(archive, data))
            archive.seek(0)
            with tarfile.open(fileobj=archive, mode="r:") as tar:
                if not self._is_file:
                    tar.extractall(self._source, filter="data")
                elif (content := tar.extractfile(self._name)) is not None:
                    with content, self._source.open("wb") as file:
                        shutil.copyfileobj(content, file)

    def _send(
        self, script: str, data: bytes, out: Callable[[bytes], None] = lambda _data: None
    ) -> None:
        self._pipe(("sh", "-c", script, self._folder, str(len(data))), data, out)


def _write(file: io.BytesIO | tempfile.SpooledTemporaryFile[bytes], data: bytes) -> None:
    file.write(data)


def _changed(now: dict[str, _Stamp], before: dict[str, _Stamp]) -> list[str]:
    return [name for name, stamp in now.items() if before.get(name) != stamp]


def _names(names: Iterable[str]) -> bytes:
    """The names as `tar -T` and `xargs -0` read them."""
    return "".join(f"{name}\0" for name in names).encode(errors="surrogateescape")
