"""Our container images: named by the content of their folder, so that "present" means "up to date".

`docker/<name>/` is built as `tierbench/<name>:<hash of its files>`, FROM debian:trixie-slim.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from orchestrator.errors import UnavailableError
from orchestrator.protocols import Containers

BASE_REPOSITORY, BASE_TAG = "debian", "trixie-slim"
BASE = f"{BASE_REPOSITORY}:{BASE_TAG}"
OURS = ("disk", "client", "postgres")


def content_hash(folder: Path) -> str:
    """Twelve hexadecimal digits over names and contents of all files below `folder`."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def tag(root: Path, name: str) -> str:
    """The image of `docker/<name>/` as it is now in the project folder `root`."""
    return f"tierbench/{name}:{content_hash(root / 'docker' / name)}"


def need(root: Path, name: str, containers: Containers) -> str:
    """The tag of an image of ours that must be there. UnavailableError says how to get it."""
    wanted = tag(root, name)
    if not containers.image_present(wanted):
        raise UnavailableError(
            f"the image {wanted} is not here", advice="run `make setup`: it builds our images"
        )
    return wanted
