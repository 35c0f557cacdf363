"""Limits of running disks are changed, of all or of none, and read back."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from orchestrator.errors import TierbenchError, UsageError
from orchestrator.powers import World
from orchestrator.system import at_once
from orchestrator.tiers.common.emulated import running_disks, server_limits

# A function that keeps each change: container, what was done, limits.
Keep = Callable[[str, str, Mapping[str, float]], None]


def set_all(
    containers: Sequence[str], settings: running_disks.ServerSettings, world: World
) -> None:
    def change(container: str) -> None:
        running_disks.change(container, settings, world)

    at_once.each(change, containers)


def enforced_by(
    servers: Sequence[str], world: World
) -> list[tuple[str, dict[str, Any]]]:
    return at_once.each(
        lambda name: (name, running_disks.ask(name, ("limits",), world)), servers
    )


def any_lifted(containers: Sequence[str], world: World) -> bool:
    """Whether one of these running devices enforces no limit that lifting would set to none."""
    # Peaks are left out: a disk that bursts has a base as well.
    names = (*server_limits.BASES, *server_limits.LATENCIES)
    for _, limits in enforced_by(containers, world):
        if not any(limits.get(name) for name in names):
            return True
    return False


def change_all(
    containers: Sequence[str], limits: Mapping[str, float], keep: Keep, world: World
) -> Mapping[str, float]:
    """Changes limits of running devices, of all or of none; returns what each now enforces.

    `keep` is told of each change ("set"), and of what is in force again if it was not made
    ("refused", "undone"). Raises as `change` does.
    """
    _check_changes(limits)
    running = enforced_by(containers, world)
    enforced: Mapping[str, float] = {}
    changed: list[tuple[str, dict[str, float]]] = []
    for container, before in running:
        had: dict[str, float] = {}
        for name in limits:
            if name in before:
                had[name] = float(before[name])
        # The change is kept before it is made. A kill in between leaves one that is noted and not
        # made. The other way round it would be made and hidden.
        keep(container, "set", limits)
        try:
            enforced = change(container, limits, world)
        except UsageError:  # the device itself refused: nothing of it was changed
            keep(container, "refused", had)
            _undo(changed, keep, world)
            raise
        except TierbenchError:  # it may have been changed all the same
            _undo([*changed, (container, had)], keep, world)
            raise
        changed.append((container, had))
    return enforced


def _undo(
    changed: Sequence[tuple[str, dict[str, float]]], keep: Keep, world: World
) -> None:
    for container, had in changed:
        with suppress(TierbenchError):  # it stays "set" in what was kept
            change(container, had, world)
            keep(container, "undone", had)


def change(
    container: str, limits: Mapping[str, float], world: World
) -> Mapping[str, float]:
    """Changes limits of the running device that `container` serves; returns all it now enforces.

    All are changed or none. UsageError for a name that is not in `server_limits.CHANGEABLE` or a
    number that is none; RunError if the device refuses them; GateError if it then enforces
    something else.
    """
    _check_changes(limits)
    running_disks.change(container, limits, world)
    running = running_disks.ask(container, ("limits",), world)
    kept = dict(limits)
    # The bucket's level is a moment, not a limit that is kept.
    kept.pop(server_limits.CREDIT, None)
    running_disks.read_back(container, kept, running)
    return {name: float(value) for name, value in running.items()}


def _check_changes(limits: Mapping[str, float]) -> None:
    if not limits:
        raise UsageError(
            "no limit was given",
            advice="for example `iops=4000 bytes_per_s=1e8`",
        )
    for name, value in limits.items():
        if name not in server_limits.CHANGEABLE:
            raise UsageError(
                f"{name!r} is not a limit that can be changed on a running disk",
                advice=f"there are {', '.join(server_limits.CHANGEABLE)}",
            )
        if not math.isfinite(value) or value < 0:
            raise UsageError(
                f"{name}={value} is no limit",
                advice="give a number above 0, or 0 for none",
            )
