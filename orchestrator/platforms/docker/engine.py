"""The Docker platform, through docker-py, which only this folder imports.

Everything made here carries the labels `tierbench=1` and its campaign's, so that `sweep` can remove
the leftovers of a killed program. Errors of docker-py and the engine become ours (`errors`).
Idempotent calls are repeated if the engine does not answer (`patience`).
"""

from __future__ import annotations

import atexit
import contextlib
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException, NotFound

from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.findings import Finding
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.platforms.common.taking_down import taken_down
from orchestrator.platforms.docker import carrying, connecting, devices, ulimits
from orchestrator.platforms.docker.carrying import Carrier
from orchestrator.platforms.docker.commands import Commands
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.guard import Guard
from orchestrator.platforms.docker.images import Images
from orchestrator.platforms.docker.labels import MARK, ROLE, STANDING
from orchestrator.platforms.docker.networks import Networks
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import (
    HOST_NETWORK,
    Clock,
    Completed,
    Container,
    ContainerSpec,
    Conversation,
    Machine,
    MachineFacts,
)

_ROOT = Path(__file__).resolve().parents[3]  # the project folder, with the images'
_FOLDER = Path("/var/lib/tierbench")  # of machines that are not this computer
_AGENT = "tierbench-agent"


class DockerPlatform(Commands, Images, Networks):
    """The `Platform` protocol on a Docker engine. UnavailableError if none answers.

    `engine`: a context or an address, None for the environment's; `campaign` is on everything that
    it makes; `guard` keeps a second campaign out.
    """

    name = "docker"

    def __init__(self, clock: Clock, engine: str | None = None, campaign: str = "") -> None:
        self._clock = clock
        self._machine: Machine | None = None
        self.campaign = campaign or secrets.token_hex(3)
        self._rights = devices.Rights()
        connected = connecting.connect(engine)
        self._client, self.reach, self._host = connected.client, connected.reach, connected.host
        self._carrier = Carrier(self._client)
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
        which = {"Name": info.get("Name"), "Host": self._host, "ID": info.get("ID")}
        return {**which, **{key: info.get(key) for key in keys}}

    def examine(self) -> tuple[Finding, ...]:
        """Returns what the engine is; makes nothing."""
        facts = self.facts()
        groups = facts["CgroupVersion"] or " unknown"  # engines before 20.10 do not say it
        version = f"version {facts['ServerVersion']}, control groups v{groups}"
        return (Finding("Docker engine", True, version),)

    def _info(self) -> dict[str, Any]:
        with engine_errors("asking the engine for its version"):
            return dict(patiently(self._client.info, self._clock))

    def machines(self) -> tuple[Machine, ...]:
        """Returns this computer if the engine is reached here, and reports this kernel and memory,
        to the byte; else a machine that is read by the agent on it. Readers of a container also
        check that its process is here, in case of a machine alike."""
        if self._machine is None:
            here, info = LocalMachine(), self._info()
            facts = MachineFacts(
                hostname=str(info.get("Name", "")),
                kernel=str(info.get("KernelVersion", "")),
                system=str(info.get("OperatingSystem", "")),
                cpus=int(info.get("NCPU", 0)) or 1,
                cpu_model="",
                memory_bytes=int(info.get("MemTotal", 0)),
            )
            own = here.facts()
            same = (own.kernel, own.memory_bytes) == (facts.kernel, facts.memory_bytes)
            self._machine = here if same and self.reach.is_local else self._read_by_agent(facts)
        return (self._machine,)

    def _read_by_agent(self, facts: MachineFacts) -> AgentMachine:
        def talking() -> AbstractContextManager[Conversation]:
            image = own_images.need(_ROOT, agent.IMAGE, self)
            return agent.conversation(self, agent.container(f"{_AGENT}-{self.campaign}", image))

        machine = AgentMachine(self._machine_name(facts), talking, self._clock, facts)
        atexit.register(machine.close)  # a command that is no campaign does not sweep
        return machine

    def _machine_name(self, facts: MachineFacts) -> str:
        return facts.hostname

    def machine_of(self, container: str) -> Machine:
        return self.machines()[0]

    def _is_here(self) -> bool:
        return isinstance(self.machines()[0], LocalMachine)

    def folder(self, cache: Path) -> Path:
        return cache if self._is_here() else _FOLDER

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        if isinstance(self._machine, AgentMachine) and not only_list:
            self._machine.close()
        return super().sweep(only_list)

    # -------------------------------------------------------------- containers

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        container = self._made(spec)
        with taken_down(lambda: self._brought_down(spec)):
            with engine_errors(f"starting {spec.name}"):
                container = self._started(spec, container)
                patiently(container.reload, self._clock)
            yield self._describe(spec, container)

    def _brought_down(self, spec: ContainerSpec) -> None:
        if any(carrying.is_carried(mount) for mount in spec.mounts) and not self._is_here():
            with contextlib.suppress(TierbenchError, OSError):  # it may be dead
                self._carrier.take(spec.name)
        self._carrier.forget(spec.name)
        self.remove(spec.name, spec.stop_timeout_s)

    def stand(self, spec: ContainerSpec) -> Container:
        container = self._made(spec)
        try:
            with engine_errors(f"starting {spec.name}"):
                container = self._started(spec, container)
                patiently(container.reload, self._clock)
            return self._describe(spec, container)
        except BaseException:
            with contextlib.suppress(TierbenchError):
                self.remove(spec.name, spec.stop_timeout_s)
            raise

    def _made(self, spec: ContainerSpec) -> Any:
        """Creates the container, after removing a leftover of the same name."""
        with engine_errors(f"starting {spec.name}"):
            leftover = self._make_room("container", spec.name, self._client.containers.get)
            if leftover is not None:
                self._remove(spec.name, leftover.id)
            return self._create(spec)

    def _started(self, spec: ContainerSpec, container: Any) -> Any:
        """Starts the container, or another one without what the engine refuses to give it."""
        try:
            return self._rights.started(container, lambda: self._create(spec))
        except APIError as error:
            if not (spec.ulimits and ulimits.refused(error)):
                raise
        self._remove(spec.name, container.id)
        bare = replace(spec, ulimits={})
        return self._started(bare, self._create(bare))

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        started = self._clock.monotonic()
        container = self._made(spec)
        with (
            taken_down(lambda: self._remove(spec.name, container.id)),
            engine_errors(f"running {spec.name}"),
        ):
            container = self._started(spec, container)
            exit_code = self._exit_code_of(spec, container, started + timeout_s, timeout_s)
            out = bytes(patiently(container.logs, self._clock)).decode(errors="replace")
        return Completed(spec.command, exit_code, out, "", self._clock.monotonic() - started)

    def _exit_code_of(self, spec: ContainerSpec, container: Any, end: float, limit_s: float) -> int:
        """Waits for the container's end. RunError past the instant `end`, which docker-py reports
        with the same exception as a dead engine."""

        def ended() -> int | None:
            left_s = end - self._clock.monotonic()
            try:
                return int(container.wait(timeout=max(0.1, left_s))["StatusCode"])
            except (DockerException, OSError) as error:
                if isinstance(error, APIError) or self._clock.monotonic() < end:
                    raise
                return None

        exit_code = patiently(ended, self._clock)
        if exit_code is None:
            raise RunError(
                f"{spec.name} did not end within {limit_s:g} s",
                advice="is the disk under the cache, or the tier's path, very busy?",
                evidence=self.logs(container.id, tail=20),
            )
        return exit_code

    def _create(self, spec: ContainerSpec) -> Any:
        carries = any(map(carrying.is_carried, spec.mounts)) and not self._is_here()
        at = self.reach.address
        host: dict[str, Any] = {
            "binds": [
                carrying.bind(mount)
                for mount in spec.mounts
                if not (carries and carrying.is_carried(mount))
            ],
            "port_bindings": {port: (at, local) for port, local in spec.ports.items()},
            "init": spec.init,
            "cpu_period": 100_000 if spec.cpus else None,
            "cpu_quota": round(spec.cpus * 100_000) if spec.cpus else None,
            "cpu_shares": spec.cpu_shares,
            "mem_limit": spec.memory_bytes,
            "memswap_limit": spec.memory_bytes,
            "shm_size": spec.shared_memory_bytes,
            "ulimits": ulimits.options(spec.ulimits),
        }
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
        created = api.create_container(
            image=spec.image,
            command=list(spec.command) or None,
            entrypoint=list(spec.entrypoint) if spec.entrypoint else None,
            name=spec.name,
            hostname=spec.name,
            environment=dict(spec.environment),
            labels={
                **self._labels(),
                ROLE: spec.role,
                **({STANDING: spec.note} if spec.note else {}),
            },
            ports=list(spec.ports),
            volumes=self._carrier.volumes(spec) if carries else None,
            host_config=api.create_host_config(**host),
            networking_config=networking,
        )
        if carries:
            try:
                self._carrier.put_first(spec, created["Id"])
            except BaseException:
                self._remove(spec.name, created["Id"])
                raise
        return patiently(lambda: self._client.containers.get(created["Id"]), self._clock)

    def _describe(self, spec: ContainerSpec, container: Any) -> Container:
        state = container.attrs["State"]
        if not state.get("Running"):
            raise NodeError(
                f"{spec.name} stopped as soon as it was started (exit {state.get('ExitCode')})",
                evidence=self.logs(spec.name, tail=30),
            )
        if spec.io_caps:
            machine = self.machine_of(spec.name)
            devices.read_back(spec.io_caps, int(state["Pid"]), spec.name, machine)
        bindings = container.attrs["NetworkSettings"]["Ports"] or {}
        ports = {
            int(key.split("/")[0]): int(value[0]["HostPort"])
            for key, value in bindings.items()
            if value
        }
        process = int(state["Pid"])
        limits = ulimits.in_force(spec.ulimits, process, self.machine_of(spec.name))
        at = self.reach.address
        return Container(spec.name, container.id, process, spec.address, ports, limits, at)

    def stop(self, container: str, timeout_s: float) -> None:
        def stop() -> None:
            self._client.containers.get(container).stop(timeout=round(timeout_s))

        with engine_errors(f"stopping {container}"), contextlib.suppress(NotFound):
            patiently(stop, self._clock)

    def running_as(self, role: str) -> tuple[str, ...]:
        filters: dict[str, Any] = {"label": [MARK, f"{ROLE}={role}"]}
        with engine_errors("looking for containers of ours"):
            containers = patiently(
                lambda: self._client.containers.list(filters=filters, ignore_removed=True),
                self._clock,
            )
        return tuple(str(container.name) for container in containers)

    def state(self, container: str) -> str:
        with engine_errors(f"looking at {container}"):
            try:
                attrs = patiently(lambda: self._client.containers.get(container).attrs, self._clock)
            except NotFound:
                return "gone"
        state = attrs["State"]
        if state.get("Running"):
            return "running"
        reason = ", out of memory" if state.get("OOMKilled") else ""
        return f"{state.get('Status', 'unknown')} (exit {state.get('ExitCode')}{reason})"

    def image_of(self, container: str) -> str:
        with engine_errors(f"looking at {container}"):
            try:
                attrs = patiently(lambda: self._client.containers.get(container).attrs, self._clock)
            except NotFound:
                return ""
        return str(attrs.get("Image") or "")

    def logs(self, container: str, tail: int | None = None) -> str:
        def read() -> Any:
            return self._client.containers.get(container).logs(tail=tail or "all")

        with engine_errors(f"reading the log of {container}"):
            try:
                raw = patiently(read, self._clock)
            except NotFound:
                return ""
        return bytes(raw).decode(errors="replace")
