"""Limits of the processes in a container: raised where the engine may, read back in any case.

An engine without the right to raise them (rootless, or in a container) fails at the start with
"error setting rlimit…"; the container is then started without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docker.errors import APIError
from docker.types import Ulimit

from orchestrator.powers import Machine

_LINES = {"nofile": "Max open files", "nproc": "Max processes"}  # of /proc/<process>/limits


def options(limits: Mapping[str, int]) -> list[Ulimit]:
    """Returns the value of docker-py's `ulimits`."""
    return [Ulimit(name=name, soft=value, hard=value) for name, value in limits.items()]


def refused(error: APIError) -> bool:
    """Whether a container did not start because its limits could not be set."""
    return "rlimit" in str(error).lower()


def in_force(limits: Mapping[str, Any], process_id: int, machine: Machine) -> dict[str, str]:
    """Returns the soft limits of these names, a number or `unlimited`; none if they cannot be
    read from here."""
    if not limits:
        return {}
    try:
        lines = machine.read(f"/proc/{process_id}/limits").splitlines()
    except OSError:
        return {}
    return {
        name: line.removeprefix(_LINES[name]).split()[0]
        for line in lines
        for name in limits
        if name in _LINES and line.startswith(_LINES[name])
    }
