"""A container of an engine: its commands and their streams, and the files that it is given.

Files of this computer are in a container elsewhere before it starts, so folders are volumes of
their own: into the file system of a read-only container nothing can be put. From then on `carried`
keeps them in step.
"""

from __future__ import annotations

import contextlib
import io
import socket as sockets
import struct
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from docker.errors import DockerException, NotFound

from orchestrator.errors import RunError, TierbenchError
from orchestrator.platforms.common import commands
from orchestrator.platforms.common.carried import Carried, Pipe, is_carried
from orchestrator.platforms.common.commands import Chunk, LineConversation, Output
from orchestrator.platforms.docker.campaigns import Leftovers
from orchestrator.platforms.docker.connection import Engine
from orchestrator.powers import Completed, Container, ContainerSpec, Machine, Mount

_ERRORS = 2  # the number of standard error; 1 is standard output
_HEAD = struct.Struct(">BxxxL")  # which stream, and how many bytes of it follow


class DockerStreams:
    """The streams of a command, on a connection for itself: `exec_start(…, socket=True)`.

    docker-py's own reader waits for the network before each piece, and so for what TLS has received
    already; and it misses what came together with the head of the engine's answer. Its stream
    cannot be written to, and would leave the response, and with it the socket, open.
    """

    def __init__(self, socket: Any) -> None:
        self._response, self._socket = socket._response, getattr(socket, "_sock", socket)

    def pieces(self) -> Iterator[Chunk]:
        """Yields the output as it comes; closes the connection at the end."""
        try:
            reader = self._response.raw._fp.fp
            self._socket.settimeout(None)
            while len(head := reader.read(_HEAD.size)) == _HEAD.size:
                stream, length = _HEAD.unpack(head)
                data = reader.read(length)
                yield (None, data) if stream == _ERRORS else (data, None)
        finally:
            with contextlib.suppress(OSError):
                self._response.close()

    def __iter__(self) -> Iterator[Chunk]:
        try:
            yield from self.pieces()
        except (DockerException, OSError, ValueError) as error:
            raise TierbenchError(f"the output stream broke: {error}") from error

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def end_input(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(sockets.SHUT_WR)


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
        for mount in spec.mounts:
            if not is_carried(mount):
                continue
            copy = Carried(Path(mount.source), mount.target, mount.read_only, self._pipe(spec.name))
            with self._engine.errors(f"carrying {mount.source} into {spec.name}"):
                if Path(mount.source).is_file():
                    folder = str(PurePosixPath(mount.target).parent)
                    self._client.api.put_archive(container, "/", _folders(folder))
                copy.put_first(lambda at, data: self._client.api.put_archive(container, at, data))
            carried.append(copy)
        self._carried[spec.name] = carried

    @contextmanager
    def in_step(self, container: str) -> Iterator[None]:
        """Brings files there before the block, and back after it; after an error as far as it
        goes."""
        carried = self._carried.get(container, ())
        for copy in carried:
            copy.put()
        try:
            yield
        except BaseException:
            with contextlib.suppress(TierbenchError, OSError):
                self.take(container)
            raise
        self.take(container)

    def take(self, container: str) -> None:
        """Brings back what has changed in the container."""
        for copy in self._carried.get(container, ()):
            copy.take()

    def forget(self, container: str) -> None:
        self._carried.pop(container, None)

    def _pipe(self, container: str) -> Pipe:
        api = self._client.api

        def pipe(argv: Sequence[str], data: bytes, out: Callable[[bytes], None]) -> None:
            with self._engine.errors(f"carrying files of {container}"):
                execution = api.exec_create(container, list(argv), stdin=True, user="0")["Id"]
                streams = DockerStreams(api.exec_start(execution, socket=True))
                streams.send(data)
                errors = commands.hand_on(streams.pieces(), out)
                exit_code = api.exec_inspect(execution)["ExitCode"]
            if exit_code != 0:
                raise RunError(f"files of {container} could not be carried", evidence=errors)

        return pipe


def _folders(folder: str) -> bytes:
    """A tar with this folder and its parents, empty."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        path = PurePosixPath(folder)
        for parent in (*reversed(path.parents[:-1]), path):
            entry = tarfile.TarInfo(str(parent).lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    return archive.getvalue()


@dataclass(eq=False)
class DockerContainer:
    """The `Container` protocol. `machine`: None if it is not known which engine has it."""

    name: str
    engine: Engine
    leftovers: Leftovers
    carrier: Carrier
    machine: Machine | None
    id: str = ""
    process_id: int | None = None
    address: str | None = None
    ports: Mapping[int, int] = field(default_factory=dict)
    ulimits: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        watch: Sequence[Container] = (),
        user: str = "",
    ) -> Completed:
        doing, clock = f"running {argv[0]} in {self.name}", self.engine.clock
        with self.carrier.in_step(self.name):
            started = clock.monotonic()
            execution, streams = self._begun(doing, argv, environment=dict(env or {}), user=user)
            output = Output(streams)
            deadline, held = started + timeout_s, self.engine.beats.require
            if not commands.follow(output, on_line, watch, deadline, clock, held):
                what = f"{doing}: did not end within {timeout_s:g} s"
                raise RunError(what, evidence=output.tail())
            with self.engine.errors(doing):
                inspect = self.engine.client.api.exec_inspect
                code = self.engine.patiently(lambda: inspect(execution))["ExitCode"]
            exit_code = -1 if code is None else int(code)
            if exit_code != 0:
                commands.after_failure(watch, output, clock)
            out, err = "".join(output.out), "".join(output.err)
            return Completed(tuple(argv), exit_code, out, err, clock.monotonic() - started)

    def _begun(self, doing: str, argv: Sequence[str], **options: Any) -> tuple[str, DockerStreams]:
        """The id of a command that begins to run, and its streams."""
        api = self.engine.client.api
        with self.engine.errors(doing):
            execution = str(api.exec_create(self.name, list(argv), **options)["Id"])
            return execution, DockerStreams(api.exec_start(execution, socket=True))

    @contextmanager
    def conversation(self, argv: Sequence[str]) -> Iterator[LineConversation]:
        doing = f"talking with {argv[0]} in {self.name}"
        _, streams = self._begun(doing, argv, stdin=True)
        with commands.conversing(streams, doing, self.engine.clock) as conversation:
            yield conversation

    def stop(self, timeout_s: float) -> None:
        def stop() -> None:
            self._get().stop(timeout=round(timeout_s))

        with self.engine.errors(f"stopping {self.name}"), contextlib.suppress(NotFound):
            self.engine.patiently(stop)

    def remove(self, timeout_s: float) -> None:
        with contextlib.suppress(DockerException, OSError):
            self._get().stop(timeout=round(timeout_s))
        self.leftovers.remove_container(self.name, self.name)

    def state(self) -> str:
        state = self._attributes().get("State")
        if state is None:
            return "gone"
        if state.get("Running"):
            return "running"
        reason = ", out of memory" if state.get("OOMKilled") else ""
        return f"{state.get('Status', 'unknown')} (exit {state.get('ExitCode')}{reason})"

    def find_image(self) -> str:
        return str(self._attributes().get("Image") or "")

    def logs(self, tail: int | None = None) -> str:
        with self.engine.errors(f"reading the log of {self.name}"):
            try:
                raw = self.engine.patiently(lambda: self._get().logs(tail=tail or "all"))
            except NotFound:
                return ""
        return bytes(raw).decode(errors="replace")

    def find_machine(self) -> Machine:
        if self.machine is None:
            raise RunError(f"{self.name}: no machine is known that runs it")
        return self.machine

    def _get(self) -> Any:
        return self.engine.client.containers.get(self.name)

    def _attributes(self) -> Mapping[str, Any]:
        """What the engine says of it; empty if it is gone."""
        with self.engine.errors(f"looking at {self.name}"):
            try:
                return dict(self.engine.patiently(lambda: self._get().attrs))
            except NotFound:
                return {}
