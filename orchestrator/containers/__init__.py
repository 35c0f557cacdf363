"""Docker, through docker-py: the only module that imports it.

Everything made here carries the label `tierbench=1`, so that `sweep` can remove what a killed
program left behind. docker-py's and the engine's errors stop here and become ours.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from docker.errors import APIError, NotFound
from docker.types import IPAMConfig, IPAMPool

import docker
from orchestrator.clock import wait_until
from orchestrator.containers import devices
from orchestrator.containers.errors import engine_errors
from orchestrator.containers.images import Images
from orchestrator.containers.output import Output
from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.protocols import Clock, Completed, Container, ContainerSpec

LABEL = "tierbench"
ROLE_LABEL = "tierbench.role"

_CONFLICT = 409
_REMOVAL_S = 20.0
_SUBNETS = tuple(f"10.{second}.77.0/24" for second in range(201, 250))


class DockerContainers(Images):
    """The `Containers` protocol on a Docker engine. UnavailableError where none answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        with engine_errors("connecting"):
            self._client = docker.from_env(timeout=120)
            self._client.ping()

    def engine(self) -> dict[str, Any]:
        """What the engine says of itself, for the fingerprint."""
        with engine_errors("asking the engine for its version"):
            info = self._client.info()
        keys = ("ServerVersion", "Driver", "CgroupVersion", "KernelVersion", "OperatingSystem")
        return {key: info.get(key) for key in keys}

    # -------------------------------------------------------------- containers

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        name = spec.name
        with engine_errors(f"starting {name}"):
            self._remove(name)
            made = self._create(spec)
        try:
            with engine_errors(f"starting {name}"):
                made.start()
                made.reload()
            yield self._describe(spec, made)
        finally:
            with engine_errors(f"removing {name}"):
                with contextlib.suppress(NotFound, APIError):
                    made.stop(timeout=spec.stop_timeout_s)
                self._remove(name)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        started = self._clock.monotonic()
        try:
            with engine_errors(f"running {spec.name}"):
                self._remove(spec.name)
                made = self._create(spec)
                made.start()
                exit_code = int(made.wait(timeout=timeout_s)["StatusCode"])
                out = bytes(made.logs()).decode(errors="replace")
        finally:
            with engine_errors(f"removing {spec.name}"):
                self._remove(spec.name)
        took_s = self._clock.monotonic() - started
        return Completed(spec.command, exit_code, out, "", took_s)

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
            host.update(devices.MAKING)
            host["binds"].append("/dev:/dev")
        host.update(devices.limits(spec.io_caps))
        api = self._client.api
        networking: Any = None
        if spec.network:
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
            labels={LABEL: "1", ROLE_LABEL: spec.role},
            ports=list(spec.ports),
            host_config=api.create_host_config(**host),
            networking_config=networking,
        )
        return self._client.containers.get(made["Id"])

    def _describe(self, spec: ContainerSpec, made: Any) -> Container:
        state = made.attrs["State"]
        if not state.get("Running"):
            raise NodeError(
                f"{spec.name} stopped as soon as it was started (exit {state.get('ExitCode')})",
                evidence=self.logs(spec.name, tail=30),
            )
        devices.read_back(spec.io_caps, int(state["Pid"]), spec.name)
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

    def _remove(self, name: str) -> None:
        """Gone when this returns, also where someone else is removing it at this moment."""

        def gone() -> bool:
            try:
                self._client.containers.get(name).remove(force=True, v=True)
            except NotFound:
                return True
            except APIError as error:
                if error.status_code != _CONFLICT:
                    raise
                return False
            return True

        wait_until(gone, deadline_s=_REMOVAL_S, clock=self._clock)

    def stop(self, container: str, timeout_s: float) -> None:
        with engine_errors(f"stopping {container}"), contextlib.suppress(NotFound):
            self._client.containers.get(container).stop(timeout=round(timeout_s))

    def state(self, container: str) -> str:
        with engine_errors(f"looking at {container}"):
            try:
                state = self._client.containers.get(container).attrs["State"]
            except NotFound:
                return "gone"
        if state.get("Running"):
            return "running"
        reason = ", out of memory" if state.get("OOMKilled") else ""
        return f"{state.get('Status', 'unknown')} (exit {state.get('ExitCode')}{reason})"

    def logs(self, container: str, tail: int | None = None) -> str:
        with engine_errors(f"reading the log of {container}"):
            try:
                raw = self._client.containers.get(container).logs(tail=tail or "all")
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
        with engine_errors(doing):
            started = self._clock.monotonic()
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
            exit_code = self._client.api.exec_inspect(made["Id"])["ExitCode"]
        if exit_code != 0 and watch:
            # A generator that lost its database often ends before the engine notices the death.
            self._clock.sleep(0.5)
            self._raise_if_dead(watch, output)
        return Completed(
            argv=tuple(argv),
            exit_code=-1 if exit_code is None else int(exit_code),
            out="".join(output.out),
            err="".join(output.err),
            duration_s=self._clock.monotonic() - started,
        )

    def _raise_if_dead(self, watch: Sequence[str], output: Output) -> None:
        for name in watch:
            state = self.state(name)
            if state != "running":
                raise NodeError(
                    f"{name} died in the middle of the run: {state}",
                    advice="look at its log among the raw files of the run",
                    evidence=self.logs(name, tail=20) + "\n" + output.tail(),
                )

    # -------------------------------------------------------------- networks and volumes

    @contextmanager
    def network(self, name: str, prefix: str | None = None) -> Iterator[str]:
        made = None
        try:
            with engine_errors(f"making network {name}"):
                made, got = self._create_network(name, prefix)
            yield got
        finally:
            if made is not None:
                with engine_errors(f"removing network {name}"), contextlib.suppress(NotFound):
                    made.remove()

    def _create_network(self, name: str, prefix: str | None) -> tuple[Any, str]:
        """`prefix`, or the first of our subnets that overlaps no other network of the engine."""
        taken = [
            ipaddress.ip_network(pool["Subnet"])
            for network in self._client.networks.list()
            for pool in (network.attrs.get("IPAM", {}).get("Config") or [])
            if pool.get("Subnet")
        ]
        preferred = (f"{prefix}.0/24",) if prefix else ()
        for subnet in (*preferred, *_SUBNETS):
            wanted = ipaddress.ip_network(subnet)
            if any(wanted.version == net.version and wanted.overlaps(net) for net in taken):
                continue
            try:
                made = self._client.networks.create(
                    name,
                    driver="bridge",
                    labels={LABEL: "1"},
                    ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)]),
                )
            except APIError as error:
                # The engine also refuses what overlaps a route of the host; try the next one.
                if "overlap" in str(error.explanation).lower():
                    continue
                raise
            return made, subnet.rsplit(".", 1)[0]
        raise UnavailableError("no free subnet for the cluster's network", advice="make clean")

    @contextmanager
    def volume(self, name: str, device: str, fstype: str) -> Iterator[str]:
        # Disks are copies of each other, so they share the identity that XFS writes into them.
        options = {"type": fstype, "device": device, "o": "noatime,nouuid"} if device else {}
        with engine_errors(f"making volume {name}"):
            with contextlib.suppress(NotFound):
                self._client.volumes.get(name).remove(force=True)
            made = self._client.volumes.create(
                name, driver="local", driver_opts=options, labels={LABEL: "1"}
            )
        try:
            yield name
        finally:
            with engine_errors(f"removing volume {name}"), contextlib.suppress(NotFound):
                wait_until(
                    lambda: _try(lambda: made.remove(force=True)),
                    deadline_s=10,
                    clock=self._clock,
                )

    # -------------------------------------------------------------- leftovers

    def sweep(self) -> tuple[str, ...]:
        removed: list[str] = []
        ours: dict[str, Any] = {"label": f"{LABEL}=1"}
        with engine_errors("removing leftovers"):
            found = self._client.containers.list(all=True, filters=ours)
            # Databases and clients before disks: a device goes only when nothing is mounted on it.
            found.sort(key=lambda made: made.labels.get(ROLE_LABEL) == "disk")
            for made in found:
                with contextlib.suppress(NotFound):
                    if made.labels.get(ROLE_LABEL) == "disk":
                        self._remove_volumes(ours, removed)
                        made.stop(timeout=15)
                    self._remove(str(made.name))
                    removed.append(f"container {made.name}")
            self._remove_volumes(ours, removed)
            for network in self._client.networks.list(filters=ours):
                with contextlib.suppress(NotFound):
                    network.remove()
                    removed.append(f"network {network.name}")
        return tuple(removed)

    def _remove_volumes(self, ours: dict[str, Any], removed: list[str]) -> None:
        for volume in self._client.volumes.list(filters=ours):
            with contextlib.suppress(NotFound, APIError):
                volume.remove(force=True)
                removed.append(f"volume {volume.name}")


def _ignore(_line: str) -> None:
    pass


def _try(action: Callable[[], None]) -> bool:
    """False where the engine says the thing is still in use."""
    try:
        action()
    except APIError as error:
        if error.status_code == _CONFLICT:
            return False
        raise
    return True
