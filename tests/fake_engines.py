"""One of several Docker engines, as `DockerMachines` asks it: it writes down what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import RunError
from orchestrator.platforms.common import architectures
from orchestrator.platforms.docker.connection import Reach
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import (
    RUNNING,
    CertificateFile,
    ContainerEntry,
    ContainerSpec,
    GuardBeats,
)

ADDRESSES = {"vm1": "192.0.2.1", "vm2": "192.0.2.2", "tcp://vm3:2376": "192.0.2.3"}


@dataclass(frozen=True)
class Handle:
    """A container of `engine`, which writes down nothing of it."""

    name: str
    engine: str | None
    machine: Any
    id: str = ""
    address: str | None = None
    ports: dict[int, int] = field(default_factory=dict)
    host: str = "0"

    def logs(self, tail: int | None = None) -> str:
        return f"{self.name} on {self.engine}"

    def find_machine(self) -> Any:
        if self.machine is None:
            raise RunError(f"{self.name}: it is not known which machine runs it")
        return self.machine


@dataclass
class Engine:
    """An engine by the word that a profile has for it; `images` are here, and its `guard`."""

    clock: Any
    engine: str | None = None
    campaign: str = ""
    known_as: str = ""
    asked: list[Any] = field(default_factory=list)
    here: set[str] = field(default_factory=set)
    fails: Exception | None = None
    groups: str | None = "2"
    architecture: str = "amd64"
    built_for: dict[str, str] = field(default_factory=dict)
    beats: GuardBeats = field(default_factory=GuardBeats)

    def share(self, beats: GuardBeats) -> None:
        self.beats = beats

    def certificates(self) -> tuple[CertificateFile, ...]:
        """It is reached over ssh."""
        return ()

    @property
    def images(self) -> Engine:
        return self

    @property
    def guard(self) -> Engine:
        return self

    @property
    def reach(self) -> Reach:
        if self.engine in (None, "default"):
            return Reach("127.0.0.1", is_local=True)
        return Reach(ADDRESSES.get(str(self.engine), "192.0.2.1"), is_local=False)

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Handle]:
        self.asked.append(spec)
        ports = {5432: 49152}
        (machine,) = self.machines()
        yield Handle(
            spec.name, self.engine, machine, f"id of {spec.name}", spec.address, ports
        )

    def container(self, name: str) -> Handle:
        return Handle(name, self.engine, self.machines()[0])

    def find_containers(self, role: str = "") -> tuple[ContainerEntry, ...]:
        return (ContainerEntry(f"old-{self.engine}", "", RUNNING),)

    def machines(self) -> tuple[Any, ...]:
        return (f"machine of {self.engine}",)

    def facts(self) -> dict[str, Any]:
        which = {
            "Name": self.known_as,
            "ID": f"id of {self.engine}",
            "ServerVersion": "29.1",
        }
        return {**which, "CgroupVersion": self.groups, "OperatingSystem": None}

    examine = DockerPlatform.examine

    def volume(self, name: str, device: str, fstype: str) -> Any:
        self.asked.append(name)
        return nullcontext(name)

    def held(self) -> Any:
        if self.fails:
            raise self.fails
        return nullcontext()

    def present(self, tag: str) -> bool:
        return tag in self.here

    def mismatch(self, tag: str) -> str:
        built_for = self.built_for.get(tag, self.architecture)
        return architectures.mismatch(built_for, self.architecture)

    def id(self, tag: str) -> str | None:
        return f"id of {tag}" if tag in self.here else None

    def take_from(self, other: Engine, tag: str) -> None:
        self.asked.append((tag, other.engine))
        self.here.add(tag)

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        if self.fails:
            raise self.fails
        return ("container y",) if only_list else ("container x",)
