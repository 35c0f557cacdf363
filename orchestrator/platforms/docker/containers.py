"""A container of an engine, and what can be done with it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from docker.errors import DockerException, NotFound

from orchestrator.errors import RunError
from orchestrator.platforms.common import watching
from orchestrator.platforms.common.output import Output
from orchestrator.platforms.docker.carrying import Carrier
from orchestrator.platforms.docker.client import Engine
from orchestrator.platforms.docker.leftovers import Leftovers
from orchestrator.platforms.docker.streams import DockerConversation, chunks
from orchestrator.powers import Completed, Container, Machine


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
            execution, socket = self._begun(doing, argv, environment=dict(env or {}), user=user)
            output = Output(chunks(socket))
            if not watching.follow(output, on_line, watch, started + timeout_s, clock):
                what = f"{doing}: did not end within {timeout_s:g} s"
                raise RunError(what, evidence=output.tail())
            with self.engine.errors(doing):
                inspect = self.engine.client.api.exec_inspect
                code = self.engine.patiently(lambda: inspect(execution))["ExitCode"]
            exit_code = -1 if code is None else int(code)
            if exit_code != 0:
                watching.after_failure(watch, output, clock)
            out, err = "".join(output.out), "".join(output.err)
            return Completed(tuple(argv), exit_code, out, err, clock.monotonic() - started)

    def _begun(self, doing: str, argv: Sequence[str], **options: Any) -> tuple[str, Any]:
        """The id of a command that begins to run, and the connection with its streams."""
        api = self.engine.client.api
        with self.engine.errors(doing):
            execution = str(api.exec_create(self.name, list(argv), **options)["Id"])
            return execution, api.exec_start(execution, socket=True)

    @contextmanager
    def conversation(self, argv: Sequence[str]) -> Iterator[DockerConversation]:
        doing = f"talking with {argv[0]} in {self.name}"
        _, socket = self._begun(doing, argv, stdin=True)
        conversation = DockerConversation(socket, doing, self.engine.clock)
        try:
            yield conversation
        finally:
            conversation.close()

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
