"""The outside powers, as protocols: clock, shell, platform, progress. No implementation here.

`World` is made once, in `cli`, and passed down; tests make it from fakes. Nothing else reads the
clock, starts a process or a container.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from orchestrator.model import (
    DeviceCap,
)


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds: for records, never for durations."""

    def monotonic(self) -> float:
        """Seconds since some start: for durations and deadlines."""

    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Completed:
    """What a finished command left."""

    argv: tuple[str, ...]
    exit_code: int
    out: str
    err: str
    duration_s: float


class Shell(Protocol):
    def run(
        self, argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> Completed:
        """Runs to the end. A non-zero exit is returned, not raised. RunError past the deadline."""

    def spawn(self, argv: Sequence[str], log: Path) -> None:
        """Starts a daemon that outlives this program, its output appended to `log`."""


@dataclass(frozen=True)
class Mount:
    """A host path (starts with "/") or a named volume, at a path in the container."""

    source: str
    target: str
    read_only: bool = False


HOST_NETWORK = "host"  # not one of ours: that of the machine itself


@dataclass(frozen=True)
class ContainerSpec:
    """One container to start. `ports`: container port → port on 127.0.0.1, None: any free one.

    `io_caps` are read back from its control group once it runs: GateError where they differ.
    """

    name: str
    image: str
    command: tuple[str, ...]
    role: str
    entrypoint: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    network: str | None = None
    address: str | None = None
    ports: Mapping[int, int | None] = field(default_factory=dict)
    cpus: float | None = None
    cpu_shares: int | None = None
    memory_bytes: int | None = None
    shared_memory_bytes: int | None = None
    init: bool = False
    host_devices: bool = False
    io_caps: tuple[DeviceCap, ...] = ()
    stop_timeout_s: int = 20


@dataclass(frozen=True)
class Container:
    """A started container. `ports`: container port → port on 127.0.0.1."""

    name: str
    id: str
    process_id: int
    address: str | None
    ports: Mapping[int, int]


@dataclass(frozen=True)
class Network:
    """One address (IP or DNS name) for each node, given by the platform."""

    name: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class MachineFacts:
    """What a machine is, for whoever reads a campaign. `memory_bytes` is 0 where it is unknown."""

    hostname: str
    kernel: str
    system: str
    cpus: int
    cpu_model: str
    memory_bytes: int


class Machine(Protocol):
    """A computer that runs containers or has their disks: its /proc, /sys, /dev and folders.

    Paths are absolute. OSError where one is not there, or the machine cannot be reached from here.
    """

    name: str

    def facts(self) -> MachineFacts: ...

    def read(self, path: str) -> str:
        """The text of a small file."""

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def listing(self, path: str) -> tuple[str, ...]:
        """The names in a folder."""

    def real_path(self, path: str) -> str:
        """The path with all links followed."""

    def free_bytes(self, path: str) -> int:
        """Free space where `path` is, or where its nearest existing parent is."""


class Platform(Protocol):
    """Where containers run. All that it makes carries our label and is removed by `sweep`."""

    name: str
    campaign: str  # on everything that it makes

    def alone(self) -> AbstractContextManager[None]:
        """No other campaign on it meanwhile. UnavailableError where there is one."""

    def other_campaign(self) -> str | None:
        """Another campaign that runs on it and is alive."""

    def facts(self) -> Mapping[str, Any]:
        """What it says of itself: versions, for the record."""

    def machines(self) -> tuple[Machine, ...]:
        """All machines that run its containers; at least one."""

    def machine_of(self, container: str) -> Machine: ...

    def image_present(self, tag: str) -> bool: ...

    def pull(self, tag: str) -> bool:
        """True where the image could be pulled."""

    def image_id(self, tag: str) -> str | None:
        """What a tag stands for at this moment; None where it is not here."""

    def engine_id(self) -> str | None:
        """Which engine this is, wherever it runs; None where it does not say."""

    def ways_to_get(self, tag: str) -> str:
        """What a person can do to bring an image here: part of an advice."""

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        """Builds the image that `folder` describes; RunError with the last lines where it fails."""

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        """Starts, yields, then stops (politely) and removes with its anonymous volumes.

        RunError where it cannot be removed, unless the block itself raised."""

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        """Runs a container to its end and removes it; both streams come back as `out`. RunError
        past the deadline."""

    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> AbstractContextManager[Network]:
        """A network of its own for a cluster of so many nodes.

        They get `addresses` where those are given and free: some databases start from copies of
        their disks only at the addresses where they were loaded."""

    def volume(self, name: str, device: str, fstype: str) -> AbstractContextManager[str]: ...

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
        """Runs in a container to the end; `on_line` gets each line of standard output as it comes.

        RunError past the deadline; NodeError when a container in `watch` is found not running.
        A non-zero exit is returned, not raised.
        """

    def stop(self, container: str, timeout_s: float) -> None:
        """Stops politely (TERM, then KILL past the timeout); the container and its logs stay."""

    def state(self, container: str) -> str:
        """ "running", "exited (137)", "gone", …: for messages and liveness checks."""

    def logs(self, container: str, tail: int | None = None) -> str: ...

    def running_as(self, role: str) -> tuple[str, ...]:
        """Names of our running containers that have this role."""

    def answers(self) -> bool:
        """Whether the engine answers at this moment."""

    def sweep(self) -> tuple[str, ...]:
        """Removes everything that carries our label, except what belongs to another campaign that
        is alive; returns what was removed, one line each. RunError where something stays."""


class Progress(Protocol):
    """What the person at the console sees. Never part of a result."""

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        """Run `number` of `total` begins; about `left_s` seconds are left for all of them."""

    def step(self, text: str, expected_s: float | None = None) -> None:
        """A new step of the current run begins; replaces the one before."""

    def note(self, text: str) -> None:
        """A line that stays."""

    def warn(self, text: str) -> None:
        """A line that stays and is meant to be seen."""


@dataclass(frozen=True)
class World:
    """The outside powers. `cache` holds what is expensive to rebuild (loaded data sets);
    `root` is the project folder, with `workloads/`, `profiles/` and the images' folders. Names of
    containers, volumes and networks begin with `scope`, which carries campaign and run: what one
    run could not remove is not in the way of the next."""

    clock: Clock
    shell: Shell
    platform: Platform
    progress: Progress
    cache: Path
    root: Path
    scope: str = "tierbench"

    @property
    def machine(self) -> Machine:
        """The machine that runs the containers and has the disks: platforms have one so far."""
        return self.platform.machines()[0]
