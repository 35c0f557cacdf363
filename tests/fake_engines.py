"""One of several Docker engines, as `DockerMachines` asks it: it writes down what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from orchestrator.platforms.docker.connecting import Reach
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Container, ContainerSpec

ADDRESSES = {"vm1": "192.0.2.1", "vm2": "192.0.2.2", "tcp://vm3:2376": "192.0.2.3"}


@dataclass
class Engine:
    """An engine by the word that a profile has for it."""

    clock: Any
    engine: str | None
    campaign: str
    together: Any
    asked: list[Any] = field(default_factory=list)
    images: set[str] = field(default_factory=set)
    fails: Exception | None = None
    groups: str | None = "2"

    @property
    def known_as(self) -> str:
        return self.engine or "this computer"

    @property
    def reach(self) -> Reach:
        if self.engine in (None, "default"):
            return Reach("127.0.0.1", is_local=True)
        return Reach(ADDRESSES.get(str(self.engine), "192.0.2.1"), is_local=False)

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        self.asked.append(spec)
        yield Container(spec.name, f"id of {spec.name}", 7, spec.address, {5432: 49152}, {}, "0")

    def state(self, container: str) -> str:
        return "running" if container == f"old-{self.engine}" else "gone"

    def logs(self, container: str, tail: int | None = None) -> str:
        return f"{container} on {self.engine}"

    def machines(self) -> tuple[str, ...]:
        return (f"machine of {self.engine}",)

    def facts(self) -> dict[str, Any]:
        which = {"Name": self.known_as, "ID": f"id of {self.engine}", "ServerVersion": "29.1"}
        return {**which, "CgroupVersion": self.groups, "OperatingSystem": None}

    examine = DockerPlatform.examine

    def volume(self, name: str, device: str, fstype: str) -> Any:
        self.asked.append(name)
        return nullcontext(name)

    def alone(self) -> Any:
        if self.fails:
            raise self.fails
        return nullcontext()

    def image_present(self, tag: str) -> bool:
        return tag in self.images

    def image_id(self, tag: str) -> str | None:
        return f"id of {tag}" if tag in self.images else None

    def take_from(self, other: Engine, tag: str) -> None:
        self.asked.append((tag, other.engine))
        self.images.add(tag)

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        if self.fails:
            raise self.fails
        return ("container y",) if only_list else ("container x",)
