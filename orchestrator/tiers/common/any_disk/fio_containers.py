"""Containers of our image `disk` in which fio runs on a volume."""

from pathlib import Path

from orchestrator.model import Volume
from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, Mount, World

GATE_BYTES = 2 * 2**30  # of a disk that is made for the gate alone
SECOND = "/tier-2"  # where a second volume is mounted


def fio_container(
    name: str, role: str, volume: Volume, world: World, second: Volume | None = None
) -> ContainerSpec:
    """A container with fio, our jobs and the volume, and a `second` one if there is one."""
    mounts = [Mount(volume.name, "/tier")]
    if second is not None:
        mounts.append(Mount(second.name, SECOND))
    return own_images.container(
        "disk",
        name,
        ("sleep", "infinity"),
        world,
        role=role,
        # `sleep` as process 1 would ignore the signal that stops it.
        init=True,
        stop_timeout_s=1,
        mounts=tuple(mounts),
        folders={"/fio": _fio_jobs(world.root)},
        capabilities=("DAC_OVERRIDE",),  # files on the disk may be a database's
        placement=volume.placement,
    )


def _fio_jobs(root: Path) -> dict[str, bytes]:
    """Name → content of each of our job files, in the order of their names."""
    content: dict[str, bytes] = {}
    for job in sorted((root / "workloads" / "fio").glob("*")):
        if job.is_file():
            content[job.name] = job.read_bytes()
    return content
