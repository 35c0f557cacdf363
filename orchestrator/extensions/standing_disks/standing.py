"""Disks that stand outside of a campaign: any program gets a tier's disk at a path of this machine.

A container serves an image file as a block device and stays when the program ends; this machine
mounts the device. What must be known later is a note on the container (docs/TIERS.md: use)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from orchestrator import model, parts
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.kernel import mounts
from orchestrator.platforms.common.machine_facts import text_of
from orchestrator.powers import World
from orchestrator.system.clock import wait_while
from orchestrator.tier import LatencyModel
from orchestrator.tiers.common.emulated import (
    disk_server,
    running_disks,
    standing_notes,
)
from orchestrator.tiers.common.emulated.standing_notes import StandingDisk

_MOUNT_S = 60.0
_UNMOUNT_S = 3600.0  # unwritten data are written at the tier's speed
_STOP_S = 20.0
# A container that is being made has all mounts of this machine for a moment, then lets go of them.
_STARTING_S = 5.0
_FEW = 3  # processes that a message names


@dataclass(frozen=True)
class KnownDisk:
    """A disk that was put up and not taken down. `mount`: its own at its path, if it is there."""

    disk: StandingDisk
    runs: bool
    mount: mounts.MountPoint | None

    @property
    def state(self) -> str:
        if not self.runs:
            return "not running"
        if self.mount:
            return "up"
        return "not mounted"


def standing_disks(world: World) -> tuple[KnownDisk, ...]:
    """All standing disks of this machine, by name."""
    disks = standing_notes.noted(world.platform)
    if not disks:
        return ()
    mount_at = mounted(world)
    return tuple(
        KnownDisk(disk, runs, _own_mount(disk, mount_at, world)) for disk, runs in disks
    )


def _own_mount(
    disk: StandingDisk, mount_at: Mapping[str, mounts.MountPoint], world: World
) -> mounts.MountPoint | None:
    """The mount of this disk. None if nothing, or something of others, is mounted at its path."""
    mount = mount_at.get(disk.at)
    if mount is None:
        return None
    device = Path(mount.source).name
    try:
        content = world.machine.read(f"/sys/class/block/{device}/loop/backing_file")
    except OSError:
        return None
    # The kernel keeps the path of the file behind a loop device.
    # Ours names the container, and is cut to "/" when that has died.
    behind = content.strip()
    if behind == "/" or f"/{disk.container}/" in behind:
        return mount
    return None


def named(name: str, world: World) -> KnownDisk:
    """The disk of this name, or at this path. UsageError if there is none."""
    by_name: dict[str, KnownDisk] = {}
    by_path: dict[str, KnownDisk] = {}
    for standing in standing_disks(world):
        by_name[standing.disk.name] = standing
        by_path[standing.disk.at] = standing
    asked = by_path.get(name) or by_name.get(name)
    if asked:
        return asked
    names = "there is none"
    if by_name:
        names = f"there are {', '.join(by_name)}"
    raise UsageError(
        f"no disk named {name!r}; {names}",
        advice="tierbench disk list",
    )


# ------------------------------------------------------------------ up and down


def clear(left: KnownDisk, world: World) -> None:
    """Removes all of a disk except its data."""
    if left.mount:
        _unmount(left.disk.at, world)
    world.platform.container(left.disk.container).remove(_STOP_S)
    if left.disk.own_folder:
        _drop_folder(left.disk.at)


@contextmanager
def put_up(
    disk: StandingDisk,
    settings: running_disks.ServerSettings,
    world: World,
    latency: LatencyModel | None = None,
) -> Iterator[parts.Disks]:
    """Makes the disk and mounts it. It stays, unless the block or anything before raises: then all
    of it is taken down again. `latency`: what its latencies are drawn from, if not constant."""
    image = Path(disk.image)
    with ExitStack() as undo:
        if not image.exists():
            # A file that was there before holds data of the user, and stays whatever fails.
            undo.callback(image.unlink, missing_ok=True)
            disk_server.create(image, disk.size_bytes, world)
        # The container outlives this program: what `disk down` must know is kept with it.
        note = json.dumps(asdict(disk))
        server, ready = disk_server.stand(
            disk.container, image, settings, latency, note, world
        )
        undo.callback(
            _quietly, world.platform.container(disk.container).remove, _STOP_S
        )
        if not world.machine.exists(disk.at):
            Path(disk.at).mkdir()
            undo.callback(_drop_folder, disk.at)
        _mount(str(ready["device"]), disk.at, world)
        undo.callback(_quietly, _unmount, disk.at, world)
        volume = model.Volume(disk.at, ready["device"], restored=False, server=server)
        yield parts.Disks((volume,), ready)
        # The disk stays from here on: nothing of it is undone.
        undo.pop_all()


def _mount(device: str, at: str, world: World) -> None:
    """Mounts as campaigns do. RunError if that fails."""
    # XFS refuses a second file system of the same UUID, and disks may be copies of each other.
    command = ("mount", "-t", "xfs", "-o", "noatime,nouuid", device, at)
    done = world.shell.run(command, timeout_s=_MOUNT_S)
    if done.exit_code != 0:
        raise RunError(
            f"{device} could not be mounted at {at}: {done.err.strip()}",
            advice=(
                "this needs root, on the machine and in the name space of the "
                "containers' engine. A file given with --data must hold an XFS"
            ),
        )


def _quietly(undo: Callable[..., object], *arguments: object) -> None:
    with suppress(TierbenchError):
        undo(*arguments)


def _drop_folder(at: str) -> None:
    with suppress(OSError):
        Path(at).rmdir()


def take_down(standing: KnownDisk, world: World, keep_data: bool) -> Path | None:
    """Takes the disk down; returns its data's file if that stays. RunError if it is in use."""
    disk = standing.disk
    if standing.mount:
        world.progress.step(f"unmounting {disk.at}: pending writes are finished first")
        _unmount(disk.at, world)
        # Users are looked for after it is unmounted here: our own mount would count as somebody's
        # use. Without its server the device is dead, whoever has it mounted.
        if standing.runs:
            _require_unused(disk, standing.mount, world)
    clear(replace(standing, mount=None), world)
    if keep_data or not disk.own_image:
        return Path(disk.image)
    Path(disk.image).unlink(missing_ok=True)
    return None


