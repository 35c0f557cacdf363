"""After data were copied to a real disk: caches are dropped, and the disk comes to rest.

Else a run would find in the page cache what was just copied, and would share the disk with what
the kernel still writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orchestrator.errors import RunError
from orchestrator.platforms.common.machines import is_here
from orchestrator.powers import Machine, World
from orchestrator.system.clock import wait_until
from orchestrator.tiers.common.real import removal

DEADLINE_S = 120.0
QUIET_S = 1.0  # in which there were at most so many I/Os and sectors (a megabyte)
MOST_IOS = 20
MOST_SECTORS = 2_000
_LOOK_S = 0.2
_DROP_S = 300.0
_DROP = "sync && echo 3 > /proc/sys/vm/drop_caches"  # Documentation/admin-guide/sysctl/vm.rst
# dd's `nocache` is posix_fadvise(DONTNEED); with `count=0` it is for the whole file.
_DROP_FILES = 'find "$@" -type f -exec dd if={} iflag=nocache count=0 status=none \\;'


def after_copying(
    devices: Sequence[str], directories: Sequence[Path], world: World
) -> dict[str, Any]:
    """Drops caches, then waits until `devices` (as in /proc/diskstats) are quiet.

    Returns facts: `caches_dropped`, `quiet` (False: not within the deadline; None: their counters
    cannot be read) and `quiet_wait_s`. RunError if no cache could be dropped.
    """
    world.progress.step("dropping caches, then waiting until the disk is quiet")
    dropped = _drop(directories, world)
    began_s, quiet = world.clock.monotonic(), None
    since_s, before = began_s, _counted(devices, world.machine)
    if before is not None:

        def rests() -> bool:
            nonlocal since_s, before
            now_s, now = world.clock.monotonic(), _counted(devices, world.machine)
            if not _is_calm(before, now):
                since_s, before = now_s, now
            return now_s - since_s >= QUIET_S - _LOOK_S / 2

        world.clock.sleep(_LOOK_S)
        quiet = wait_until(rests, deadline_s=DEADLINE_S, clock=world.clock, every_s=_LOOK_S)
    if quiet is False:
        world.progress.warn(f"{' and '.join(devices)} did not rest within {DEADLINE_S:g} s")
    waited_s = round(world.clock.monotonic() - began_s, 1)
    return {"caches_dropped": dropped, "quiet": quiet, "quiet_wait_s": waited_s}


def _drop(directories: Sequence[Path], world: World) -> Literal["of the machine", "of the files"]:
    """Only root may drop all caches of the machine; else those of the files that were copied."""
    here = is_here(world)  # else the shell is another machine's
    if here and world.shell.run(("sh", "-c", _DROP), timeout_s=_DROP_S).exit_code == 0:
        return "of the machine"
    arguments = [f"{removal.HOST}{directory}" for directory in directories]
    program = ("bash", "-c", _DROP_FILES, "quiet", *arguments)
    done = removal.in_container(program, directories, world)
    if done.exit_code != 0:
        raise RunError("the page cache could not be emptied", evidence=done.out)
    return "of the files"


@dataclass(frozen=True)
class _Counts:
    """Of all devices, since the boot; `in_flight` now."""

    ios: int
    sectors: int
    in_flight: int


def _is_calm(before: _Counts | None, now: _Counts | None) -> bool:
    """Whether nothing is under way, and hardly anything was since `before`."""
    if before is None or now is None or now.in_flight:
        return False
    return now.ios - before.ios <= MOST_IOS and now.sectors - before.sectors <= MOST_SECTORS


def _counted(devices: Sequence[str], machine: Machine) -> _Counts | None:
    """From /proc/diskstats: reads and writes, sectors of both, and requests in flight
    (Documentation/admin-guide/iostats.rst). None if a device is not there."""
    try:
        machine.refresh()  # what was read before shows no movement
        rows = [line.split() for line in machine.read("/proc/diskstats").splitlines()]
    except OSError:
        return None
    ours = [row for row in rows if len(row) >= 12 and row[2] in devices]
    if len(ours) < len(set(devices)):
        return None

    def total(*fields: int) -> int:
        return sum(int(row[field]) for row in ours for field in fields)

    return _Counts(total(3, 7), total(5, 9), total(11))
