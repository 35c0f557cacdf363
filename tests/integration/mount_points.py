"""File systems in files, mounted on this computer: they stand for a person's disks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.platforms import own_images
from tests import ROOT


def sh(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout.strip()


def made(image: Path, kind: str, size_bytes: int = 3 * 2**30) -> Path:
    with image.open("wb") as file:
        file.truncate(size_bytes)
    if kind == "ext4":
        # Else the kernel goes on to make it in the background, on the disk that is measured.
        sh(
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            str(image),
        )
        return image
    sh(
        *[
            "docker",
            "run",
            "--rm",
            "-v",
            f"{image.parent}:/images",
            "--entrypoint",
            f"mkfs.{kind}",
        ],
        *[own_images.tag(ROOT, "disk"), "-q", f"/images/{image.name}"],
    )
    return image


@contextmanager
def mounted_at(place: Path, source: str, options: str) -> Iterator[Path]:
    place.mkdir()
    sh("mount", "-o", options, source, str(place))
    try:
        yield place
    finally:
        sh("umount", str(place))
