"""The image that nodes run: which tags may hold it, whether one is here, and how to get one.

Tags in the order in which they are tried: the profile's `image`; else YugabyteDB's own, then ours,
built from a downloaded distribution (`make yugabyte-image TARBALL=…`)."""

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from orchestrator.databases.yugabytedb.settings import Settings, read
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.model import ClusterSpec
from orchestrator.platforms import own_images
from orchestrator.powers import Platform
from orchestrator.yugabyte import releases
from orchestrator.yugabyte.versions import Version, dotted, parse

OFFICIAL = releases.REPOSITORY
PACKED = "tierbench/yugabytedb"
_TARBALL = re.compile(
    r"yugabyte-(\d+(?:\.\d+)+-b\d+)-(?:linux|el8|centos)-(x86_64|aarch64)\.tar"
)
_DOWNLOADS = "https://downloads.yugabyte.com"


def tags(settings: Settings) -> tuple[str, ...]:
    """The tags that may hold the image, the preferred one first."""
    if settings.image:
        return (settings.image,)
    return f"{OFFICIAL}:{settings.version}", f"{PACKED}:{settings.version}"


def chosen(settings: Settings, platform: Platform) -> str:
    """The first tag whose image is here; the preferred one if there is none."""
    candidates = tags(settings)
    for tag in candidates:
        if platform.images.present(tag):
            return tag
    return candidates[0]


def need(settings: Settings, platform: Platform) -> str:
    """The tag to run. UnavailableError, with all ways to get the image, if it is not here."""
    tag = chosen(settings, platform)
    if not platform.images.present(tag):
        raise UnavailableError(
            f"the image {tag} is not here", advice=advice(settings, platform)
        )
    return tag


def advice(settings: Settings, platform: Platform) -> str:
    """All ways to get the image."""
    ways = platform.images.ways_to_get(tags(settings)[0])
    if settings.image:
        return f"{ways}, or take `image` out of the profile"
    number = dotted(settings.version.number)
    file = f"{_DOWNLOADS}/releases/{number}/yugabyte-{settings.version}-linux-x86_64.tar.gz"
    return (
        f"{ways}; or download {file} and run `make yugabyte-image "
        "TARBALL=<the file>`. DB=auto takes PostgreSQL instead and says so "
        "in the report"
    )


def obtain(spec: ClusterSpec, platform: Platform) -> str | None:
    """The tag, pulled if it was not here, if it can be; a wrong version reads as the default."""
    tag = chosen(read(spec)[0], platform)
    if platform.images.present(tag) or platform.images.pull(tag):
        return tag
    return None


def distribution(tarball: Path) -> Version:
    """The version in a downloaded file's name. UsageError if it is no distribution."""
    match = _TARBALL.match(tarball.name)
    if match is None or not tarball.is_file():
        raise UsageError(
            f"{tarball} is not a distribution of YugabyteDB",
            advice="TARBALL=…/yugabyte-<version>-b<build>-linux-x86_64.tar.gz, as "
            f"downloaded from {_DOWNLOADS}",
        )
    return parse(match[1])


def pack(
    tarball: Path, root: Path, platform: Platform, on_line: Callable[[str], None]
) -> str:
    """Builds our image `yugabytedb` around the distribution; returns the tag."""
    tag = f"{PACKED}:{distribution(tarball)}"
    with tempfile.TemporaryDirectory(
        dir=tarball.parent, prefix=".tierbench-"
    ) as context:
        for file in own_images.folder(root, "yugabytedb").iterdir():
            shutil.copy2(file, context)
        # The build names the file so; a link costs no second copy of a gigabyte.
        (Path(context) / "yugabyte.tar.gz").hardlink_to(tarball)
        platform.images.build(context, tag, on_line)
    return tag
