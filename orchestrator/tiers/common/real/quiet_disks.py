"""After data were copied: empty caches, and disks that are at rest.

Else a run would find in the page cache what was just copied, and would share the disk with what the
kernel still writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orchestrator.kernel import block_devices
from orchestrator.powers import Machine, World
from orchestrator.system import clock
from orchestrator.system.shell import script
from orchestrator.tiers.common.any_disk import removal

DEADLINE_S = 120.0
# A second with at most so many I/Os and bytes is quiet: file systems write a little at all times.
QUIET_S = 1.0
MOST_IOS = 20
MOST_BYTES = 1_024_000
_DROP_S = 300.0


def after_copying(
    devices: Sequence[str], folders: Sequence[Path], world: World
) -> dict[str, Any]:
    """Drops caches, then waits until `devices` (as in /proc/diskstats) are quiet. Returns facts:
    `caches_dropped`, `quiet` (False: not within the deadline; None: their counters cannot be read)
    and `quiet_wait_s`. RunError if no cache could be dropped."""
    world.progress.step("dropping caches, then waiting until the disk is quiet")
    dropped = _drop(folders, world)
    began_s = world.clock.monotonic()
    quiet = _await_quiet(devices, world)
    if quiet is False:
        world.progress.warn(
            f"{' and '.join(devices)} did not rest within {DEADLINE_S:g} s"
        )
    waited_s = round(world.clock.monotonic() - began_s, 1)
    return {"caches_dropped": dropped, "quiet": quiet, "quiet_wait_s": waited_s}


def _await_quiet(devices: Sequence[str], world: World) -> bool | None:
    """Whether the devices came to rest within the deadline; None if they cannot be counted."""
    last = _counted(devices, world.machine)
    if last is None:
        return None

    def rests() -> bool:
        nonlocal last
        before = last
        last = _counted(devices, world.machine)
        if before is None or last is None:
            return False
        ios = last.ios - before.ios
        moved_bytes = last.moved_bytes - before.moved_bytes
        hardly_anything = ios <= MOST_IOS and moved_bytes <= MOST_BYTES
        return hardly_anything and not last.in_flight

    # The first look has nothing to compare with.
    world.clock.sleep(QUIET_S)
    return clock.wait_until(
        rests, deadline_s=DEADLINE_S, clock=world.clock, every_s=QUIET_S
    )


def _drop(
    directories: Sequence[Path], world: World
) -> Literal["of the machine", "of the files"]:
    """Drops caches: all of the machine if this is root, else those of the files that were
    copied."""
    drop = script(__package__, "drop")
    # The shell is this computer's: elsewhere it would empty the wrong machine's caches.
    if world.is_here and world.shell.run(drop, timeout_s=_DROP_S).exit_code == 0:
        return "of the machine"
    arguments = [f"{removal.HOST}{directory}" for directory in directories]
    program = script(__package__, "drop_files", "quiet", *arguments)
    removal.in_container(
        program, directories, world, "the page cache could not be emptied"
    )
    return "of the files"


@dataclass(frozen=True)
class _DiskCounts:
    """Counts of all devices: I/Os and bytes since the boot, and I/Os that are under way."""

    ios: float
    moved_bytes: float
    in_flight: float


def _counted(devices: Sequence[str], machine: Machine) -> _DiskCounts | None:
    """The counts of these devices; None if one is not there."""
    try:
        machine.refresh()  # an agent's answer of a moment ago would show no movement
        by_device = block_devices.counters_by_device(machine)
        counters = [by_device[device] for device in set(devices)]
    except (OSError, KeyError):
        return None

    def total(metric: str) -> float:
        return sum(device[f"disk_{metric}"] for device in counters)

    return _DiskCounts(
        ios=total("reads_total") + total("writes_total"),
        moved_bytes=total("read_bytes_total") + total("written_bytes_total"),
        in_flight=total("in_flight"),
    )
