"""The Docker platform, through docker-py, which only this folder imports. Idempotent calls are
repeated if the engine does not answer."""

import atexit
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from docker.errors import APIError
from docker.types import Mount, Ulimit

from orchestrator import errors, powers
from orchestrator.platforms.common import (
    agent,
    architectures,
    archives,
    commands,
    shared_network,
)
from orchestrator.platforms.common.lifecycle import passed_on, rent_s, taken_down
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker import campaigns, images, limits
from orchestrator.platforms.docker.campaigns import Leftovers, labels_of
from orchestrator.platforms.docker.connection import MARK, ROLE, STANDING, Engine
from orchestrator.platforms.docker.containers import DockerContainer
from orchestrator.platforms.docker.guard import VolumeGuard
from orchestrator.platforms.docker.networks import Networks
from orchestrator.powers import Finding
from orchestrator.system.redaction import remember_environment

_CPU_PERIOD_US = 100_000  # the period of a quota of CPU
# The folder on machines that are not this computer.
_FOLDER = Path("/var/lib/tierbench")
THIS_COMPUTER = "this computer"


class DockerPlatform:
    """The `Platform` protocol on a Docker engine; UnavailableError if none answers. `address`: None
    for the environment's. `known_as`: its name among several."""

    name = "docker"
    campaign: str = passed_on("_engine", "campaign")

    def __init__(
        self,
        clock: powers.Clock,
        address: str | None = None,
        campaign: str = "",
        known_as: str = "",
        engine: type[Engine] = Engine,
    ) -> None:
        self.known_as = known_as
        self._clock = clock
        self._rights = limits.Rights()
        campaign = campaign or secrets.token_hex(3)
        self._engine = engine(clock, address, campaign, known_as)
        self._client = self._engine.client
        self.reach = self._engine.reach
        self.answers = self._engine.answering.answers
        self.certificates = self._engine.certificates
        self._signs = campaigns.SignsOfLife(self._engine, rent_s())
        self.guard = VolumeGuard(self._engine, self._signs.sign)
        self._leftovers = Leftovers(self._engine, self.guard)
        networks = Networks(self._engine, self.guard, self._leftovers)
        self.network = networks.network
        self.volume = networks.volume
        info = self._info()
        architecture = architectures.named(info.get("Architecture"))
        self.images = images.DockerImages(self._engine, architecture)
        self._machine = self._machine_of(info)

    @property
    def abilities(self) -> powers.PlatformAbilities:
        return powers.PlatformAbilities(
            open_to=self.open_to,
            certificates=self.certificates,
            examine=self.examine,
            shared_network=shared_network.SHARED,
        )

    def facts(self) -> dict[str, Any]:
        info = self._info()
        keys = (
            "ServerVersion",
            "Driver",
            "CgroupVersion",
            "KernelVersion",
            "OperatingSystem",
        )
        which = {
            "Name": info.get("Name"),
            "Host": self._engine.host,
            "ID": info.get("ID"),
        }
        for key in keys:
            which[key] = info.get(key)
        return which

    def examine(self) -> tuple[Finding, ...]:
        """Returns what the engine is; makes nothing."""
        facts = self.facts()
        # Engines before 20.10 do not say it.
        groups = facts["CgroupVersion"] or " unknown"
        version = f"version {facts['ServerVersion']}, control groups v{groups}"
        return (Finding.fine("Docker engine", version),)

    def _info(self) -> dict[str, Any]:
        return dict(
            self._engine.asked("asking the engine for its version", self._client.info)
        )

    def machines(self) -> tuple[powers.Machine, ...]:
        return (self._machine,)

    def machines_of_nodes(self) -> tuple[powers.Machine, ...]:
        return self.machines()

    def _machine_of(self, info: dict[str, Any]) -> powers.Machine:
        """This computer if the engine is here, else one that is read by an agent."""
        # A socket of this computer may lead to a virtual machine (Docker Desktop), whose /proc is
        # another: kernel and memory, to the byte, tell. Readers also look for the process itself.
        here = LocalMachine()
        facts = _facts_in(info)
        facts_here = here.facts()
        same_kernel = facts_here.kernel == facts.kernel
        same_memory = facts_here.memory_bytes == facts.memory_bytes
        if same_kernel and same_memory and self.reach.is_local:
            return here

        def talking() -> AbstractContextManager[powers.Conversation]:
            return agent.conversation(self, f"tierbench-agent-{self.campaign}")

        # Machines made of one image may all have the same host name.
        name = self.known_as
        if name in ("", THIS_COMPUTER):
            name = facts.hostname
        machine = agent.AgentMachine(name, talking, self._clock, facts)
        atexit.register(machine.close)  # a command that is no campaign does not sweep
        return machine

    def open_to(self) -> str:
        if self.reach.is_local:
            return ""
        return self.reach.address

    def folder(self, cache: Path) -> Path:
        if self._machine.is_here:
            return cache
        return _FOLDER

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        # The sweep removes the agent's container: who
        # still talked with it would wait for an answer.
        if isinstance(self._machine, agent.AgentMachine) and not only_list:
            self._machine.close()
        return self._leftovers.sweep(only_list)

    # -------------------------------------------------------------- containers

    def container(self, name: str) -> DockerContainer:
        return DockerContainer(name, self._engine, self._leftovers, self._machine)

    def find_containers(self, role: str = "") -> tuple[powers.ContainerEntry, ...]:
        labels = [MARK]
        if role:
            labels.append(f"{ROLE}={role}")
        filters: dict[str, Any] = {"label": labels}
        containers = self._engine.asked(
            "looking for containers of ours",
            lambda: self._client.containers.list(
                # docker-py looks at each container that it
                # was told of, and one may be gone by then.
                all=True,
                filters=filters,
                ignore_removed=True,
            ),
        )
        entries = [_entry(container) for container in containers]
        return tuple(sorted(entries, key=attrgetter("name")))

    @contextmanager
    def running(self, spec: powers.ContainerSpec) -> Iterator[DockerContainer]:
        container = self._new(spec)
        with taken_down(partial(self.container(spec.name).remove, spec.stop_timeout_s)):
            up = self._up(spec, container)
            with self._rented(spec):
                yield up

    def _rented(self, spec: powers.ContainerSpec) -> AbstractContextManager[None]:
        """Databases and disks end when this program is silent for long: it may have been killed,
        and their ports would stay open."""
        # Nobody gives signs of life without a guard, and the container would end in mid-
        # work.
        if spec.role in campaigns.RENTED and self.guard.beats.are_given:
            return self._signs.paid(spec.name)
        return nullcontext()

    def stand(self, spec: powers.ContainerSpec) -> DockerContainer:
        container = self._new(spec)
        with taken_down(
            partial(self.container(spec.name).remove, spec.stop_timeout_s), stays=True
        ):
            return self._up(spec, container)

    def _new(self, spec: powers.ContainerSpec) -> Any:
        with self._engine.errors(f"starting {spec.name}"):
            # A campaign that was killed may have left a container of this name.
            self._leftovers.make_room(
                "container", spec.name, self._client.containers.get
            )
            return self._create(spec)

    def _up(self, spec: powers.ContainerSpec, container: Any) -> DockerContainer:
        with self._engine.errors(f"starting {spec.name}"):
            container = self._started(spec, container)
            self._engine.patiently(container.reload)
        return self._describe(spec, container)

    def _started(self, spec: powers.ContainerSpec, container: Any) -> Any:
        """Starts the container, or another one without what the engine refuses to give it."""
        try:
            container.start()
            return container
        except APIError as error:
            less = self._rights.refused(spec, container, error)
        # Rights and limits of a container cannot be changed: it is made again.
        self._leftovers.remove_container(spec.name, container.id)
        return self._started(less, self._create(less))

    def once(self, spec: powers.ContainerSpec, timeout_s: float) -> powers.Completed:
        started_s = self._clock.monotonic()
        container = self.container(spec.name)
        created = self._new(spec)
        with taken_down(lambda: self._leftovers.remove_container(spec.name, spec.name)):
            with self._engine.errors(f"running {spec.name}"):
                self._started(spec, created)
            return commands.to_its_end(
                container, spec.command, started_s, timeout_s, self._clock
            )

    def _create(self, spec: powers.ContainerSpec) -> Any:
        api = self._client.api
        # Passwords in the environment are taken out of all that is shown or stored.
        remember_environment(spec.environment)
        # An engine refuses a host name to a container that joins another's network.
        hostname = None
        if not _joins_another(spec):
            hostname = spec.name
        labels = {**self._engine.labels, ROLE: spec.role}
        if spec.note:
            labels[STANDING] = spec.note
        host_config = api.create_host_config(**self._host_options(spec))
        created = api.create_container(
            image=spec.image,
            command=list(spec.command) or None,
            entrypoint=list(spec.entrypoint or ()) or None,
            name=spec.name,
            hostname=hostname,
            environment=dict(spec.environment),
            labels=labels,
            ports=list(spec.ports),
            # Volumes of their own: the container's file system may be read-only.
            volumes=list(spec.folders),
            host_config=host_config,
            networking_config=self._networking(spec),
        )
        container_id = created["Id"]
        remove = self._leftovers.remove_container
        with taken_down(lambda: remove(spec.name, container_id), stays=True):
            for folder, files in spec.folders.items():
                if files:
                    # Files are put before it starts: its program reads them at once.
                    api.put_archive(container_id, folder, archives.written(files))
        return self._engine.patiently(lambda: self._client.containers.get(container_id))

    def _networking(self, spec: powers.ContainerSpec) -> Any:
        """The network of ours that a container is in, as docker-py has it; None without one."""
        if not spec.network or _joins_others(spec):
            return None
        api = self._client.api
        endpoint = api.create_endpoint_config(
            ipv4_address=spec.address, aliases=[spec.name]
        )
        networks: Any = {spec.network: endpoint}
        return api.create_networking_config(networks)

    def _host_options(self, spec: powers.ContainerSpec) -> dict[str, Any]:
        """What docker-py has as the configuration of the host for a container."""
        binds: list[str] = []
        mounts: list[Any] = []
        for mount in spec.mounts:
            if mount.alone:
                mounts.append(_alone(mount))
            else:
                binds.append(_bind(mount))
        # Ports are open where the engine is reached, and at no other address of its machine.
        port_bindings: dict[int, Any] = {}
        for port, local_port in spec.ports.items():
            port_bindings[port] = (self.reach.address, local_port)
        ulimits: list[Ulimit] = []
        for name, most in spec.ulimits.items():
            ulimits.append(Ulimit(name=name, soft=most, hard=most))
        options: dict[str, Any] = {
            "binds": binds,
            "mounts": mounts,
            "port_bindings": port_bindings,
            "init": spec.init,
            "log_config": limits.log(),
            "cpu_period": None,
            "cpu_quota": None,
            "cpu_shares": spec.cpu_shares,
            "mem_limit": spec.memory_bytes,
            # The sum with swap is the same, so there is none. A node that swapped would measure
            # that disk.
            "memswap_limit": spec.memory_bytes,
            "shm_size": spec.shared_memory_bytes,
            "ulimits": ulimits,
        }
        if spec.cpus:
            options["cpu_period"] = _CPU_PERIOD_US
            options["cpu_quota"] = round(spec.cpus * _CPU_PERIOD_US)
        if spec.host_devices:
            self._rights.add_to(options)
        options |= limits.named(spec)
        if _joins_others(spec):
            options["network_mode"] = spec.network
        return options

    def _describe(self, spec: powers.ContainerSpec, container: Any) -> DockerContainer:
        state = container.attrs["State"]
        handle = self.container(spec.name)
        if not state.get("Running"):
            what = f"{spec.name} stopped as soon as it was started (exit {state.get('ExitCode')})"
            raise errors.NodeError(what, evidence=handle.logs(tail=30))
        process = int(state["Pid"])
        return replace(
            handle,
            id=container.id,
            process_id=process,
            address=spec.address,
            ports=_published(container.attrs["NetworkSettings"]["Ports"] or {}),
            ulimits=limits.ulimits_in_force(spec.ulimits, process, self._machine),
            host=self.reach.address,
        )


