"""Files on their way into a container and out of it, as tar archives."""

import io
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from copy import copy
from pathlib import Path, PurePosixPath
from typing import IO, Any

from orchestrator.errors import RunError

# The part of an archive from a container that is held in memory.
_IN_MEMORY_BYTES = 16 * 2**20
MOST_BYTES = 2**40  # the most of one run: five days at 100,000 transactions a second
MOST_FILES = 100_000


class Arriving(tempfile.SpooledTemporaryFile[bytes]):
    """An archive that comes out of a container, if it is large on the disk of `target`, where its
    files go: a folder of temporary files may be in memory. RunError if it is larger than any
    run's, or than half of what that disk has free: its files come to be beside it."""

    def __init__(
        self,
        target: Path,
        most_bytes: int = MOST_BYTES,
        free_bytes: int | None = None,
    ) -> None:
        """`free_bytes`: if it is not what `target` has free."""
        target.mkdir(parents=True, exist_ok=True)
        super().__init__(_IN_MEMORY_BYTES, dir=str(target))
        self._target = target
        self._most_bytes = most_bytes
        if free_bytes is None:
            free_bytes = shutil.disk_usage(target).free
        self._room_bytes = free_bytes // 2

    def write(self, piece: Any) -> int:
        # The length is checked before the piece is written. An image of others may give anything,
        # and fill the disk of the results.
        length = self.tell() + len(piece)
        if length > self._most_bytes:
            raise _untrusted(f"gives more than {self._most_bytes:,} bytes")
        if length > self._room_bytes:
            raise RunError(
                f"{self._target} has room for {self._room_bytes:,} bytes, but more "
                "arrived",
                advice="make room there, or write results to a larger disk: --results",
            )
        return super().write(piece)


def _untrusted(what: str) -> RunError:
    return RunError(
        f"a container {what}",
        advice="its image cannot be trusted: no file was copied from it",
    )


def packed(source: Path, target: str) -> tuple[str, bytes]:
    """Returns the folder of a container in which to unpack, and what: `source`, a file that becomes
    `target`, or a folder whose files come to be in `target`."""
    content = io.BytesIO()
    # A link's target would not be there in the container.
    with tarfile.open(fileobj=content, mode="w", dereference=True) as archive:
        if source.is_file():
            place = PurePosixPath(target)
            archive.add(source, place.name)
            target = str(place.parent)
        else:
            for path in sorted(source.iterdir()):
                archive.add(path, path.name)
    return target, content.getvalue()


def written(files: Mapping[str, bytes]) -> bytes:
    """Returns an archive of files, name → content."""
    archived = io.BytesIO()
    with tarfile.open(fileobj=archived, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return archived.getvalue()


def unpack(content: IO[bytes], target: Path, most_files: int = MOST_FILES) -> None:
    """Writes the files of an archive of a folder, named `out/…` or `./…`, into the folder `target`.
    Links are left out. RunError, before anything is written, if a file would be outside of it, is
    sparse, or there are too many."""
    content.seek(0)
    try:
        with tarfile.open(fileobj=content, mode="r:") as archive:
            files: list[tarfile.TarInfo] = []
            for member in archive:
                # A link could lead out of the folder; devices and folders hold no results.
                if not member.isfile():
                    continue
                # A sparse file of few bytes unpacks to as many as its entry says, past any limit.
                if member.issparse():
                    raise _untrusted(f"has a sparse file: {member.name}")
                if len(files) == most_files:
                    raise _untrusted(f"has more than {most_files:,} files")
                file = copy(member)
                # The folder's own name, which stands before each, is left out.
                file.name = member.name.partition("/")[2]
                file.mode = 0o600  # the mode of all files that a campaign leaves
                # All members are looked at first: nothing is written of an archive that is refused.
                files.append(tarfile.data_filter(file, str(target)))
            for file in files:
                archive.extract(file, target, filter="data")
    except tarfile.FilterError as error:
        raise _untrusted(f"has a file outside of its folder: {error}") from error
    except tarfile.TarError as error:
        raise RunError(f"the files of a container came broken: {error}") from error
