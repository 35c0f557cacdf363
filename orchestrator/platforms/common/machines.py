"""The computer that this program runs on, as a machine that runs containers, and what only some
machines, platforms and containers can do.

A machine elsewhere on which containers of ours may read is an `AgentMachine` (agent.py)."""

import os
import platform
import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from orchestrator.model import Node
from orchestrator.powers import (
    ClockOffset,
    Container,
    Machine,
    MachineFacts,
    Platform,
    World,
)
from orchestrator.system import at_once


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `ok` None: only a campaign can tell; `text` says how."""

    subject: str
    ok: bool | None
    text: str


_FOLDERS_BELOW_ROOT = ("proc", "sys", "dev", "etc")
_Role = Literal["database", "coordinator", "client", "disk"]
_BOOT = "/proc/sys/kernel/random/boot_id"
OF_FACTS = (
    "/proc/sys/kernel/osrelease",
    "/etc/os-release",
    "/proc/cpuinfo",
    "/proc/meminfo",
)


RECENT_S = (
    60.0  # in which two clocks of computers drift apart by some milliseconds at most
)


class RecentOffsets:
    """What answers showed of a clock within the last `RECENT_S`.

    The shortest way there and back tells most, as in NTP's clock filter (RFC 5905, section 10); but
    of the whole time it would hide that clocks drift apart. Answers that a later one contradicts
    are dropped, because the clock was set meanwhile.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, ClockOffset]] = []

    def add(self, offset: ClockOffset, at_s: float) -> None:
        """`at_s`: when it was seen, by a clock that is never set."""
        still_true = []
        for seen_s, seen in self._seen:
            is_recent = at_s - seen_s <= RECENT_S
            if is_recent and seen.may_equal(offset):
                still_true.append((seen_s, seen))
        still_true.append((at_s, offset))
        self._seen = still_true

    @property
    def best(self) -> ClockOffset | None:
        """Of the shortest way; the latest of those."""
        best: ClockOffset | None = None
        for _, offset in self._seen:
            if best is None or offset.within_s <= best.within_s:
                best = offset
        return best


@runtime_checkable
class ToldOf(Protocol):
    """A machine elsewhere. `facts_told`: its facts as the platform says them, if it does."""

    facts_told: MachineFacts | None


def told(machine: Machine) -> MachineFacts:
    """Returns the facts that the platform says, without starting anything there, if it does."""
    facts = None
    if isinstance(machine, ToldOf):
        facts = machine.facts_told
    return facts or machine.facts()


@runtime_checkable
class KnowsNodes(Protocol):
    """A platform whose database nodes run on some of its machines only."""

    def machines_of_nodes(self) -> tuple[Machine, ...]: ...


@runtime_checkable
class IsOpen(Protocol):
    """A platform whose containers' ports other computers may reach."""

    def open_to(self) -> str:
        """Returns where others reach them; "" if only this computer does."""


@runtime_checkable
class Promises(Protocol):
    """A platform on which a container starts only if all that it asks for is free for it."""

    def free_cpus(self, nodes: int) -> float:
        """Returns how many CPUs each of so many nodes of a database may ask for now."""


@runtime_checkable
class LiftsItsLimits(Protocol):
    """A container that runs, and whose limits of processors and memory can be taken away."""

    def lift_limits(self) -> None: ...

    def limit_cpus(self, cpus: float | None) -> None:
        """Changes how many processors it may use, until it ends or is told again; None: all."""

    def find_cpus(self) -> float | None:
        """Returns how many processors it may use; None: all that its machine has."""


@runtime_checkable
class HasEngines(Protocol):
    """A platform whose machines are platforms themselves, each with a node in a known place.
    `brings`: the images of ours that all get when its guard is held; if empty, all of ours."""

    brings: Sequence[str]

    def engine_of(self, placement: str) -> Platform: ...


def on(placement: str, world: World) -> World:
    """The outside as if the machine of this placement were the only one, if its place is known."""
    if not isinstance(world.platform, HasEngines):
        return world
    return replace(world, platform=world.platform.engine_of(placement))


