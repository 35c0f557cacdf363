"""The outside powers, as protocols: clock, shell, platform, progress. No implementation here.

`World` is made once, in `cli`, and passed down; tests make it from fakes. Only its members read
the clock, start a process or a container. What a platform gives is in modules of its own:
commands, machines, containers, volumes that are rented."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from orchestrator.powers.clocks import Clock as Clock, Moment as Moment
from orchestrator.powers.commands import Completed as Completed, Shell as Shell
from orchestrator.powers.containers import (
    GONE as GONE,
    HOST_NETWORK as HOST_NETWORK,
    NETWORK_OF as NETWORK_OF,
    RUNNING as RUNNING,
    UNLIMITED as UNLIMITED,
    Container as Container,
    ContainerEntry as ContainerEntry,
    ContainerLimits as ContainerLimits,
    ContainerSpec as ContainerSpec,
    ContainerState as ContainerState,
    Conversation as Conversation,
    How as How,
    Images as Images,
    Mount as Mount,
    Network as Network,
)
from orchestrator.powers.guards import Guard as Guard, GuardBeats as GuardBeats
from orchestrator.powers.machines import (
    ClockOffset as ClockOffset,
    Machine as Machine,
    MachineFacts as MachineFacts,
)
from orchestrator.powers.rented_volumes import (
    Claims as Claims,
    MachineTerm as MachineTerm,
    RentedVolume as RentedVolume,
    SnapshotClass as SnapshotClass,
    StorageClass as StorageClass,
    VolumeSource as VolumeSource,
)


@dataclass(frozen=True)
class CertificateFile:
    """A file of certificates on this computer by which something is reached. `what`: it, in
    words; `is_authority`: it says whom to believe, not who asks."""

    what: str
    file: str
    is_authority: bool = False


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `ok` None: only a campaign can tell; `text` says how."""

    subject: str
    ok: bool | None
    text: str

    @classmethod
    def fine(cls, subject: str, text: str) -> Self:
        return cls(subject, ok=True, text=text)

    @classmethod
    def wrong(cls, subject: str, text: str) -> Self:
        return cls(subject, ok=False, text=text)

    @classmethod
    def undecided(cls, subject: str, text: str) -> Self:
        """What only a campaign can tell."""
        return cls(subject, ok=None, text=text)


@dataclass(frozen=True)
class SharedNetwork:
    """How a program of ours is run in the network of a container. `need`: UnavailableError if its
    image is not here. `run` (container, program and its words, world): to its end."""

    need: Callable[[World], None]
    run: Callable[[str, Sequence[str], World], Completed]


def _brings_nothing(_images: Sequence[str]) -> None:
    """All machines have what one has."""


@dataclass(frozen=True)
class PlatformAbilities:
    """What only some platforms can do. None: it cannot."""

    # (placement): its machines are platforms themselves, each with a node in a known place.
    engine_of: Callable[[str], Platform] | None = None
    # (images): those of ours that all machines get when its guard is held. Without a call they get
    # all of ours.
    bring_only: Callable[[Sequence[str]], None] = _brings_nothing
    # Other computers may reach the ports of its containers. Returns where; "" if only this
    # computer does.
    open_to: Callable[[], str] | None = None
    # (nodes): a container starts only if all that it asks for is free for it. Returns how many
    # CPUs each of so many nodes of a database may ask for now.
    free_cpus: Callable[[int], float] | None = None
    # Volumes can be rented.
    claims: Claims | None = None
    # `Platform.sweep` without what is rented until the end of the campaign.
    sweep_between_runs: Callable[[], tuple[str, ...]] | None = None
    # Certificates by which it is reached now; none where it is reached by other means.
    certificates: Callable[[], Sequence[CertificateFile]] | None = None
    # Findings about its abilities and lacks; makes nothing.
    examine: Callable[[], tuple[Finding, ...]] | None = None
    # A container can be in the network of another (`NETWORK_OF`).
    shared_network: SharedNetwork | None = None


