"""Disks that stand outside of a campaign: any program gets a tier's disk at a path of this machine.

A container serves an image file as a block device and stays when the program ends; this machine
mounts the device. What must be known later is a note on the container (docs/TIERS.md: use)."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from orchestrator import model, parts, units
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.kernel import mounts
from orchestrator.platforms.common.machine_facts import text_of
from orchestrator.powers import Platform, World
from orchestrator.system.clock import wait_while
from orchestrator.tier import LatencyModel
from orchestrator.tiers.common.emulated import disk_server

_CONTAINER = "tierbench-standing-"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_MOUNT_S = 60.0
_UNMOUNT_S = 3600.0  # what is not written yet is written at the tier's speed
_STOP_S = 20.0
_STARTING_S = (
    5.0  # in which a container that is being made lets go of this machine's own mounts
)
_FEW = 3  # processes that a message names


@dataclass(frozen=True)
class StandingDisk:
    """One disk as it was asked for. `image`: the file that holds its bytes; `own_image`: it was
    made in the cache, and goes when the disk is taken down; `own_folder`: so does `at`."""

    name: str
    at: str
    tier: str
    image: str
    size_bytes: int
    own_image: bool
    own_folder: bool

    @property
    def container(self) -> str:
        return f"{_CONTAINER}{self.name}"


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
    disks = _noted(world.platform)
    if not disks:
        return ()
    mounted = _mounted(world)
    return tuple(
        KnownDisk(disk, runs, _own_mount(disk, mounted, world)) for disk, runs in disks
    )


def _own_mount(
    disk: StandingDisk, mounted: Mapping[str, mounts.MountPoint], world: World
) -> mounts.MountPoint | None:
    """The kernel keeps the path of the file behind a loop device: ours names the container, and is
    cut to "/" when that has died. What others have mounted there since is left alone."""
    mount = mounted.get(disk.at)
    if mount is None:
        return None
    device = Path(mount.source).name
    try:
        content = world.machine.read(f"/sys/class/block/{device}/loop/backing_file")
    except OSError:
        return None
    behind = content.strip()
    if behind == "/" or f"/{disk.container}/" in behind:
        return mount
    return None


def reminders(platform: Platform) -> tuple[str, ...]:
    """One sentence for each standing disk that runs: whatever uses it is other load on this
    machine, and only its own name takes it down."""
    texts: list[str] = []
    for disk, runs in _noted(platform):
        if runs:
            texts.append(
                f"the disk {disk.name} is up at {disk.at}: "
                f"`tierbench disk down {disk.name}` takes it down"
            )
    return tuple(texts)


def _noted(platform: Platform) -> list[tuple[StandingDisk, bool]]:
    """Each disk, and whether its container runs."""
    disks: list[tuple[StandingDisk, bool]] = []
    for container in platform.find_containers(disk_server.STANDING_ROLE):
        if container.note and container.name.startswith(_CONTAINER):
            disk = StandingDisk(**json.loads(container.note))
            disks.append((disk, container.state == "running"))
    return disks


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


# ------------------------------------------------------------------ up


def prepared(
    name: str,
    at: Path,
    tier: str,
    size_bytes: int | None,
    default_bytes: int,
    data: Path | None,
    world: World,
) -> StandingDisk:
    """Checks a request and returns the disk to be made. What is left of a disk of that name which
    no longer runs (after a reboot) is cleared away, and its data are used again. `data`: its image
    file, if it shall not be one in the cache. UsageError or UnavailableError, and nothing was
    changed, if the disk cannot be put up there."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a disk",
            advice="take --name with up to 40 of a to z, 0 to 9, `-`, `_` and `.`",
        )
    others = {standing.disk.name: standing for standing in standing_disks(world)}
    left = others.pop(name, None)
    if left and left.state == "up":
        raise UsageError(
            f"the disk {name} is up already, at {left.disk.at}",
            advice=f"give --name for another one, or `tierbench disk down {name}` first",
        )
    image = _image(name, data, left, world)
    _require_free_image(image, name, left, others.values())
    size_bytes = _size(
        image, size_bytes, default_bytes, world, again=bool(left or data)
    )
    if not at.is_absolute():
        raise UsageError(f"--at is {at}: give it in full, from /")
    at = Path(world.machine.real_path(str(at)))
    own_folder = _is_own_folder(at, left, world)
    own_image = data is None
    if left:
        own_image = left.disk.own_image
        _clear(left, world)
    return StandingDisk(
        name, str(at), tier, str(image), size_bytes, own_image, own_folder
    )


def _image(name: str, data: Path | None, left: KnownDisk | None, world: World) -> Path:
    """The file of the disk: as asked for, else that of what is left, else one in the cache."""
    image = world.cache / "standing" / f"{name}.img"
    if data:
        image = data
    elif left:
        image = Path(left.disk.image)
    return Path(world.machine.real_path(str(image.absolute())))


