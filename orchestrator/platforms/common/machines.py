"""Machines that run containers: this computer, and one that cannot be read from here."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from pathlib import Path
from typing import NoReturn

from orchestrator.powers import MachineFacts

_FOLDERS_BELOW_ROOT = ("proc", "sys", "dev", "etc")


class LocalMachine:
    """This computer. `root` holds its /proc, /sys, /dev and /etc, so that tests can give a fixture
    tree; all other paths are used as they are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.name = socket.gethostname()

    def facts(self) -> MachineFacts:
        memory_kib = self._value("/proc/meminfo", "MemTotal:").partition(" ")[0]
        return MachineFacts(
            hostname=self.name,
            kernel=platform.release(),
            system=self._value("/etc/os-release", "PRETTY_NAME=").strip('"') or platform.platform(),
            cpus=os.cpu_count() or 1,
            cpu_model=self._value("/proc/cpuinfo", "model name").lstrip(":\t ")
            or platform.machine(),
            memory_bytes=int(memory_kib or 0) * 1024,
        )

    def _value(self, path: str, key: str) -> str:
        """The rest of the first line that begins with `key`; "" if none does."""
        with contextlib.suppress(OSError):
            for line in self.read(path).splitlines():
                if line.startswith(key):
                    return line.removeprefix(key).strip()
        return ""

    def read(self, path: str) -> str:
        return self._at(path).read_text()

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
        stats = os.statvfs(existing)
        return stats.f_bavail * stats.f_frsize

    def refresh(self) -> None:
        """Nothing: each `read` looks by itself."""

    def _at(self, path: str) -> Path:
        inside = path.lstrip("/")
        return self._root / inside if inside.split("/")[0] in _FOLDERS_BELOW_ROOT else Path(path)


class FarMachine:
    """A machine of which only `facts` are known: reading anything else is an OSError."""

    def __init__(self, facts: MachineFacts) -> None:
        self._facts = facts
        self.name = facts.hostname

    def facts(self) -> MachineFacts:
        return self._facts

    def read(self, path: str) -> NoReturn:
        raise OSError(f"the machine {self.name} is not reachable from here")

    exists = is_folder = listing = real_path = free_bytes = read

    def refresh(self) -> None:
        """Nothing: there is nothing to read."""
