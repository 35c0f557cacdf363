"""Commands in pods: run to their end, or talked with.

An exec of Kubernetes has no environment, no time limit and no user. So commands run under a shell
that reads their environment from standard input (a password on the command line would be in the
request's address, and in the server's audit log), and under `timeout`, or one that was given up
here would run on. They run as the container's own user.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from orchestrator.errors import NodeError, RunError
from orchestrator.platforms.common.conversations import KEPT, LineConversation
from orchestrator.platforms.common.output import Output
from orchestrator.platforms.common.watching import Watching
from orchestrator.platforms.kubernetes.channels import Frames
from orchestrator.platforms.kubernetes.connection import Api
from orchestrator.platforms.kubernetes.errors import Refused, cluster_errors
from orchestrator.platforms.kubernetes.guard import namespace_of
from orchestrator.platforms.kubernetes.labels import object_name
from orchestrator.platforms.kubernetes.manifests import MAIN
from orchestrator.platforms.kubernetes.trouble import LOST
from orchestrator.powers import Clock, Completed

# $0: the seconds. KILL follows TERM after five.
_RUN = (
    'while IFS= read -r pair && [ -n "$pair" ]; do export "$pair"; done; '
    'command -v timeout >/dev/null || exec "$@" </dev/null; '
    'exec timeout -k 5 "$0" "$@" </dev/null'
)
_ENDED_BY_TIMEOUT = (124, 137)
_GRACE_S = 15.0  # after the time limit: for its KILL, and for the answer
_LOOK_EVERY_S = 1.0


class Commands(Watching):
    """The part of `KubernetesPlatform` that runs commands in pods."""

    _api: Api
    _clock: Clock
    campaign: str

    def _put_files(self, container: str) -> None:
        raise NotImplementedError

    def _take_files(self, container: str) -> None:
        raise NotImplementedError

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
        doing = f"running {argv[0]} in {container}"
        self._put_files(container)
        started = self._clock.monotonic()
        command = ("sh", "-c", _RUN, str(math.ceil(timeout_s)), *argv)
        frames = self._begin(doing, container, MAIN, command)
        frames.send(_environment(env or {}))
        output = Output(frames)
        deadline, next_look = started + timeout_s + _GRACE_S, started + _LOOK_EVERY_S
        while output.follow(on_line or (lambda _line: None)):
            now = self._clock.monotonic()
            if now >= deadline:
                frames.cut()
                break
            if now >= next_look:
                self._raise_if_dead(watch, output)
                if watch and (state := self.state(container)).startswith(LOST):
                    frames.cut()
                    raise NodeError(f"{doing}: {container} is {state}", evidence=output.tail())
                next_look = now + _LOOK_EVERY_S
        took_s = self._clock.monotonic() - started
        if took_s >= timeout_s and frames.exit_code in (*_ENDED_BY_TIMEOUT, -1):
            raise RunError(f"{doing}: did not end within {timeout_s:g} s", evidence=output.tail())
        if frames.exit_code != 0 and watch:
            # A generator that lost its database often ends before the cluster notices the death.
            self._clock.sleep(0.5)
            self._raise_if_dead(watch, output)
        if frames.exit_code == -1:
            raise self._cut_off(doing, container, frames, output)
        self._take_files(container)
        return Completed(
            tuple(argv), frames.exit_code, "".join(output.out), "".join(output.err), took_s
        )

    @contextmanager
    def conversation(self, container: str, argv: Sequence[str]) -> Iterator[PodConversation]:
        doing = f"talking with {argv[0]} in {container}"
        conversation = PodConversation(
            self._begin(doing, container, MAIN, argv), doing, self._clock
        )
        try:
            yield conversation
        finally:
            conversation.close()

    def _pipe(
        self,
        container: str,
        inside: str,
        argv: Sequence[str],
        data: bytes,
        out: Callable[[bytes], None],
    ) -> None:
        """Runs a command in a container `inside` a pod, sends it `data`, and hands on its output.
        RunError if it fails."""
        doing = f"carrying files of {container}"
        frames = self._begin(doing, container, inside, argv)
        errors = b""
        try:
            frames.send(data)
        except OSError as error:
            raise RunError(f"{doing}: {error}") from error
        for chunk, error_chunk in frames:
            if chunk:
                out(chunk)
            errors += error_chunk or b""
        if frames.exit_code != 0:
            raise RunError(
                f"{doing}: {argv[0]} failed (exit {frames.exit_code}) {frames.message}",
                advice="its image needs sh, GNU tar and GNU find",
                evidence=errors.decode(errors="replace")[-2000:],
            )

    def _begin(self, doing: str, container: str, inside: str, argv: Sequence[str]) -> Frames:
        name = object_name(container)
        query = [("container", inside), *(("command", word) for word in argv)]
        query += [(stream, "true") for stream in ("stdin", "stdout", "stderr")]
        with cluster_errors(doing):
            try:
                path = f"/api/v1/namespaces/{namespace_of(self.campaign)}/pods/{name}/exec"
                return Frames(self._api.channel(path, query))
            except Refused as error:
                state = self.state(container)
                if state == "running":
                    raise
                raise NodeError(f"{doing}: it is not running ({state})") from error

    def _cut_off(
        self, doing: str, container: str, frames: Frames, output: Output
    ) -> RunError | NodeError:
        state = self.state(container)
        if state != "running":
            return NodeError(f"{doing}: {container} is {state}", evidence=output.tail())
        return RunError(
            f"{doing}: the connection ended before the command did {frames.message}".strip(),
            advice="was the API server, or a proxy before it, restarted?",
            evidence=output.tail(),
        )


def _environment(env: Mapping[str, str]) -> bytes:
    """One line for each variable, and an empty one."""
    for name, value in env.items():
        if "\n" in value:
            raise RunError(f"the variable {name} has a line break, which no pod can be given")
    return "".join(f"{name}={value}\n" for name, value in env.items()).encode() + b"\n"


class PodConversation(LineConversation):
    """A command in a pod that is talked with."""

    def __init__(self, frames: Frames, doing: str, clock: Clock) -> None:
        self._frames = frames
        super().__init__(Output(frames, kept=KEPT), frames.send, doing, clock)

    def close(self) -> None:
        """Ends its standard input, which ends every command that reads it."""
        self._frames.end_input()