def of_nodes(platform: Platform) -> tuple[Machine, ...]:
    """The machines that may run database nodes."""
    if isinstance(platform, KnowsNodes):
        return platform.machines_of_nodes()
    return platform.machines()


def as_node(
    container: Container,
    name: str,
    role: _Role,
    *,
    device: str | None = None,
    wal_device: str | None = None,
    cpus: float | None = None,
    memory_bytes: int | None = None,
    sources: Mapping[str, str] | None = None,
) -> Node:
    """What runs in a container, as collectors and the record need it."""
    return Node(
        name,
        role,
        container=container.name,
        container_id=container.id,
        process_id=container.process_id,
        device=device,
        wal_device=wal_device,
        cpus=cpus,
        memory_bytes=memory_bytes,
        sources=sources or {},
    )


def text_of(machine: Machine, path: str) -> str:
    """Returns the text of a file; "" if it cannot be read."""
    with suppress(OSError):
        return machine.read(path)
    return ""


def value(text: str, key: str) -> str:
    """Returns the rest of the first line that begins with `key`; "" if none does."""
    for line in text.splitlines():
        if line.startswith(key):
            return line.removeprefix(key).strip()
    return ""


def facts_in(
    texts: Mapping[str, str], hostname: str, instance_type: str = ""
) -> MachineFacts:
    """What these files of `OF_FACTS` say; some processors have no name there."""
    kernel, system, cpus, memory = (texts.get(path, "") for path in OF_FACTS)
    processors = sum(line.startswith("processor") for line in cpus.splitlines())
    memory_kib, _, _ = value(memory, "MemTotal:").partition(" ")
    return MachineFacts(
        hostname=hostname,
        kernel=kernel.strip(),
        system=value(system, "PRETTY_NAME=").strip('"'),
        cpus=max(1, processors),
        cpu_model=value(cpus, "model name").lstrip(":\t "),
        memory_bytes=int(memory_kib or 0) * 1024,
        instance_type=instance_type,
    )


class LocalMachine:
    """This computer. `root` holds its /proc, /sys, /dev and /etc: a fixture tree in tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.name = socket.gethostname()

    def facts(self) -> MachineFacts:
        facts = facts_in({path: text_of(self, path) for path in OF_FACTS}, self.name)
        return replace(
            facts,
            kernel=platform.release(),
            system=facts.system or platform.platform(),
            cpus=os.cpu_count() or 1,
            cpu_model=facts.cpu_model or platform.machine(),
        )

    def read(self, path: str) -> str:
        return self._at(path).read_text(encoding="utf-8", errors="surrogateescape")

    def exists(self, path: str) -> bool:
        return self._at(path).exists()

    def is_folder(self, path: str) -> bool:
        return self._at(path).is_dir()

    def listing(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(entry.name for entry in self._at(path).iterdir()))

    def real_path(self, path: str) -> str:
        return os.path.realpath(self._at(path))

    def free_bytes(self, path: str) -> int:
        existing = self._at(path)
        while not existing.exists():
            existing = existing.parent
        return shutil.disk_usage(existing).free

    def refresh(self) -> None:
        """Nothing: each `read` looks by itself."""

    def _at(self, path: str) -> Path:
        return _below(self._root, path)


@lru_cache(maxsize=4096)  # the same files each second
def _below(root: Path, path: str) -> Path:
    inside = path.lstrip("/")
    if inside.split("/")[0] in _FOLDERS_BELOW_ROOT:
        return root / inside
    return Path(path)


def kernels(machines: Sequence[Machine]) -> int:
    """Returns how many of them are known to have a kernel of their own: the machines of kind and
    minikube may be containers on one and the same. One machine is not asked."""
    if len(machines) == 1:
        return 1
    boots = set(at_once.each(_boot, machines))
    boots.discard("")
    return len(boots)


def _boot(machine: Machine) -> str:
    """The id that the kernel drew when it booted; "" if it cannot be read."""
    return text_of(machine, _BOOT).strip()