def _require_free_image(
    image: Path, name: str, left: KnownDisk | None, others: Iterable[KnownDisk]
) -> None:
    """UsageError if the file is another disk's, or the data of this disk are in another."""
    for other in others:
        if other.disk.image == str(image):
            raise UsageError(
                f"{image} has the data of the disk {other.disk.name} already"
            )
    if left and left.disk.image != str(image):
        raise UsageError(
            f"the data of the disk {name} are in {left.disk.image}, not in {image}",
            advice=f"`tierbench disk down {name}` first, or give another --name",
        )


def _is_own_folder(at: Path, left: KnownDisk | None, world: World) -> bool:
    """Whether the mount point is ours to remove: one that we make, or made for what is left.
    UsageError if nothing can be mounted there."""
    if left is None or left.disk.at != str(at):
        return _check_place(at, world)
    is_new = not left.mount and _check_place(at, world)
    return is_new or left.disk.own_folder


def _size(
    image: Path, asked_bytes: int | None, usual_bytes: int, world: World, again: bool
) -> int:
    """The size of the image that is there, or of the one to be made."""
    if not image.exists():
        size_bytes = asked_bytes or usual_bytes
        free_bytes = world.machine.free_bytes(str(image.parent))
        if free_bytes < size_bytes:
            free = units.format_bytes(free_bytes)
            size = units.format_bytes(size_bytes)
            raise UnavailableError(
                f"{image.parent} has {free} free, and the disk may take {size}",
                advice="give a smaller --size, or a file with --data on a larger disk",
            )
        return size_bytes
    if not again:
        raise UsageError(
            f"{image} has data that an earlier disk left",
            advice=f"`--data {image}` uses them; remove the file if nobody needs them",
        )
    size_bytes = image.stat().st_size
    if asked_bytes not in (None, size_bytes):
        raise UsageError(
            f"{image} is a disk of {units.format_bytes(size_bytes)}, which "
            "cannot be changed",
            advice="leave --size out",
        )
    return size_bytes


def _check_place(at: Path, world: World) -> bool:
    """Whether the mount point is still to be made. UsageError if nothing can be mounted there."""
    if not world.machine.exists(str(at)):
        if not world.machine.is_folder(str(at.parent)):
            raise UsageError(
                f"{at.parent} does not exist, so nothing can be mounted at {at}",
            )
        return True
    if str(at) in _mounted(world):
        raise UsageError(
            f"something is mounted at {at} already",
            advice="give another --at",
        )
    if not world.machine.is_folder(str(at)) or world.machine.listing(str(at)):
        raise UsageError(
            f"{at} is not an empty directory",
            advice="give one that is empty, or does not exist",
        )
    return False


def _clear(left: KnownDisk, world: World) -> None:
    """Removes all of a disk except its data."""
    if left.mount:
        _unmount(left.disk.at, world)
    world.platform.container(left.disk.container).remove(_STOP_S)
    if left.disk.own_folder:
        _drop_folder(left.disk.at)


@contextmanager
def put_up(
    disk: StandingDisk,
    base: disk_server.Limits,
    world: World,
    latency: LatencyModel | None = None,
) -> Iterator[parts.Disks]:
    """Makes the disk and mounts it. It stays, unless the block or anything before raises: then all
    of it is taken down again. `latency`: what its latencies are drawn from, if not constant."""
    image = Path(disk.image)
    with ExitStack() as undo:
        if not image.exists():
            undo.callback(image.unlink, missing_ok=True)
            disk_server.create(image, disk.size_bytes, world)
        note = json.dumps(asdict(disk))
        server, ready = disk_server.stand(
            disk.container, image, base, latency, note, world
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
        undo.pop_all()


def _mount(device: str, at: str, world: World) -> None:
    """Mounts as campaigns do; `nouuid`: disks may be copies of each other."""
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


# ------------------------------------------------------------------ down


def take_down(
    standing: KnownDisk, world: World, keep_data: bool = False
) -> Path | None:
    """Takes the disk down; returns its data's file if that stays. RunError if it is in use."""
    disk = standing.disk
    if standing.mount:
        world.progress.step(
            f"unmounting {disk.at}: what is not written yet is written first"
        )
        _unmount(disk.at, world)
        if standing.runs:
            _require_unused(disk, standing.mount, world)
    _clear(replace(standing, mount=None), world)
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
    """Who has files open below `at`, as fuser(1) knows it: it writes numbers of processes to
    standard output, and all else to standard error."""
    try:
        asked = world.shell.run(("fuser", "--mount", at), timeout_s=_MOUNT_S)
    except UnavailableError:
        return " (`fuser`, if it were installed, would say who uses it)"
    users = _named_processes(asked.out.split(), world)
    if users:
        return f"; used by {users}"
    return ""


def _users_of_device(device: str, world: World) -> str:
    """Processes that have the device (major:minor) mounted in a name space of their own."""
    users: list[str] = []
    for process in world.machine.listing("/proc"):
        if process.isdigit():
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


def _mounted(world: World) -> Mapping[str, mounts.MountPoint]:
    """Path → what is mounted there, the last of several."""
    try:
        return {mount.path: mount for mount in mounts.mount_points(world.machine)}
    except OSError as error:
        raise UnavailableError(
            f"what is mounted cannot be seen: {error}",
            advice="start this program on the machine that runs the containers",
        ) from error
