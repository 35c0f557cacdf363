"""Which real disk is behind a path: mount, device, file system, caches, space.

From /proc/self/mountinfo and /sys/dev/block (Documentation/filesystems/proc.rst §3.5,
Documentation/ABI/stable/sysfs-block). `root` is "/" in production; tests point it at a fixture.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError

_SECTOR_BYTES = 512


@dataclass(frozen=True)
class MountPoint:
    """One line of mountinfo. `device` is major:minor; `subtree` what of the file system shows."""

    path: str
    device: str
    subtree: str
    kind: str
    source: str
    options: str
    id: int


@dataclass(frozen=True)
class RealDisk:
    """The disk under a path. `device` as in /proc/diskstats (may be a partition); `whole` the disk
    that holds it, which is what a control group limits."""

    path: Path
    mount: MountPoint
    device: str
    whole: str
    facts: dict[str, Any]

    @property
    def node(self) -> str:
        return f"/dev/{self.device}"


def find(path: Path, root: Path = Path("/")) -> RealDisk:
    """UsageError where `path` is no directory, or is on no block device of this machine."""
    if not path.is_absolute():
        raise UsageError(f"`path` is {path}: give it in full, from /")
    if not path.is_dir():
        raise UsageError(
            f"{path} is not a directory",
            advice="mount the disk there first, or correct `path` in the profile",
        )
    mount = holding(path, mount_points(root))
    device = _device_name(mount, root)
    if device is None:
        raise UsageError(
            f"{path} is on {mount.kind}, which no disk of this machine stands behind",
            advice="give a directory where a block device is mounted",
        )
    whole = _whole(device, root)
    return RealDisk(path, mount, device, whole, dict(_facts(mount, device, whole, root)))


def mount_points(root: Path = Path("/")) -> tuple[MountPoint, ...]:
    """All that is mounted in our name space, in the order in which it was mounted."""
    text = (root / "proc/self/mountinfo").read_text()
    return tuple(_mount_point(line) for line in text.splitlines())


def _mount_point(line: str) -> MountPoint:
    left, _, right = line.partition(" - ")
    number, _parent, device, subtree, path, options = left.split(" ")[:6]
    kind, source, deep_options = [*right.split(" "), "", ""][:3]
    return MountPoint(
        path=_unescaped(path),
        device=device,
        subtree=_unescaped(subtree),
        kind=kind,
        source=_unescaped(source),
        options=",".join(dict.fromkeys(f"{options},{deep_options}".strip(",").split(","))),
        id=int(number),
    )


def _unescaped(text: str) -> str:
    """The kernel writes space, tab, newline and backslash as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def holding(path: Path, mounts: tuple[MountPoint, ...]) -> MountPoint:
    """The mount that `path` is on: the deepest above it; of several at one place, the last."""
    real = path.resolve()
    above = {str(real), *(str(parent) for parent in real.parents)}
    found = [mount for mount in mounts if mount.path in above]
    if not found:
        raise UsageError(f"{path} is on nothing that is mounted here")
    deepest = max(len(mount.path) for mount in found)
    return [mount for mount in found if len(mount.path) == deepest][-1]


def _device_name(mount: MountPoint, root: Path) -> str | None:
    """By major:minor; file systems with several devices (btrfs) have none of their own there, but
    name one as their source."""
    link = root / "sys/dev/block" / mount.device
    if link.exists():
        return Path(os.path.realpath(link)).name
    if mount.source.startswith("/dev/"):
        name = Path(os.path.realpath(root / mount.source.lstrip("/"))).name
        if (root / "sys/class/block" / name).exists():
            return name
    return None


def _whole(device: str, root: Path) -> str:
    place = Path(os.path.realpath(root / "sys/class/block" / device))
    return place.parent.name if (place / "partition").exists() else device


def on_root_disk(disk: RealDisk, root: Path = Path("/")) -> bool:
    """Whether the system itself is on the same disk, be it on another partition."""
    system = holding(Path("/"), mount_points(root))
    device = _device_name(system, root)
    return device is not None and _whole(device, root) == disk.whole


def is_there(disk: RealDisk, root: Path = Path("/")) -> bool:
    """Whether the same disk is still mounted at the same place."""
    if not (root / "sys/class/block" / disk.device).exists():
        return False
    return any(
        (one.id, one.path, one.device) == (disk.mount.id, disk.mount.path, disk.mount.device)
        for one in mount_points(root)
    )


def _facts(mount: MountPoint, device: str, whole: str, root: Path) -> Iterator[tuple[str, Any]]:
    """What a reader must know of the disk. The cache is the one that the kernel knows of: a host
    cache of the provider is below what a guest can see."""
    yield "device", device
    yield "disk", whole
    yield "mount_point", mount.path
    yield "file_system", mount.kind
    yield "mount_options", mount.options
    block = root / "sys/class/block"
    for name, file in (
        ("write_cache", block / whole / "queue/write_cache"),
        ("scheduler", block / whole / "queue/scheduler"),
        ("rotational", block / whole / "queue/rotational"),
        ("max_io_kib", block / whole / "queue/max_sectors_kb"),
        ("model", block / whole / "device/model"),
    ):
        with suppress(OSError):
            yield name, file.read_text().strip()
    with suppress(OSError, ValueError):
        yield "size_bytes", int((block / device / "size").read_text()) * _SECTOR_BYTES
