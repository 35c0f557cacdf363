"""Files of this computer in containers of an engine that is elsewhere.

They are there before the container starts, so folders are volumes of their own: into the file
system of a read-only container nothing can be put. From then on `carried` keeps them in step.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from orchestrator.errors import RunError, TierbenchError
from orchestrator.platforms.common.carried import Carried, Pipe
from orchestrator.platforms.docker.client import Engine
from orchestrator.platforms.docker.streams import OUT, pieces
from orchestrator.powers import ContainerSpec, Mount


def is_carried(mount: Mount) -> bool:
    """Whether this is a file or folder of this computer."""
    return mount.source.startswith("/") and not mount.on_machine


def bind(mount: Mount) -> str:
    return f"{mount.source}:{mount.target}:{'ro' if mount.read_only else 'rw'}"


class Carrier:
    """What is carried into the containers of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._client = engine, engine.client
        self._carried: dict[str, list[Carried]] = {}

    def volumes(self, spec: ContainerSpec) -> list[str]:
        """Places in the container that must be volumes of its own."""
        return [
            mount.target
            for mount in spec.mounts
            if is_carried(mount) and not Path(mount.source).is_file()
        ]

    def put_first(self, spec: ContainerSpec, container: str) -> None:
        """Puts all files into a container that is made and not yet started."""
        carried = []
        for mount in filter(is_carried, spec.mounts):
            one = Carried(Path(mount.source), mount.target, mount.read_only, self._pipe(spec.name))
            with self._engine.errors(f"carrying {mount.source} into {spec.name}"):
                if Path(mount.source).is_file():
                    folder = str(PurePosixPath(mount.target).parent)
                    self._client.api.put_archive(container, "/", _folders(folder))
                one.put_first(lambda at, data: self._client.api.put_archive(container, at, data))
            carried.append(one)
        self._carried[spec.name] = carried

    @contextmanager
    def in_step(self, container: str) -> Iterator[None]:
        """Brings files there before the block, and back after it; after an error as far as it
        goes."""
        carried = self._carried.get(container, ())
        for one in carried:
            one.put()
        try:
            yield
        except BaseException:
            with contextlib.suppress(TierbenchError, OSError):
                self.take(container)
            raise
        self.take(container)

    def take(self, container: str) -> None:
        """Brings back what has changed in the container."""
        for one in self._carried.get(container, ()):
            one.take()

    def forget(self, container: str) -> None:
        self._carried.pop(container, None)

    def _pipe(self, container: str) -> Pipe:
        api = self._client.api

        def pipe(argv: Sequence[str], data: bytes, out: Callable[[bytes], None]) -> None:
            with self._engine.errors(f"carrying files of {container}"):
                execution = api.exec_create(container, list(argv), stdin=True, user="0")["Id"]
                socket: Any = api.exec_start(execution, socket=True)
                getattr(socket, "_sock", socket).sendall(data)
                errors = b""
                for stream, piece in pieces(socket):
                    if stream == OUT:
                        out(piece)
                    else:
                        errors += piece
                with contextlib.suppress(OSError):
                    socket._response.close()
                exit_code = api.exec_inspect(execution)["ExitCode"]
            if exit_code != 0:
                raise RunError(
                    f"files of {container} could not be carried",
                    evidence=errors.decode(errors="replace")[-2000:],
                )

        return pipe


def _folders(folder: str) -> bytes:
    """A tar with this folder and its parents, empty."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        path = PurePosixPath(folder)
        for one in (*reversed(path.parents[:-1]), path):
            entry = tarfile.TarInfo(str(one).lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    return archive.getvalue()
