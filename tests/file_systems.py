"""Disks that are none of ours: file systems on loop devices, mounted as a person would."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, Mount, World
from tests import ROOT


@contextmanager
def no_file_grows() -> Iterator[None]:
    """As on a full disk: whatever this process writes to a file is refused, though in other words
    (EFBIG)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def file_system(
    kind: str, folder: Path, world: World, size_bytes: int = 5 * 2**30
) -> Iterator[Path]:
    """`ext4`, or `xfs` with reflinks; removed afterwards with all that is on it."""
    image, place = folder / f"{kind}.img", folder / f"{kind}-mnt"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(size_bytes)
    try:
        if kind == "xfs":  # this machine may have no mkfs.xfs, our image has
            spec = ContainerSpec(
                name=f"{world.scope}-mkfs",
                image=own_images.need(ROOT, "disk", world.platform),
                entrypoint=("mkfs.xfs",),
                command=("-q", "-m", "reflink=1", f"/folder/{image.name}"),
                role="client",
                mounts=(Mount(str(folder), "/folder"),),
            )
            done = world.platform.once(spec, 60)
            assert done.exit_code == 0, done.out
        else:
            subprocess.run([f"mkfs.{kind}", "-q", "-F", str(image)], check=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)
    finally:
        image.unlink()
        place.rmdir()
