"""Which real disk is behind a path: mount, device, file system.

It is read from /proc/self/mountinfo and /sys/dev/block (Documentation/filesystems/proc.rst §3.5,
Documentation/ABI/stable/sysfs-block) of the machine that has the disk."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.kernel import block_devices
from orchestrator.powers import Machine


@dataclass(frozen=True)
class MountPoint:
    """One line of mountinfo. `device`: major:minor."""

    path: str
    device: str
    kind: str
    source: str
    options: str
    id: int


@dataclass(frozen=True)
class RealDisk:
    """`device`: as in /proc/diskstats, maybe a partition; `whole`: the disk that it is part of."""

    path: Path
    mount: MountPoint
    device: str
    whole: str
    facts: dict[str, Any]

    @property
    def node(self) -> str:
        return f"/dev/{self.device}"


def find(path: Path, machine: Machine) -> RealDisk:
    """The disk of a path. UsageError if it is none; UnavailableError if that cannot be seen."""
    if not path.is_absolute():
        raise UsageError(f"{path} is not a full path", advice="begin it with /")
    try:
        is_folder = machine.is_folder(str(path))
        mounts = mount_points(machine)
    except OSError as error:
        raise UnavailableError(
            f"which disk is behind {path} cannot be seen: {error}",
            advice="start this program on the machine that has the disk",
        ) from error
    if not is_folder:
        raise UsageError(
            f"{path} is not a directory",
            advice="mount the disk there first, or correct the path",
        )
    mount = holding(path, mounts, machine)
    device = device_name(mount, machine)
    if device is None:
        raise UsageError(
            f"{path} is on {mount.kind}, which no disk of this machine stands behind",
            advice="give a directory where a block device is mounted",
        )
    whole = block_devices.whole(device, machine)
    facts = {
        "mount_point": mount.path,
        "file_system": mount.kind,
        "mount_options": mount.options,
        **block_devices.facts(device, machine),
    }
    return RealDisk(path, mount, device, whole, facts)


def disk_below(path: Path, machine: Machine) -> dict[str, Any]:
    """What tells the disk below a path from others. OSError or UsageError if it cannot be seen."""
    mount = holding(path, mount_points(machine), machine)
    device = device_name(mount, machine)
    if device:
        facts = block_devices.facts(device, machine)
    else:
        facts = {}
    return {"file_system": mount.kind, "source": mount.source, **facts}


def mount_points(machine: Machine) -> tuple[MountPoint, ...]:
    """All mounts in our name space, in the order in which they were mounted."""
    return parsed(machine.read("/proc/self/mountinfo"))


def parsed(mountinfo: str) -> tuple[MountPoint, ...]:
    """The lines of a mountinfo file. OSError if one has another form."""
    try:
        return tuple(_mount_point(line) for line in mountinfo.splitlines())
    except ValueError as error:
        raise OSError(f"the list of mounts cannot be read: {error}") from error


def _mount_point(line: str) -> MountPoint:
    # Optional fields stand between the sixth and the dash, as many as the kernel likes.
    left, _, right = line.partition(" - ")
    number, _parent, device, _subtree, path, options = left.split(" ")[:6]
    kind, source, deep_options = [*right.split(" "), "", ""][:3]
    # Options of the mount itself, then those of the file system: `ro` may be in either.
    all_options = f"{options},{deep_options}".strip(",").split(",")
    return MountPoint(
        path=_unescaped(path),
        device=device,
        kind=kind,
        source=_unescaped(source),
        options=",".join(dict.fromkeys(all_options)),
        id=int(number),
    )


def _unescaped(text: str) -> str:
    """The kernel writes space, tab, newline and backslash as three octal digits."""
    return re.sub(r"\\([0-7]{3})", _character, text)


def _character(octal: re.Match[str]) -> str:
    return chr(int(octal[1], 8))


def holding(path: Path, mounts: tuple[MountPoint, ...], machine: Machine) -> MountPoint:
    """The deepest mount above `path`, of several the last. UsageError if there is none."""
    mount = deepest(machine.real_path(str(path)), mounts)
    if mount is None:
        raise UsageError(
            f"{path} is on nothing that is mounted here",
            advice="give a directory on a mounted disk: `findmnt` lists them",
        )
    return mount


def deepest(real_path: str, mounts: tuple[MountPoint, ...]) -> MountPoint | None:
    """The mount that a path without links is on; None if none is above it."""
    real = Path(real_path)
    for folder in (real, *real.parents):
        # The last of several mounts at one place hides the others.
        for mount in reversed(mounts):
            if mount.path == str(folder):
                return mount
    return None


def device_name(mount: MountPoint, machine: Machine) -> str | None:
    """The device by major:minor; of several (btrfs) the one that is named as the source."""
    link = f"/sys/dev/block/{mount.device}"
    if machine.exists(link):
        return Path(machine.real_path(link)).name
    # btrfs has a number that is no device's, since it may be on several.
    if mount.source.startswith("/dev/"):
        name = Path(machine.real_path(mount.source)).name
        if machine.exists(f"{block_devices.BLOCK}/{name}"):
            return name
    return None


def on_root_disk(disk: RealDisk, machine: Machine) -> bool:
    """Tells if the system itself is on the same disk, on whatever partition or volume of it."""
    system = holding(Path("/"), mount_points(machine), machine)
    system_device = device_name(system, machine)
    if system_device is None:
        return False
    # The same disk may be behind other partitions, volumes or arrays.
    system_disks = block_devices.physical(system_device, machine)
    return not system_disks.isdisjoint(block_devices.physical(disk.device, machine))


def is_there(disk: RealDisk, machine: Machine) -> bool:
    """Tells if the same disk is still mounted at the same place."""
    if not machine.exists(f"{block_devices.BLOCK}/{disk.device}"):
        return False
    return any(_is_same(mount, disk.mount) for mount in mount_points(machine))


def _is_same(left: MountPoint, right: MountPoint) -> bool:
    # The mount's number tells it from a later one at the same place.
    if left.id != right.id or left.path != right.path:
        return False
    return left.device == right.device
