"""Disks that `tierbench disk` has put up, by the notes on their containers.

Here, and not where they are put up, because a campaign beside one must say that it is there."""

import json
from dataclasses import dataclass

from orchestrator.powers import Platform
from orchestrator.tiers.common.emulated import disk_server

_CONTAINER = "tierbench-standing-"


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


def reminders(platform: Platform) -> tuple[str, ...]:
    """One sentence for each standing disk that runs.

    Whoever uses such a disk is other load on this machine. Only the disk's own name takes it down.
    """
    texts: list[str] = []
    for disk, runs in noted(platform):
        if runs:
            texts.append(
                f"the disk {disk.name} is up at {disk.at}: "
                f"`tierbench disk down {disk.name}` takes it down"
            )
    return tuple(texts)


def noted(platform: Platform) -> list[tuple[StandingDisk, bool]]:
    """Each disk, and whether its container runs."""
    disks: list[tuple[StandingDisk, bool]] = []
    for container in platform.find_containers(disk_server.STANDING_ROLE):
        if container.note and container.name.startswith(_CONTAINER):
            disk = StandingDisk(**json.loads(container.note))
            disks.append((disk, container.state.is_running))
    return disks
