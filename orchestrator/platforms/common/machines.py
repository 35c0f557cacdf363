"""The computer that this program runs on, as a machine that runs containers, and what only some
machines, platforms and containers can do.

A machine elsewhere on which containers of ours may read is an `AgentMachine` (agent.py)."""

import os
import platform
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from orchestrator.model import Node
from orchestrator.powers import (
    ClockOffset,
    Container,
    Machine,
    MachineFacts,
)
from orchestrator.system import at_once, files

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

    facts_told: MachineFacts | None = None
    clock_offset: ClockOffset | None = None

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
        return files.free_bytes(self._at(path))

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
