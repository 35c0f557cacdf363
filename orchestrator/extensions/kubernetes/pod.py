"""A container as a pod, and what can be done with it.

An exec of Kubernetes has no environment, no time limit and no user: commands get the first two by
a script (scripts/run.sh), and run as the container's own user."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import IO, Unpack

from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.extensions.kubernetes import manifests, trouble
from orchestrator.extensions.kubernetes.channels import Frames
from orchestrator.extensions.kubernetes.connection import (
    Refused,
    Thing,
    cluster_errors,
)
from orchestrator.extensions.kubernetes.guest import Guest, log_of
from orchestrator.extensions.kubernetes.port_forward import PortForward
from orchestrator.extensions.kubernetes.space import Space
from orchestrator.platforms.common import archives, commands
from orchestrator.platforms.common.commands import LineConversation, Output
from orchestrator.powers import (
    Completed,
    ContainerLimits,
    ContainerSpec,
    ContainerState,
    How,
    Machine,
    Moment,
)
from orchestrator.system.clock import wait_until
from orchestrator.system.redaction import remember_environment
from orchestrator.system.shell import script

_ENDED_BY_TIMEOUT = (124, 137)  # codes of timeout(1): by its TERM, by its KILL
_GRACE_S = 15.0  # time after the limit: for its KILL, and for the answer
_KILLED_S = 30.0
_SILENCE_S = 90.0  # longer than what is waited for beside a disk


class Pod:
    """The `Container` protocol. `machine_named`: finds the machine of a name, if there is one."""

    limits: ContainerLimits | None = None

    def __init__(
        self, name: str, space: Space, machine_named: Callable[[str], Machine | None]
    ) -> None:
        self.name = name
        self.id = ""
        self.host = "127.0.0.1"
        self.process_id: int | None = None
        self.address: str | None = None
        self.ports: Mapping[int, int] = {}
        self.ulimits: Mapping[str, str] = {}
        self._space = space
        self._api = space.api
        self._clock = space.clock
        self._machine_named = machine_named
        self._machine: Machine | None = None
        self._is_lost = False  # its machine was not ready when it was looked at last
        self._forwards: list[PortForward] = []

    @property
    def path(self) -> str:
        return self._space.path("container", self.name)

    # -------------------------------------------------------------- commands

    def exec(
        self, argv: Sequence[str], *, timeout_s: float, **how: Unpack[How]
    ) -> Completed:
        doing = f"running {argv[0]} in {self.name}"
        clock = self._clock
        started = clock.monotonic()
        watch = how.get("watch", ())
        # The command runs under `timeout`: one that was given up here would run on in the pod.
        limited = script(__package__, "run", str(math.ceil(timeout_s)), *argv)
        frames = self._begin(doing, limited)
        environment = how.get("env") or {}
        remember_environment(environment)
        # The environment goes through standard input. A password among the words would be in the
        # request's address, and so in the API server's audit log.
        frames.send(_environment(environment))
        output = Output(frames)
        self._follow(doing, frames, output, started + timeout_s + _GRACE_S, how)
        took_s = clock.monotonic() - started
        # A command may itself end with 124 or 137: only the time tells.
        if took_s >= timeout_s and frames.exit_code in (*_ENDED_BY_TIMEOUT, None):
            raise RunError(
                f"{doing}: did not end within {timeout_s:g} s", evidence=output.tail()
            )
        if frames.exit_code != 0:
            commands.after_failure(watch, output, clock)
        if frames.exit_code is None:
            raise self._cut_off(doing, frames, output)
        out = "".join(output.out)
        err = "".join(output.err)
        return Completed(
            argv=tuple(argv),
            exit_code=frames.exit_code,
            out=out,
            err=err,
            duration_s=took_s,
        )

    def _follow(
        self, doing: str, frames: Frames, output: Output, deadline: Moment, how: How
    ) -> None:
        """Reads the output to its end, or to the deadline; raises as `commands.follow`."""
        watch = how.get("watch", ())

        def raise_if_lost() -> None:
            state = self.state()
            if state.is_lost:
                raise NodeError(f"{doing}: {self.name} is {state.words}")

        def look() -> None:
            self._space.beats.require()
            if watch:
                raise_if_lost()

        in_time = False
        try:
            in_time = commands.follow(
                output,
                how.get("on_line"),
                watch,
                deadline,
                self._clock,
                look,
                raise_if_lost,
            )
        finally:
            # The thread that reads it would otherwise wait for a command that nobody waits for.
            if not in_time:
                frames.cut()

    def conversation(
        self, argv: Sequence[str]
    ) -> AbstractContextManager[LineConversation]:
        doing = f"talking with {argv[0]} in {self.name}"
        return closing(LineConversation(self._begin(doing, argv), doing, self._clock))

    def pipe(
        self,
        doing: str,
        argv: Sequence[str],
        data: bytes = b"",
        out: IO[bytes] | None = None,
    ) -> None:
        """Runs a command with input and output. RunError if it fails, or stalls."""
        doing = f"{doing} {self.name}"
        frames = self._begin(doing, argv, _SILENCE_S)
        errors = b""
        try:
            frames.send(data)
            for piece, error_piece in frames:
                errors += error_piece or b""
                if out and piece:
                    out.write(piece)
        except (TierbenchError, OSError) as error:
            frames.cut()
            raise RunError(f"{doing}: {error}", evidence=_text(errors)) from error
        if frames.exit_code != 0:
            raise RunError(
                f"{doing}: {argv[0]} {_end_in_words(frames)}",
                advice="its image needs sh and GNU tar",
                evidence=_text(errors),
            )

    def _begin(
        self, doing: str, argv: Sequence[str], silence_s: float | None = None
    ) -> Frames:
        words = [("command", word) for word in argv]
        streams = [(stream, "true") for stream in ("stdin", "stdout", "stderr")]
        query = [("container", trouble.MAIN), *words, *streams]
        with cluster_errors(doing):
            try:
                return Frames(self._api.channel(f"{self.path}/exec", query), silence_s)
            except Refused as error:
                state = self.state()
                if state.is_running:
                    raise
                what = f"{doing}: it is not running ({state.words})"
                raise NodeError(what) from error

    def _cut_off(
        self, doing: str, frames: Frames, output: Output
    ) -> RunError | NodeError:
        state = self.state()
        if not state.is_running:
            what = f"{doing}: {self.name} is {state.words}"
            return NodeError(what, evidence=output.tail())
        why = f" {frames.message}".rstrip()
        return RunError(
            f"{doing}: the connection ended before the command did{why}",
            advice="check whether the API server, or a proxy before it, was restarted",
            evidence=output.tail(),
        )

    def add(self, spec: ContainerSpec) -> Guest:
        """Adds a container that is in its network. One at a time."""
        with cluster_errors(f"starting {spec.name}"):
            # Ephemeral containers are never removed from a pod: each has a name of its own.
            there = self._api.get(self.path)["spec"].get("ephemeralContainers") or []
            guest = Guest(f"guest-{len(there) + 1}", self.path, self._api)
            containers = [*there, manifests.guest(spec, guest.name)]
            change = {"spec": {"ephemeralContainers": containers}}
            self._api.change(f"{self.path}/ephemeralcontainers", change)
        return guest

    # -------------------------------------------------------------- files

    def put(self, source: Path, target: str) -> None:
        folder, content = archives.packed(source, target)
        argv = script(__package__, "unpack", folder, str(len(content)))
        self.pipe(f"putting {source} into", argv, content)

    def fetch(self, folder: str, target: Path) -> None:
        with archives.Arriving(target) as content:
            self.pipe(
                f"fetching {folder} from",
                script(__package__, "pack", folder),
                out=content,
            )
            archives.unpack(content, target)

    # -------------------------------------------------------------- stopping

    def stop(self, timeout_s: float) -> None:
        def stopped() -> bool:
            return not self.state().is_running

        with cluster_errors(f"stopping {self.name}"):
            # A deadline that has passed ends a pod as its removal does, but it stays with its logs.
            if timeout_s > 0 and not stopped():
                self._api.change(self.path, {"spec": {"activeDeadlineSeconds": 1}})
            if wait_until(
                stopped, deadline_s=timeout_s, clock=self._clock, every_s=0.1
            ):
                return
            # The connection breaks when the command kills what it runs in.
            with suppress(TierbenchError):
                self.pipe("killing all in", script(__package__, "kill"))
            if not wait_until(
                stopped, deadline_s=_KILLED_S, clock=self._clock, every_s=0.1
            ):
                raise RunError(
                    f"{self.name} still runs {_KILLED_S:g} s after it was killed"
                )

    def remove(self, timeout_s: float) -> None:
        try:
            self.state()  # notes whether its machine is lost
        finally:
            self.forget()
            # A grace of 0 only forgets the pod: its containers would still be ending. Nobody would
            # ever say that they have if the machine is lost.
            if self._is_lost:
                self.clear(0.0)
            else:
                self.clear(max(1.0, timeout_s))

    def clear(self, grace_s: float) -> None:
        """Removes the pod of this name and its secret, if they are there."""
        self._space.remove("container", self.name, grace_s)
        self._space.remove("secret", self.name)

    def forget(self) -> None:
        """The pod goes, or is gone: nothing that was known of it holds any more."""
        self._machine = None
        for forward in self._forwards:
            forward.close()
        self._forwards = []

    # -------------------------------------------------------------- looking

    def describe(self, spec: ContainerSpec, pod: Thing) -> None:
        """Notes what is known now, and forwards its ports. NodeError if it has ended."""
        state = self.state()
        if not state.is_running:
            what = f"{self.name} stopped as soon as it was started: {state.words}"
            raise NodeError(what, evidence=self.logs(tail=30))
        for port, local in spec.ports.items():
            forward = PortForward(self._api, self.path, port, local, spec.address or "")
            self._forwards.append(forward)
        forwarded = zip(spec.ports, self._forwards, strict=True)
        self.ports = {port: forward.local_port for port, forward in forwarded}
        # The id stands after the runtime's name: `containerd://…`.
        self.id = trouble.status_of(pod).get("containerID", "").rpartition("//")[2]
        # A pod without a name in its network has the address that it got.
        self.address = spec.address or pod["status"].get("podIP")

    def _look(self) -> Thing | None:
        return self._space.find("container", self.name)

    def state(self) -> ContainerState:
        pod = self._look()
        lost: ContainerState | None = None
        if pod and trouble.may_be_lost(pod):
            lost = self._space.lost_with_machine(pod)
        self._is_lost = lost is not None
        return lost or trouble.state_of(pod)

    def exit_code(self) -> int | None:
        state = self.state()
        if state.is_running:
            return None
        end = trouble.main_state(self._look() or {}).get("terminated")
        if end is None:
            raise NodeError(f"{self.name} is {state.words}")
        return int(end["exitCode"])

    def find_image(self) -> str:
        pod = self._look()
        if pod:
            return str(trouble.status_of(pod).get("imageID") or "")
        return ""

    def find_machine(self) -> Machine:
        """A pod never moves, so the cluster is asked once."""
        if self._machine is None:
            pod = self._look() or {}
            name = pod.get("spec", {}).get("nodeName")
            if name:
                self._machine = self._machine_named(str(name))
        if self._machine is None:
            raise RunError(f"{self.name}: it is not known which machine runs it")
        return self._machine

    def logs(self, tail: int | None = None) -> str:
        # The machine of a lost pod would be waited for.
        if self._is_lost:
            return ""
        return log_of(self._api, self.path, trouble.MAIN, tail)


def _environment(env: Mapping[str, str]) -> bytes:
    """One line for each variable, and an empty one. Line breaks in a value are escaped, as run.sh
    undoes."""
    lines: list[str] = []
    for name, value in env.items():
        in_a_line = value.replace("\\", "\\\\").replace("\n", "\\n")
        lines.append(f"{name}={in_a_line}\n")
    return "".join([*lines, "\n"]).encode()


def _text(errors: bytes) -> str:
    return errors.decode(errors="replace")[-2000:]


def _end_in_words(frames: Frames) -> str:
    """How a command ended that did not succeed."""
    if frames.exit_code is None:
        return f"was not run, or was cut off: {frames.message}"
    return f"failed (exit {frames.exit_code})"
