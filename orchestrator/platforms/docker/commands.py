"""Commands in containers of the engine: run to their end, or talked with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from docker import DockerClient
from orchestrator.errors import RunError
from orchestrator.platforms.common.watching import Watching
from orchestrator.platforms.docker.carrying import Carrier
from orchestrator.platforms.docker.conversations import DockerConversation
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.output import Output
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import Clock, Completed


class Commands(Watching):
    """The part of `DockerPlatform` that runs commands in containers."""

    _client: DockerClient
    _clock: Clock
    _carrier: Carrier

    def exec(
        self,
        container: str,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        watch: Sequence[str] = (),
        user: str = "",
    ) -> Completed:
        with self._carrier.in_step(container):
            return self._exec(container, argv, timeout_s, env, on_line, watch, user)

    def _exec(
        self,
        container: str,
        argv: Sequence[str],
        timeout_s: float,
        env: Mapping[str, str] | None,
        on_line: Callable[[str], None] | None,
        watch: Sequence[str],
        user: str,
    ) -> Completed:
        doing = f"running {argv[0]} in {container}"
        started = self._clock.monotonic()
        with engine_errors(doing):
            execution = self._client.api.exec_create(
                container, list(argv), environment=dict(env or {}), user=user
            )["Id"]
            output = Output(self._client.api.exec_start(execution, socket=True))
        deadline = started + timeout_s
        next_look = started + 1.0
        while output.follow(on_line or (lambda _line: None)):
            now = self._clock.monotonic()
            if now >= deadline:
                raise RunError(
                    f"{doing}: did not end within {timeout_s:g} s", evidence=output.tail()
                )
            if now >= next_look:
                self._raise_if_dead(watch, output)
                next_look = now + 1.0
        with engine_errors(doing):
            state = patiently(lambda: self._client.api.exec_inspect(execution), self._clock)
        exit_code = -1 if state["ExitCode"] is None else int(state["ExitCode"])
        if exit_code != 0 and watch:
            # A generator that lost its database often ends before the engine notices the death.
            self._clock.sleep(0.5)
            self._raise_if_dead(watch, output)
        return Completed(
            argv=tuple(argv),
            exit_code=exit_code,
            out="".join(output.out),
            err="".join(output.err),
            duration_s=self._clock.monotonic() - started,
        )

    @contextmanager
    def conversation(self, container: str, argv: Sequence[str]) -> Iterator[DockerConversation]:
        doing, api = f"talking with {argv[0]} in {container}", self._client.api
        with engine_errors(doing):
            execution = api.exec_create(container, list(argv), stdin=True)["Id"]
            socket = api.exec_start(execution, socket=True)
        conversation = DockerConversation(socket, doing, self._clock)
        try:
            yield conversation
        finally:
            conversation.close()