def _require_unused(disk: StandingDisk, mount: mounts.MountPoint, world: World) -> None:
    """RunError, and the disk is mounted again, if it is also mounted elsewhere."""
    users = wait_while(
        partial(_users_of_device, mount.device, world),
        deadline_s=_STARTING_S,
        clock=world.clock,
    )
    if users:
        # The mount is made again as it was: who uses the path goes on with it.
        _mount(mount.source, disk.at, world)
        raise RunError(
            f"the disk {disk.name} is in use: it is also mounted for {users}",
            advice=(
                "stop what uses it (perhaps a container that was given its path), "
                "then try again"
            ),
        )


def _unmount(at: str, world: World) -> None:
    done = world.shell.run(("umount", at), timeout_s=_UNMOUNT_S)
    if done.exit_code == 0:
        return
    why = done.err.strip().rstrip(".")
    raise RunError(
        f"{at} could not be unmounted: {why}{_users_of_path(at, world)}",
        advice="stop what uses it and try again; nothing was taken down",
    )


def _users_of_path(at: str, world: World) -> str:
    """Who has files open below `at`, as fuser(1) knows it."""
    try:
        asked = world.shell.run(("fuser", "--mount", at), timeout_s=_MOUNT_S)
    except UnavailableError:
        return " (install `fuser` to see which program uses it)"
    # It writes numbers of processes to standard output, and all else to standard error.
    users = _named_processes(asked.out.split(), world)
    if users:
        return f"; used by {users}"
    return ""


def _users_of_device(device: str, world: World) -> str:
    """Processes that have the device (major:minor) mounted in a name space of their own."""
    users: list[str] = []
    for process in world.machine.listing("/proc"):
        if process.isdigit():
            # A line of mountinfo (proc(5)): mount, parent, major:minor, …
            lines = text_of(world.machine, f"/proc/{process}/mountinfo").splitlines()
            if any(line.split(" ", 3)[2] == device for line in lines):
                users.append(process)
    return _named_processes(users, world)


def _named_processes(processes: Sequence[str], world: World) -> str:
    names = []
    for process in processes[:_FEW]:
        name = text_of(world.machine, f"/proc/{process}/comm").strip() or "process"
        names.append(f"{name} ({process})")
    more = ""
    if len(processes) > _FEW:
        more = f" and {len(processes) - _FEW} more"
    return ", ".join(names) + more


def mounted(world: World) -> Mapping[str, mounts.MountPoint]:
    """Path → what is mounted there, the last of several."""
    try:
        return {mount.path: mount for mount in mounts.mount_points(world.machine)}
    except OSError as error:
        raise UnavailableError(
            f"what is mounted cannot be seen: {error}",
            advice="start this program on the machine that runs the containers",
        ) from error
