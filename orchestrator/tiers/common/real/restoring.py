"""Real disks whose data are loaded once: what `Restorable` asks of tiers that have them, on one
machine or on several, each with the disks of its nodes. Snapshots are in the order of
`node_places.directories`."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from orchestrator.kernel import block_devices
from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.planning.node_disks import node_names
from orchestrator.platforms.common.machines import is_here, kernels, on
from orchestrator.powers import Machine, World
from orchestrator.system import at_once, clock, files
from orchestrator.system.shell import script
from orchestrator.tier import Tier
from orchestrator.tiers.common.real import node_places, real_disk, removal, snapshots
from orchestrator.tiers.common.real.node_places import MachineShare, shares
from orchestrator.units import format_bytes


def snapshots_of(
    tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
) -> tuple[Path, ...]:
    """One for each directory of a node, on its machine, in a folder of their own; none if every run
    loads: as the profile says, else where there is no room for a copy beside the data. On machines
    of their own its name has theirs, since what is known of a data set is in the one cache here."""
    names = node_names(len(sizes_bytes))
    machines = " ".join(
        filter(
            None,
            (tier.disk.of_nodes[node].machine for node in names if tier.disk.of_nodes),
        )
    )
    if machines:
        name = f"{name}-{hashlib.sha256(machines.encode()).hexdigest()[:8]}"
    taken = snapshots.paths(tier, node_places.directories(tier, names), name, world)
    if tier.disk.snapshots is not None:
        if tier.disk.snapshots.way == "none":
            return ()
        return taken
    each = _each(tier, NodesData(sizes_bytes, taken), world)
    if all(_has_room(tier, share, own) for share, own in each):
        return taken
    return ()


def are_there(taken: Sequence[Path], world: World) -> bool:
    """Whether each snapshot is on the machine of its node."""
    return all(
        on(node_places.node_of(path), world).machine.exists(str(path)) for path in taken
    )


def places(tier: Tier, nodes: int, world: World) -> Mapping[Path, int]:
    """Folder → how often it holds a node's data, with snapshots. All nodes are on one machine."""
    return snapshots.places(
        tier, node_places.holding(tier, node_names(nodes)), world.machine
    )


