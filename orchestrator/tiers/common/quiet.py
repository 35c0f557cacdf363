"""After data were copied to a real disk: caches are dropped, and the disk comes to rest.

Else a run would find in the page cache what was just copied, and would share the disk with what
the kernel still writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from orchestrator.errors import RunError
from orchestrator.powers import Machine, World
from orchestrator.system.clock import wait_until
from orchestrator.tiers.common import snapshots

DEADLINE_S = 120.0
MOST_IOS = 20  # in a second, with at most a megabyte in them: then the second was quiet
MOST_SECTORS = 2_000
SECONDS_IN_A_ROW = 3
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
    seconds, began_s = _seconds(devices, world.machine), world.clock.monotonic()
    quiet = None
    if next(seconds) is not None:
        in_a_row = 0

        def rests() -> bool:
            nonlocal in_a_row
            in_a_row = in_a_row + 1 if next(seconds) else 0
            return in_a_row >= SECONDS_IN_A_ROW

        world.clock.sleep(1.0)
        quiet = wait_until(rests, deadline_s=DEADLINE_S, clock=world.clock, every_s=1.0)
    if quiet is False:
        world.progress.warn(f"{' and '.join(devices)} did not rest within {DEADLINE_S:g} s")
    waited_s = round(world.clock.monotonic() - began_s, 1)
    return {"caches_dropped": dropped, "quiet": quiet, "quiet_wait_s": waited_s}


def _drop(directories: Sequence[Path], world: World) -> Literal["of the machine", "of the files"]:
    """Only root may drop all caches of the machine; else those of the files that were copied."""
    if world.shell.run(("sh", "-c", _DROP), timeout_s=_DROP_S).exit_code == 0:
        return "of the machine"
    arguments = [f"{snapshots.HOST}{directory}" for directory in directories]
    done = snapshots.in_container(_DROP_FILES, arguments, directories, world)
    if done.exit_code != 0:
        raise RunError("the page cache could not be emptied", evidence=done.out)
    return "of the files"


def _seconds(devices: Sequence[str], machine: Machine) -> Iterator[bool | None]:
    """For each look: whether the time since the one before was quiet. None if that cannot be read.

    Of /proc/diskstats: reads, writes, sectors of both, and requests in flight (Documentation/
    admin-guide/iostats.rst).
    """
    before: tuple[int, int] | None = None
    while True:
        ios = sectors = in_flight = found = 0
        try:
            rows = [line.split() for line in machine.read("/proc/diskstats").splitlines()]
        except OSError:
            rows = []
        for row in rows:
            if len(row) >= 12 and row[2] in devices:
                found += 1
                ios += int(row[3]) + int(row[7])
                sectors += int(row[5]) + int(row[9])
                in_flight += int(row[11])
        if found < len(set(devices)):
            yield None
        elif before is None:
            yield False
        else:
            grown = ios - before[0], sectors - before[1]
            yield in_flight == 0 and grown[0] <= MOST_IOS and grown[1] <= MOST_SECTORS
        before = ios, sectors
