"""The image that nodes run: which tags may hold it, whether one is here, and how to get one.

Looked for in this order: what the profile names, YugabyteDB's own, ours made from a downloaded
distribution (`make yugabyte-image TARBALL=…`).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from orchestrator.databases.common.yugabyte.versions import Version, dotted, parse
from orchestrator.databases.yugabytedb.settings import Settings, read
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.model import ClusterSpec
from orchestrator.platforms import own_images
from orchestrator.powers import Platform

OFFICIAL, PACKED = "yugabytedb/yugabyte", "tierbench/yugabytedb"
_TARBALL = re.compile(r"yugabyte-(\d+(?:\.\d+)+)-b(\d+)-(?:linux|el8|centos)-(x86_64|aarch64)\.tar")
_DOWNLOADS = "https://downloads.yugabyte.com"


def tags(asked: Settings) -> tuple[str, ...]:
    """Where the image may be, the preferred first."""
    if asked.image:
        return (asked.image,)
    return f"{OFFICIAL}:{asked.version}", f"{PACKED}:{asked.version}"


class Present(Protocol):
    def image_present(self, tag: str) -> bool: ...


def chosen(asked: Settings, platform: Present) -> str:
    """The first tag that is here; the preferred one where none is."""
    return next((tag for tag in tags(asked) if platform.image_present(tag)), tags(asked)[0])


def need(asked: Settings, platform: Platform) -> str:
    """The tag to run. UnavailableError says all ways to get it."""
    tag = chosen(asked, platform)
    if not platform.image_present(tag):
        raise UnavailableError(f"the image {tag} is not here", advice=advice(asked, platform))
    return tag


def advice(asked: Settings, platform: Platform) -> str:
    if asked.image:
        return f"{platform.ways_to_get(asked.image)}, or take `image` out"
    number = dotted(asked.version.number)
    distribution = f"{_DOWNLOADS}/releases/{number}/yugabyte-{asked.version}-linux-x86_64.tar.gz"
    return (
        f"{platform.ways_to_get(tags(asked)[0])}; or download {distribution} and run "
        "`make yugabyte-image TARBALL=<the file>`. DB=auto takes PostgreSQL instead and says so in "
        "the report"
    )


class Engine(Protocol):
    """What is asked of a platform to get the image."""

    def image_present(self, tag: str) -> bool: ...
    def pull(self, tag: str) -> bool: ...
    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None: ...


def obtain(spec: ClusterSpec, engine: Engine) -> str | None:
    """The tag, pulled if it was not here; None where it can neither be found nor pulled.

    Mistakes in the profile are not judged here: a wrong version reads as the default one.
    """
    asked, _ = read(spec)
    for tag in tags(asked):
        if engine.image_present(tag):
            return tag
    preferred = tags(asked)[0]
    return preferred if engine.pull(preferred) else None


# ------------------------------------------------------------------ from a distribution


def distribution(tarball: Path) -> Version:
    """The version that a downloaded file's name says. UsageError where it says none."""
    found = _TARBALL.match(tarball.name)
    if found is None or not tarball.is_file():
        raise UsageError(
            f"{tarball} is not a distribution of YugabyteDB",
            advice="TARBALL=…/yugabyte-<version>-b<build>-linux-x86_64.tar.gz, as downloaded from "
            f"{_DOWNLOADS}",
        )
    return parse(f"{found[1]}-b{found[2]}")


def pack(tarball: Path, root: Path, engine: Engine, on_line: Callable[[str], None]) -> str:
    """Builds our image `yugabytedb` around the distribution; returns the tag."""
    version = distribution(tarball)
    tag = f"{PACKED}:{version}"
    with tempfile.TemporaryDirectory(dir=tarball.parent, prefix=".tierbench-") as made:
        for file in own_images.folder(root, "yugabytedb").iterdir():
            shutil.copy2(file, made)
        # The context needs the file under one name; a link costs no second copy of a gigabyte.
        (Path(made) / "yugabyte.tar.gz").hardlink_to(tarball)
        engine.build(made, tag, on_line)
    return tag
