"""Docker, through docker-py: the only module that imports it.

Everything made here carries the label `tierbench=1` and its campaign's, so that `sweep` can remove
what a killed program left behind. docker-py's and the engine's errors stop here and become ours.
Calls that may be made twice are repeated where the engine does not answer (`patience`).
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from docker.errors import APIError, DockerException, NotFound

import docker
from orchestrator.errors import NodeError, RunError
from orchestrator.platforms.common.machines import FarMachine, LocalMachine
from orchestrator.platforms.docker import devices
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.guard import Guard
from orchestrator.platforms.docker.images import Images
from orchestrator.platforms.docker.labels import MARK, ROLE
from orchestrator.platforms.docker.leftovers import taken_down
from orchestrator.platforms.docker.networks import Networks
from orchestrator.platforms.docker.output import Output
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import (
    HOST_NETWORK,
    Clock,
    Completed,
    Container,
    ContainerSpec,
    Machine,
    MachineFacts,
)


class DockerPlatform(Images, Networks):
    """The `Platform` protocol on a Docker engine. UnavailableError where none answers.

    `campaign` is on everything that it makes; `guard` is what keeps a second campaign out.
    """

    name = "docker"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._machine: Machine | None = None
        self.campaign = secrets.token_hex(3)
        self._rights = devices.Rights()
        with engine_errors("connecting"):
            self._client = docker.from_env(timeout=120)
            self._client.ping()
        self.guard = Guard(self._client, clock, self.campaign)

    def answers(self) -> bool:
        try:
            return bool(self._client.ping())
        except (DockerException, OSError):
            return False

    def alone(self) -> AbstractContextManager[None]:
        return self.guard.held()

    def other_campaign(self) -> str | None:
        return self.guard.other()

    def facts(self) -> dict[str, Any]:
        info = self._info()
        keys = ("ServerVersion", "Driver", "CgroupVersion", "KernelVersion", "OperatingSystem")
        return {key: info.get(key) for key in keys}

    def _info(self) -> dict[str, Any]:
        with engine_errors("asking the engine for its version"):
            return dict(patiently(self._client.info, self._clock))

    def machines(self) -> tuple[Machine, ...]:
        """This computer where the engine names the same kernel and memory, to the byte. Readers of
        a container also see that its process is here, so two that are alike do no harm."""
        if self._machine is None:
            here, info = LocalMachine(), self._info()
            said = MachineFacts(
                hostname=str(info.get("Name", "")),
                kernel=str(info.get("KernelVersion", "")),
                system=str(info.get("OperatingSystem", "")),
                cpus=int(info.get("NCPU", 0)) or 1,
                cpu_model="",
                memory_bytes=int(info.get("MemTotal", 0)),
            )
            own = here.facts()
            same = (own.kernel, own.memory_bytes) == (said.kernel, said.memory_bytes)
            self._machine = here if same else FarMachine(said)
        return (self._machine,)

    def machine_of(self, container: str) -> Machine:
        return self.machines()[0]

    # -------------------------------------------------------------- containers

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        made = self._made(spec)
        with taken_down(lambda: self._take_down(spec, made)):
            with engine_errors(f"starting {spec.name}"):
                made = self._rights.started(made, lambda: self._create(spec))
                patiently(made.reload, self._clock)
            yield self._describe(spec, made)

    def _made(self, spec: ContainerSpec) -> Any:
        with engine_errors(f"starting {spec.name}"):
            left = self._make_room("container", spec.name, self._client.containers.get)
            if left is not None:
                self._remove(spec.name, left.id)
            return self._create(spec)

    def _take_down(self, spec: ContainerSpec, made: Any) -> None:
        with contextlib.suppress(DockerException, OSError):
            made.stop(timeout=spec.stop_timeout_s)
        self._remove(spec.name, made.id)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        started = self._clock.monotonic()
        made = self._made(spec)
        with (
            taken_down(lambda: self._remove(spec.name, made.id)),
            engine_errors(f"running {spec.name}"),
        ):
            made = self._rights.started(made, lambda: self._create(spec))
            exit_code = self._end_of(spec, made, started + timeout_s, timeout_s)
            raw = patiently(made.logs, self._clock)
        took_s = self._clock.monotonic() - started
        out = bytes(raw).decode(errors="replace")
        return Completed(spec.command, exit_code, out, "", took_s)

    def _end_of(self, spec: ContainerSpec, made: Any, end: float, timeout_s: float) -> int:
        """The exit code. RunError past `end`: docker-py reports that as it does a dead engine."""

        def ended() -> int | None:
            left_s = end - self._clock.monotonic()
            try:
                return int(made.wait(timeout=max(0.1, left_s))["StatusCode"])
            except (DockerException, OSError) as error:
                if isinstance(error, APIError) or self._clock.monotonic() < end:
                    raise
                return None

        exit_code = patiently(ended, self._clock)
        if exit_code is None:
            raise RunError(
                f"{spec.name} did not end within {timeout_s:g} s",
                advice="is the disk under the cache, or the tier's path, very busy?",
                evidence=self.logs(made.id, tail=20),
            )
        return exit_code

    def _create(self, spec: ContainerSpec) -> Any:
        host: dict[str, Any] = {
            "binds": [
                f"{mount.source}:{mount.target}:{'ro' if mount.read_only else 'rw'}"
                for mount in spec.mounts
            ],
            "port_bindings": {port: ("127.0.0.1", local) for port, local in spec.ports.items()},
            "init": spec.init,
        }
        if spec.cpus:
            host["cpu_period"] = 100_000
            host["cpu_quota"] = round(spec.cpus * 100_000)
        if spec.cpu_shares:
            host["cpu_shares"] = spec.cpu_shares
        if spec.memory_bytes:
            host["mem_limit"] = spec.memory_bytes
            host["memswap_limit"] = spec.memory_bytes
        if spec.shared_memory_bytes:
            host["shm_size"] = spec.shared_memory_bytes
        if spec.host_devices:
            self._rights.add_to(host)
        host.update(devices.limits(spec.io_caps))
        api = self._client.api
        networking: Any = None
        if spec.network == HOST_NETWORK:
            host["network_mode"] = HOST_NETWORK
        elif spec.network:
            endpoint = api.create_endpoint_config(ipv4_address=spec.address, aliases=[spec.name])
            networks: Any = {spec.network: endpoint}
            networking = api.create_networking_config(networks)
        made = api.create_container(
            image=spec.image,
            command=list(spec.command) or None,
            entrypoint=list(spec.entrypoint) if spec.entrypoint else None,
            name=spec.name,
            hostname=spec.name,
            environment=dict(spec.environment),
            labels={**self._labels(), ROLE: spec.role},
            ports=list(spec.ports),
            host_config=api.create_host_config(**host),
            networking_config=networking,
        )
        return patiently(lambda: self._client.containers.get(made["Id"]), self._clock)

    def _describe(self, spec: ContainerSpec, made: Any) -> Container:
        state = made.attrs["State"]
        if not state.get("Running"):
            raise NodeError(
                f"{spec.name} stopped as soon as it was started (exit {state.get('ExitCode')})",
                evidence=self.logs(spec.name, tail=30),
            )
        if spec.io_caps:
            machine = self.machine_of(spec.name)
            devices.read_back(spec.io_caps, int(state["Pid"]), spec.name, machine)
        bound = made.attrs["NetworkSettings"]["Ports"] or {}
        ports = {
            int(key.split("/")[0]): int(value[0]["HostPort"])
            for key, value in bound.items()
            if value
        }
        return Container(
            name=spec.name,
            id=made.id,
            process_id=int(state["Pid"]),
            address=spec.address,
            ports=ports,
        )

    def stop(self, container: str, timeout_s: float) -> None:
        def stop() -> None:
            self._client.containers.get(container).stop(timeout=round(timeout_s))

        with engine_errors(f"stopping {container}"), contextlib.suppress(NotFound):
            patiently(stop, self._clock)

    def running_as(self, role: str) -> tuple[str, ...]:
        labels = [MARK, f"{ROLE}={role}"]
        with engine_errors("looking for containers of ours"):
            found = patiently(
                lambda: self._client.containers.list(
                    filters={"label": labels}, ignore_removed=True
                ),
                self._clock,
            )
        return tuple(str(made.name) for made in found)

    def state(self, container: str) -> str:
        with engine_errors(f"looking at {container}"):
            try:
                found = patiently(lambda: self._client.containers.get(container), self._clock)
            except NotFound:
                return "gone"
        state = found.attrs["State"]
        if state.get("Running"):
            return "running"
        reason = ", out of memory" if state.get("OOMKilled") else ""
        return f"{state.get('Status', 'unknown')} (exit {state.get('ExitCode')}{reason})"

    def logs(self, container: str, tail: int | None = None) -> str:
        def read() -> Any:
            return self._client.containers.get(container).logs(tail=tail or "all")

        with engine_errors(f"reading the log of {container}"):
            try:
                raw = patiently(read, self._clock)
            except NotFound:
                return ""
        return bytes(raw).decode(errors="replace")

    # -------------------------------------------------------------- exec

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
        started = self._clock.monotonic()
        with engine_errors(doing):
            made = self._client.api.exec_create(
                container, list(argv), environment=dict(env or {}), user=user
            )
            output = Output(self._client.api.exec_start(made["Id"], socket=True))
        deadline = started + timeout_s
        next_look = started + 1.0
        while output.follow(on_line or _ignore):
            now = self._clock.monotonic()
            if now >= deadline:
                raise RunError(
                    f"{doing}: did not end within {timeout_s:g} s", evidence=output.tail()
                )
            if now >= next_look:
                self._raise_if_dead(watch, output)
                next_look = now + 1.0
        with engine_errors(doing):
            exit_code = self._exit_code(made["Id"])
        if exit_code != 0 and watch:
            # A generator that lost its database often ends before the engine notices the death.
            self._clock.sleep(0.5)
            self._raise_if_dead(watch, output)
        return Completed(
            argv=tuple(argv),
            exit_code=-1 if exit_code is None else exit_code,
            out="".join(output.out),
            err="".join(output.err),
            duration_s=self._clock.monotonic() - started,
        )

    def _exit_code(self, made: str) -> int | None:
        answer = patiently(lambda: self._client.api.exec_inspect(made), self._clock)
        code = answer["ExitCode"]
        return None if code is None else int(code)

    def _raise_if_dead(self, watch: Sequence[str], output: Output) -> None:
        for name in watch:
            state = self.state(name)
            if state != "running":
                raise NodeError(
                    f"{name} died in the middle of the run: {state}",
                    advice="look at its log among the raw files of the run",
                    evidence=self.logs(name, tail=20) + "\n" + output.tail(),
                )


def _ignore(_line: str) -> None:
    pass