@contextmanager
def attached(tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
    """The nodes' directories, empty or restored; then caches are empty and the disks quiet."""
    each = _each(tier, data, world)
    brackets = [share.entered(_attached(tier, share, own)) for share, own in each]
    with at_once.entered(brackets, _in_turn(each)) as disks:
        yield _together([share for share, _ in each], disks)


@contextmanager
def loading(tier: Tier, data: NodesData, world: World) -> Iterator[tuple[Volume, ...]]:
    """Loads on the disks themselves."""
    each = _each(tier, data, world)
    brackets = [share.entered(_loading(tier, share, own)) for share, own in each]
    with at_once.entered(brackets, _in_turn(each)) as volumes:
        yield tuple(volume for of_machine in volumes for volume in of_machine)


_Each = list[tuple[MachineShare, NodesData]]


def _each(tier: Tier, data: NodesData, world: World) -> _Each:
    """Each machine with the data of its nodes."""
    sizes = dict(zip(node_names(len(data.sizes_bytes)), data.sizes_bytes, strict=True))

    def own(share: MachineShare) -> NodesData:
        taken = [
            path for path in data.snapshots if node_places.node_of(path) in share.nodes
        ]
        return NodesData([sizes[node] for node in share.nodes], taken, data.resumed)

    return [(share, own(share)) for share in shares(tier, list(sizes), world)]


def _in_turn(each: _Each) -> bool:
    """One kernel empties all its caches for each of its machines, and counts the I/Os of all."""
    return kernels([share.world.machine for share, _ in each]) < len(each)


def _together(of: Sequence[MachineShare], disks: Sequence[Disks]) -> Disks:
    """The disks of all machines as those of one: what was done on each is under its name."""
    if len(disks) == 1:
        return disks[0]
    volumes = tuple(volume for own in disks for volume in own.volumes)
    shown = {key: facts for own in disks for key, facts in own.facts["disks"].items()}
    restored = {
        share.machine: own.facts["restored"]
        for share, own in zip(of, disks, strict=True)
    }
    return Disks(
        volumes, {**disks[0].facts, "disks": shown, "restored": _slowest(restored)}
    )


def _slowest(restored: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How data came to the disks of several machines: the longest times, and whether all rest."""
    each = list(restored.values())
    slowest: dict[str, Any] = {"way": each[0]["way"]}
    for key in ("took_s", "quiet_wait_s"):
        if all(key in own for own in each):
            slowest[key] = max(own[key] for own in each)
    rests = [own["quiet"] for own in each if "quiet" in own]
    if rests:
        slowest["quiet"] = False if False in rests else None if None in rests else True
    return {**slowest, "machines": dict(restored)}


# ------------------------------------------------------------------ one machine


def _has_room(tier: Tier, share: MachineShare, data: NodesData) -> bool:
    """Whether the snapshots are there, or fit beside the data; else says so."""
    machine = share.world.machine
    if all(machine.exists(str(snapshot)) for snapshot in data.snapshots):
        return True
    for path, count in node_places.holding(tier, share.nodes).items():
        free_bytes = real_disk.free_bytes(path, machine)
        needed_bytes = 2 * count * max(data.sizes_bytes)
        if free_bytes < needed_bytes:
            free, needed = map(format_bytes, (free_bytes, needed_bytes))
            share.world.progress.note(
                f"each run loads its data: {path} has {free} free, and data with a "
                f"copy may need {needed} (docs/TIERS.md: snapshots)"
            )
            return False
    return True


@contextmanager
def _attached(
    tier: Tier, share: MachineShare, data: NodesData, kept: bool = False
) -> Iterator[Disks]:
    """`kept`: the directories become snapshots afterwards. Else restored ones stay for the next
    run, until something else needs their place: a load, or a gate."""
    taken = data.snapshots
    world = share.world
    by_command = bool(taken) and snapshots.chosen(tier).way == "command"
    stays = bool(taken) and not kept and not by_command
    where = node_places.directories(tier, share.nodes)
    began_s = world.clock.monotonic()
    sizes_bytes = dict(zip(share.nodes, data.sizes_bytes, strict=True))
    restored: dict[str, Any] = {"way": "none"}
    with ExitStack() as up:
        if by_command:
            restored = {
                "commands": up.enter_context(_by_command(tier, where, taken, world))
            }
        disks = up.enter_context(
            real_disk.attached(tier, sizes_bytes, world, by_command, stays)
        )
        if taken:
            if not by_command:
                restored = snapshots.restore(
                    list(zip(where, taken, strict=True)), world
                )
            took_s = round(world.clock.monotonic() - began_s, 1)
            restored |= {"way": snapshots.chosen(tier).way, "took_s": took_s}
            restored |= after_copying(_devices(disks.volumes), list(where), world)
        volumes = tuple(
            replace(each, restored=bool(taken), kept=kept) for each in disks.volumes
        )
        yield Disks(volumes, {**disks.facts, "restored": restored})


def _devices(volumes: Iterable[Volume]) -> list[str]:
    """As in /proc/diskstats."""
    devices = {
        name
        for volume in volumes
        for name in (volume.device, volume.wal_device)
        if name
    }
    return sorted(name.removeprefix("/dev/") for name in devices)


@contextmanager
def _by_command(
    tier: Tier, where: Mapping[Path, Path], taken: Sequence[Path], world: World
) -> Iterator[dict[str, Any]]:
    """Runs the profile's `restore` for each disk, on which it finds our folder empty."""
    said: dict[str, Any] = {}
    with ExitStack() as up:
        for path in dict.fromkeys(where.values()):
            real_disk.believable(tier, str(path), 0, world.machine)
            up.enter_context(real_disk.folders(path, (), world))
            said[str(path)] = snapshots.by_command(
                "restore", tier, path, where, taken, world
            )
        yield said


@contextmanager
def _loading(
    tier: Tier, share: MachineShare, data: NodesData
) -> Iterator[tuple[Volume, ...]]:
    taken = data.snapshots
    world = share.world
    if not data.resumed:
        snapshots.discard(taken, world)
    where = node_places.directories(tier, share.nodes)
    if data.resumed:
        before = data
    else:
        before = replace(data, snapshots=())
    with _attached(tier, share, before, kept=True) as disks:
        yield disks.volumes
        if snapshots.chosen(tier).way != "command":
            snapshots.save(tier, list(zip(where, taken, strict=True)), world)
            return
        for path in dict.fromkeys(where.values()):
            snapshots.by_command("save", tier, path, where, taken, world)
        for file in taken:
            file.parent.mkdir(parents=True, exist_ok=True)
            files.write_text(file, "saved by the profile's own command\n")


# ------------------------------------------------------------------ after copying
# Else a run would find in the page cache what was just copied, and would share the disk with what
# the kernel still writes.

DEADLINE_S = 120.0
QUIET_S = 1.0  # in which there were at most so many I/Os and bytes
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
    quiet = None
    now = _counted(devices, world.machine)
    if now is not None:

        def rests() -> bool:  # nothing is under way, and hardly anything was
            nonlocal now
            before = now
            now = _counted(devices, world.machine)
            if before is None or now is None:
                return False
            ios, moved_bytes, _ = (
                is_now - was for was, is_now in zip(before, now, strict=True)
            )
            return ios <= MOST_IOS and moved_bytes <= MOST_BYTES and not now[2]

        world.clock.sleep(QUIET_S)
        quiet = clock.wait_until(
            rests, deadline_s=DEADLINE_S, clock=world.clock, every_s=QUIET_S
        )
    if quiet is False:
        world.progress.warn(
            f"{' and '.join(devices)} did not rest within {DEADLINE_S:g} s"
        )
    waited_s = round(world.clock.monotonic() - began_s, 1)
    return {"caches_dropped": dropped, "quiet": quiet, "quiet_wait_s": waited_s}


def _drop(
    directories: Sequence[Path], world: World
) -> Literal["of the machine", "of the files"]:
    """Only root may drop all caches of the machine; else those of the files that were copied."""
    # else the shell is another machine's
    drop = script(__package__, "drop")
    here = is_here(world)
    if here and world.shell.run(drop, timeout_s=_DROP_S).exit_code == 0:
        return "of the machine"
    arguments = [f"{removal.HOST}{directory}" for directory in directories]
    program = script(__package__, "drop_files", "quiet", *arguments)
    removal.in_container(
        program, directories, world, "the page cache could not be emptied"
    )
    return "of the files"


_Counts = tuple[
    float, float, float
]  # of all devices: I/Os and bytes since the boot, in flight now


def _counted(devices: Sequence[str], machine: Machine) -> _Counts | None:
    """None if a device is not there."""
    try:
        machine.refresh()  # what was read before shows no movement
        counters = block_devices.counters_by_device(machine)
        own = [counters[device] for device in set(devices)]
    except (OSError, KeyError):
        return None

    def total(*metrics: str) -> float:
        return sum(device[f"disk_{metric}"] for device in own for metric in metrics)

    moved_bytes = total("read_bytes_total", "written_bytes_total")
    return total("reads_total", "writes_total"), moved_bytes, total("in_flight")
