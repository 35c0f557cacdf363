"""This machine: its fingerprint, and the counters of /proc that collectors read.

`root` is "/" in production; tests point it at a fixture tree.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.errors import UnavailableError


def fingerprint(root: Path = Path("/")) -> dict[str, Any]:
    """What this machine is: two campaigns that differ here are not compared silently."""
    return {
        "hostname": socket.gethostname(),
        "kernel": platform.release(),
        "system": _os_name(root),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "cpu_model": _cpu_model(root),
        "memory_bytes": memory_bytes(root),
    }


def _os_name(root: Path) -> str:
    with contextlib.suppress(OSError):
        for line in (root / "etc/os-release").read_text().splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip('"')
    return platform.platform()


def _cpu_model(root: Path) -> str:
    with contextlib.suppress(OSError):
        for line in (root / "proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def cpu_count() -> int:
    return os.cpu_count() or 1


def memory_bytes(root: Path = Path("/")) -> int:
    """Installed memory. 0 where /proc/meminfo cannot be read (not Linux)."""
    with contextlib.suppress(OSError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    return 0


def port_is_free(port: int) -> bool:
    """Whether 127.0.0.1:`port` can be bound now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Held while a campaign runs: two on one machine would measure each other.

    The kernel frees the lock when the process ends, however it ends. UnavailableError where
    another holds it.
    """
    import fcntl

    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            held.seek(0)
            raise UnavailableError(
                f"another campaign is running here (process {held.read().strip() or 'unknown'})",
                advice="wait for it to end, or stop it with Ctrl-C where it runs",
            ) from error
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()
        yield


def is_held(lock: Path) -> bool:
    """Whether a campaign holds the lock at this moment."""
    try:
        with only_one(lock):
            return False
    except UnavailableError:
        return True


def free_bytes(path: Path) -> int:
    """Free space where `path` is, or where its nearest existing parent is."""
    place = path
    while not place.exists():
        place = place.parent
    stats = os.statvfs(place)
    return stats.f_bavail * stats.f_frsize


def read_counters(file: Path) -> Mapping[str, int]:
    """A `key value` file such as cpu.stat or memory.stat. OSError where it is gone."""
    pairs = (line.split() for line in file.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