def _facts_in(info: dict[str, Any]) -> powers.MachineFacts:
    """The engine's machine, as it describes it."""
    return powers.MachineFacts(
        hostname=str(info.get("Name", "")),
        kernel=str(info.get("KernelVersion", "")),
        system=str(info.get("OperatingSystem", "")),
        cpus=int(info.get("NCPU", 0)) or 1,
        cpu_model="",
        memory_bytes=int(info.get("MemTotal", 0)),
    )


def _entry(container: Any) -> powers.ContainerEntry:
    note = labels_of(container).get(STANDING, "")
    state = powers.ContainerState(str(container.status))
    if container.status == "running":
        state = powers.RUNNING
    return powers.ContainerEntry(str(container.name), note, state)


def _joins_others(spec: powers.ContainerSpec) -> bool:
    """Whether it is in a network that is not ours: its machine's, or another container's."""
    return spec.network == powers.HOST_NETWORK or _joins_another(spec)


def _joins_another(spec: powers.ContainerSpec) -> bool:
    """Whether it is in the network of another container."""
    return spec.network is not None and spec.network.startswith(powers.NETWORK_OF)


def _published(bindings: Mapping[str, Any]) -> dict[int, int]:
    """Port of the container (`5432/tcp`) → port of this computer, for each published port."""
    ports: dict[int, int] = {}
    for key, bound in bindings.items():
        if bound:
            ports[int(key.split("/")[0])] = int(bound[0]["HostPort"])
    return ports


def _bind(mount: powers.Mount) -> str:
    mode = "rw"
    if mount.read_only:
        mode = "ro"
    return f"{mount.source}:{mount.target}:{mode}"


def _alone(mount: powers.Mount) -> Mount:
    """A folder without what is mounted below it, for which docker-py has no keyword."""
    bound = Mount(mount.target, mount.source, type="bind", read_only=mount.read_only)
    bound["BindOptions"] = {"NonRecursive": True}
    return bound