class Platform(Protocol):
    """Where containers run. Everything it makes carries our label and is removed by `sweep`."""

    name: str
    campaign: str  # its name is on everything that the platform makes

    @property
    def images(self) -> Images: ...
    @property
    def guard(self) -> Guard: ...
    @property
    def abilities(self) -> PlatformAbilities:
        """What it can do beside this."""
        return PlatformAbilities()

    def facts(self) -> Mapping[str, Any]:
        """Returns versions, and as "ID" the identity of the engine, for the record."""

    def machines(self) -> tuple[Machine, ...]:
        """Returns the machines that are known by now to run its containers: at least one."""

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        """Returns those that may run nodes of a database."""
        return self.machines()

    def folder(self, cache: Path) -> Path:
        """Returns where files of disks are kept on its machines: in `cache`, a folder of this
        computer, if that is its only machine."""

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        """Starts, yields, then stops (politely) and removes with its anonymous volumes. RunError if
        it cannot be removed, unless the block itself raised."""

    def stand(self, spec: ContainerSpec) -> Container:
        """Starts a container that stays when this program ends, and that `sweep` leaves alone.
        Nothing stays of one that cannot be started."""

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        """Runs to the end and removes it; `out` holds both streams. RunError past the deadline."""

    def container(self, name: str) -> Container:
        """Returns the container of this name; nothing is asked, it may not be there."""

    def find_containers(self, role: str = "") -> tuple[ContainerEntry, ...]:
        """Returns our containers that are there, by name; with `role`, those of it."""

    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> AbstractContextManager[Network]:
        """Makes a network for a cluster. Its nodes get `addresses` if those are given and free:
        some databases start from copies of their disks only where they were loaded."""

    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> AbstractContextManager[str]:
        """Makes a volume with the file system `fstype` of a block device of the machine that runs
        `placement`; without a device, one on that machine's own disk."""

    def answers(self) -> bool:
        """Returns whether the engine answers now."""

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        """Removes everything that carries our label, except what stands, and what belongs to
        another campaign that is alive. Returns what was removed, one line each; or only lists what
        earlier programs have left. RunError if something stays."""


class Progress(Protocol):
    """Messages for the person at the console. Never part of a result."""

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        """Shows that run `number` of `total` begins, with `left_s` seconds left for all."""

    def step(self, text: str, expected_s: float | None = None) -> None:
        """Shows a new step of the current run in place of the one before."""

    def note(self, text: str) -> None:
        """Prints a line that stays."""

    def warn(self, text: str) -> None:
        """Prints a line that stays and stands out."""


def machine_named(platform: Platform, name: str) -> Machine:
    """The machine of that name among those of the platform. OSError if it is not known."""
    for machine in platform.machines():
        if machine.name == name:
            return machine
    raise OSError(f"the machine {name!r} is not known")


def _heard_by_nobody(_number: float) -> None:
    pass


@dataclass(frozen=True)
class World:
    """The outside powers."""

    clock: Clock
    shell: Shell
    platform: Platform
    progress: Progress
    # Holds what is expensive to rebuild (loaded data sets).
    cache: Path
    # The project folder, with `workloads/`, `profiles/` and the images' folders.
    root: Path
    # Names of containers, volumes and networks begin with it. It names campaign and run, so that a
    # leftover of one run is not in the way of the next.
    scope: str = "tierbench"
    # The seed of all that disks draw at random.
    seed: int = 0
    # A load generator calls it as soon as it knows when its measured window begins (Unix seconds,
    # now or soon).
    window_begins: Callable[[float], None] = _heard_by_nobody
    # It calls this at the end of each second with its transactions per second, for who looks on.
    throughput_seen: Callable[[float], None] = _heard_by_nobody
    # Set when what is only brought here is no longer waited for.
    carrying_given_up: threading.Event = field(default_factory=threading.Event)

    @property
    def machine(self) -> Machine:
        """The machine that runs the containers and has the disks, or the first of several."""
        return self.platform.machines()[0]

    @property
    def is_here(self) -> bool:
        """Whether containers run on this computer, and nowhere else."""
        is_in_cache = self.platform.folder(self.cache) == self.cache
        return is_in_cache and len(self.platform.machines()) == 1

    def on(self, placement: str) -> World:
        """The outside as if the machine of this placement were the only one, if its place is
        known."""
        engine_of = self.platform.abilities.engine_of
        if engine_of is None:
            return self
        return replace(self, platform=engine_of(placement))
