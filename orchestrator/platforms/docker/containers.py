"""A container of an engine: its commands and their streams, and files that go in and out."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from docker.errors import DockerException

from orchestrator.errors import RunError, TierbenchError
from orchestrator.platforms.common import archives, commands
from orchestrator.platforms.common.commands import Chunk, LineConversation, Output
from orchestrator.platforms.docker import campaigns, connection, limits
from orchestrator.powers import (
    GONE,
    RUNNING,
    Completed,
    ContainerLimits,
    ContainerState,
    How,
    Machine,
)
from orchestrator.system import at_once, sockets
from orchestrator.system.redaction import remember_environment

_MOST_LOG_LINES = 1_000_000  # the limit where an engine keeps more than it was told to
_ERRORS = 2  # the number of standard error; 1 is standard output
# The number of the stream, and how many bytes of it follow.
_HEAD = struct.Struct(">BxxxL")
_PERIOD_US = 100_000  # the period of a quota of CPU
# A limit of memory that stands for none: an engine cannot be told to take one away again.
_NO_LIMIT_BYTES = 2**60


class DockerStreams:
    """The streams of a command, on a connection for itself: `exec_start(…, socket=True)`."""

    def __init__(self, socket: Any) -> None:
        # docker-py's own reader waits for the network although TLS has data, misses what came with
        # the head of the answer, cannot be written to, and leaves its socket open.
        self._response = socket._response
        self._socket = getattr(socket, "_sock", socket)

    def __iter__(self) -> Iterator[Chunk]:
        """Yields the output as it comes; closes the connection at the end."""
        try:
            reader = self._response.raw._fp.fp
            # A command may say nothing for hours: whether its engine lives is asked beside it.
            self._socket.settimeout(None)
            while True:
                head = reader.read(_HEAD.size)
                # The stream ends with a whole frame, or
                # breaks within one: there is no more to come.
                if len(head) != _HEAD.size:
                    break
                stream, length = _HEAD.unpack(head)
                data = reader.read(length)
                if stream == _ERRORS:
                    yield (None, data)
                else:
                    yield (data, None)
        except (DockerException, OSError, ValueError) as error:
            raise TierbenchError(f"the output stream broke: {error}") from error
        finally:
            with suppress(OSError):
                self._response.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def end_input(self) -> None:
        with suppress(OSError):
            sockets.end_sending(self._socket)


def _exit_code(execution: Mapping[str, Any]) -> int:
    """The exit code of a command that has ended; −1 if the engine does not know it."""
    code = execution["ExitCode"]
    if code is None:
        return -1
    return int(code)


@dataclass(eq=False)
class DockerContainer:
    """The `Container` protocol. `machine`: None if it is not known which engine has it."""

    name: str
    engine: connection.Engine
    leftovers: campaigns.Leftovers
    machine: Machine | None
    id: str = ""
    process_id: int | None = None
    address: str | None = None
    ports: Mapping[int, int] = field(default_factory=dict)
    ulimits: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"

    def exec(
        self, argv: Sequence[str], *, timeout_s: float, **how: Unpack[How]
    ) -> Completed:
        doing = f"running {argv[0]} in {self.name}"
        clock = self.engine.clock
        started = clock.monotonic()
        watch = how.get("watch", ())
        execution, streams = self._begun(
            doing,
            argv,
            environment=dict(how.get("env") or {}),
            user=how.get("user", ""),
            stdin=False,
        )
        output = Output(streams)

        def inspected() -> Any:
            return self.engine.asked(
                doing, lambda: self.engine.client.api.exec_inspect(execution)
            )

        ended = commands.follow(
            output,
            how.get("on_line"),
            watch,
            started + timeout_s,
            clock,
            self.engine.beats.require,
            inspected,
        )
        if not ended:
            what = f"{doing}: did not end within {timeout_s:g} s"
            raise RunError(what, evidence=output.tail())
        exit_code = _exit_code(inspected())
        if exit_code != 0:
            commands.after_failure(watch, output, clock)
        out = "".join(output.out)
        err = "".join(output.err)
        return Completed(
            argv=tuple(argv),
            exit_code=exit_code,
            out=out,
            err=err,
            duration_s=clock.monotonic() - started,
        )

    def _begun(
        self,
        doing: str,
        argv: Sequence[str],
        *,
        environment: dict[str, str] | None = None,
        user: str = "",
        stdin: bool,
    ) -> tuple[str, DockerStreams]:
        api = self.engine.client.api
        remember_environment(environment or {})
        with self.engine.errors(doing):
            create = partial(
                api.exec_create,
                self.name,
                list(argv),
                environment=environment,
                user=user,
                stdin=stdin,
            )
            execution = str(self.engine.answering.heard(create)["Id"])
            return execution, DockerStreams(api.exec_start(execution, socket=True))

    def conversation(
        self, argv: Sequence[str]
    ) -> AbstractContextManager[LineConversation]:
        doing = f"talking with {argv[0]} in {self.name}"
        _, streams = self._begun(doing, argv, stdin=True)
        return closing(LineConversation(streams, doing, self.engine.clock))

    def put(self, source: Path, target: str) -> None:
        folder, content = archives.packed(source, target)
        put = self.engine.client.api.put_archive
        doing = f"putting {source} into {self.name}"
        self.engine.asked(doing, lambda: put(self.name, folder, content))

    def fetch(self, folder: str, target: Path) -> None:
        with archives.Arriving(target) as content:

            def get() -> None:
                # The content of an attempt that broke is written anew.
                content.seek(0)
                content.truncate()
                archive = self.engine.client.api.get_archive(self.name, folder)[0]
                try:  # docker-py takes away the limit of this stream
                    for piece in at_once.pieces(archive, self.engine.silence_s):
                        content.write(piece)
                except TimeoutError as error:
                    raise TimeoutError(
                        f"{error}, after {content.tell():,} bytes"
                    ) from error

            self.engine.asked(f"fetching {folder} from {self.name}", get)
            archives.unpack(content, target)

    def stop(self, timeout_s: float) -> None:
        doing = f"stopping {self.name}"
        limit_s = round(timeout_s)
        self.engine.find(doing, lambda: self._get().stop(timeout=limit_s))

    def remove(self, timeout_s: float) -> None:
        # Whatever keeps it from stopping, it is removed.
        with suppress(DockerException, OSError):
            self.engine.answering.heard(
                lambda: self._get().stop(timeout=round(timeout_s))
            )
        self.leftovers.remove_container(self.name, self.name)

    @property
    def limits(self) -> ContainerLimits:
        return ContainerLimits(self.lift_limits, self.limit_cpus, self.find_cpus)

    def lift_limits(self) -> None:
        lifted = {
            "cpu_quota": -1,
            "mem_limit": _NO_LIMIT_BYTES,
            "memswap_limit": _NO_LIMIT_BYTES,
        }
        self.engine.find(
            f"lifting the limits of {self.name}", lambda: self._get().update(**lifted)
        )

    def limit_cpus(self, cpus: float | None) -> None:
        if cpus is None:
            quota = -1
        else:
            quota = round(cpus * _PERIOD_US)
        doing = f"limiting the processors of {self.name}"
        limits = {"cpu_period": _PERIOD_US}
        self.engine.find(doing, lambda: self._get().update(cpu_quota=quota, **limits))

    def find_cpus(self) -> float | None:
        limits = self._attributes().get("HostConfig", {})
        quota = limits.get("CpuQuota") or 0
        period_us = limits.get("CpuPeriod") or _PERIOD_US
        if quota > 0:
            return quota / period_us
        return None

    def state(self) -> ContainerState:
        attributes = self._attributes()
        state = attributes.get("State")
        if state is None:
            return GONE
        if state.get("Running"):
            mode = attributes.get("HostConfig", {}).get("NetworkMode")
            networks = attributes.get("NetworkSettings", {}).get("Networks")
            # Somebody took its last network from it: one without any has that named `none`.
            is_cut_off = networks == {} and mode not in ("none", "host")
            if is_cut_off:
                return ContainerState("cut off from its network")
            return RUNNING
        # An engine tells exit code 0 for one that was never started.
        if state.get("Status") == "created":
            return ContainerState("created")
        reason = ""
        if state.get("OOMKilled"):
            reason = ", out of memory"
        exit_code = state.get("ExitCode")
        words = f"{state.get('Status', 'unknown')} (exit {exit_code}{reason})"
        return ContainerState(words, exit_code=exit_code)

    def exit_code(self) -> int | None:
        state = self.engine.asked(
            f"running {self.name}", lambda: self._get().attrs["State"]
        )
        if state.get("Running"):
            return None
        return int(state["ExitCode"])

    def find_image(self) -> str:
        return str(self._attributes().get("Image") or "")

    def logs(self, tail: int | None = None) -> str:
        doing = f"reading the log of {self.name}"
        lines = tail or _MOST_LOG_LINES
        output = self.engine.find(doing, lambda: bytes(self._get().logs(tail=lines)))
        log = output or b""
        # An engine may keep more than it was told to.
        return log[-limits.LOG_BYTES :].decode(errors="replace")

    def find_machine(self) -> Machine:
        if self.machine is None:
            raise RunError(f"{self.name}: it is not known which machine runs it")
        return self.machine

    def _get(self) -> Any:
        return self.engine.client.containers.get(self.name)

    def _attributes(self) -> Mapping[str, Any]:
        """What the engine says of it; empty if it is gone."""
        return (
            self.engine.find(f"looking at {self.name}", lambda: dict(self._get().attrs))
            or {}
        )
