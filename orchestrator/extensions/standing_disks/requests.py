"""Whether a standing disk can be put up as it is asked for, before anything of it is made."""

import re
from collections.abc import Iterable
from pathlib import Path

from orchestrator import units
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.standing_disks import standing
from orchestrator.powers import World
from orchestrator.tiers.common.emulated.standing_notes import StandingDisk

# It becomes a part of a container's name, and the name of a file.
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


def prepared(
    name: str,
    at: Path,
    tier: str,
    size_bytes: int | None,
    default_bytes: int,
    data: Path | None,
    world: World,
) -> StandingDisk:
    """Checks a request and returns the disk to be made. `data`: its image file, if it shall not be
    one in the cache. UsageError or UnavailableError, and nothing was changed, if the disk cannot be
    put up there."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a disk",
            advice="take --name with up to 40 of a to z, 0 to 9, `-`, `_` and `.`",
        )
    # A container of that name is there after a reboot and does not run. Its data are used again.
    others: dict[str, standing.KnownDisk] = {}
    for standing_disk in standing.standing_disks(world):
        others[standing_disk.disk.name] = standing_disk
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
        raise UsageError(f"--at is {at}", advice="give it in full, from /")
    # The kernel lists mounts by their real paths, so a link would never be found among them.
    at = Path(world.machine.real_path(str(at)))
    own_folder = _is_own_folder(at, left, world)
    own_image = data is None
    if left:
        # Data in the cache stay the cache's, also where the path of the same file was given.
        own_image = left.disk.own_image
        # The leftover is cleared last: whatever is refused above leaves things as they were.
        standing.clear(left, world)
    return StandingDisk(
        name=name,
        at=str(at),
        tier=tier,
        image=str(image),
        size_bytes=size_bytes,
        own_image=own_image,
        own_folder=own_folder,
    )


def _image(
    name: str, data: Path | None, left: standing.KnownDisk | None, world: World
) -> Path:
    """The file of the disk: as asked for, else that of what is left, else one in the cache."""
    image = world.cache / "standing" / f"{name}.img"
    if data:
        image = data
    elif left:
        image = Path(left.disk.image)
    return Path(world.machine.real_path(str(image.absolute())))


def _require_free_image(
    image: Path,
    name: str,
    left: standing.KnownDisk | None,
    others: Iterable[standing.KnownDisk],
) -> None:
    """UsageError if the file is another disk's, or the data of this disk are in another."""
    for other in others:
        if other.disk.image == str(image):
            raise UsageError(
                f"{image} has the data of the disk {other.disk.name} already",
                advice="give another --data, or the name of that disk",
            )
    if left and left.disk.image != str(image):
        raise UsageError(
            f"the data of the disk {name} are in {left.disk.image}, not in {image}",
            advice=f"`tierbench disk down {name}` first, or give another --name",
        )


def _is_own_folder(at: Path, left: standing.KnownDisk | None, world: World) -> bool:
    """Whether the mount point is ours to remove: one that we make, or made for what is left.
    UsageError if nothing can be mounted there."""
    if left is None or left.disk.at != str(at):
        return _check_place(at, world)
    # Still mounted from before, the folder must not be empty.
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
    # Data of a disk that was taken down with --keep-data: only the user knows if they are needed.
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
                advice=f"`mkdir -p {at.parent}`, or give another --at",
            )
        return True
    if str(at) in standing.mounted(world):
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
