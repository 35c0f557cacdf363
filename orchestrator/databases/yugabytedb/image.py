"""The image that nodes run: which tags may hold it, whether one is here, and how to get one.

Tags in the order in which they are tried: the profile's `image`; else YugabyteDB's own, then ours,
built from a downloaded distribution (`make yugabyte-image TARBALL=…`). On machines with ARM
YugabyteDB's own ends in `-aarch64`: its plain tags are for x86-64 alone."""

import datetime
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from orchestrator.databases.yugabytedb.settings import Settings, read
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.model import ClusterSpec
from orchestrator.platforms import own_images
from orchestrator.platforms.common import architectures
from orchestrator.powers import Platform
from orchestrator.yugabyte import releases, versions

OFFICIAL = releases.REPOSITORY
PACKED = "tierbench/yugabytedb"
_TARBALL = re.compile(
    r"yugabyte-(\d+(?:\.\d+)+-b\d+)-(?:linux|el8|centos)-(x86_64|aarch64)\.tar"
)
_DOWNLOADS = "https://downloads.yugabyte.com"
# Architecture → the end of a distribution's name.
_BUILDS = {architectures.X86: "linux-x86_64", architectures.ARM: "el8-aarch64"}


def tags(settings: Settings, architecture: str = "") -> tuple[str, ...]:
    """The tags that may hold the image on machines of an architecture, the preferred one first."""
    # A profile's image stands alone: another would not be what it says.
    if settings.image:
        return (settings.image,)
    official = f"{OFFICIAL}:{settings.version}"
    packed = f"{PACKED}:{settings.version}"
    if architecture == architectures.ARM:
        return official + versions.ARM, packed, official
    return official, packed


def chosen(settings: Settings, platform: Platform) -> str:
    """The first tag whose image is here and for these machines; the preferred one if there is
    none."""
    images = platform.images
    candidates = tags(settings, images.architecture)
    for tag in candidates:
        if images.present(tag) and not images.mismatch(tag):
            return tag
    return candidates[0]


def need(settings: Settings, platform: Platform) -> str:
    """The tag to run. UnavailableError, with all ways to get the image, if it is not here, or is
    for another architecture."""
    images = platform.images
    tag = chosen(settings, platform)
    ways = advice(settings, platform)
    if images.present(tag):
        architectures.require_native(tag, images, ways)
        return tag
    # An image that is here for another architecture explains more than that none is here.
    for other in tags(settings, images.architecture):
        if images.present(other):
            architectures.require_native(other, images, ways)
    raise UnavailableError(f"the image {tag} is not here", advice=ways)


def advice(settings: Settings, platform: Platform) -> str:
    """All ways to get the image."""
    architecture = platform.images.architecture
    ways = platform.images.ways_to_get(tags(settings, architecture)[0])
    if settings.image:
        return (
            f"{ways}, or take `image` and the end of `version` that names an "
            "architecture out of the profile"
        )
    number = versions.dotted(settings.version.number)
    build = _BUILDS.get(architecture, _BUILDS[architectures.X86])
    file = f"{_DOWNLOADS}/releases/{number}/yugabyte-{settings.version}-{build}.tar.gz"
    return (
        f"{ways}; or download {file} and run `make yugabyte-image "
        "TARBALL=<the file>`. On emulated disks of this machine DB=auto "
        "measures PostgreSQL instead, and says so first"
    )


def obtain(spec: ClusterSpec, platform: Platform) -> str | None:
    """The tag, pulled if it was not here, if it can be; a wrong version reads as the default."""
    tag = chosen(read(spec)[0], platform)
    if platform.images.present(tag) or platform.images.pull(tag):
        return tag
    return None


def end_of_support(spec: ClusterSpec, today: datetime.date) -> str:
    """A sentence if a release would be started that is out of support, or soon will be."""
    return releases.end_of_support(str(read(spec)[0].version), today)


def distribution(tarball: Path, architecture: str = "") -> versions.Version:
    """The version in a downloaded file's name. UsageError if it is no distribution, or none for
    machines of this architecture."""
    match = _TARBALL.match(tarball.name)
    build = _BUILDS.get(architecture, _BUILDS[architectures.X86])
    file = f"yugabyte-<version>-b<build>-{build}.tar.gz"
    advice = f"TARBALL=…/{file}, as downloaded from {_DOWNLOADS}"
    if match is None or not tarball.is_file():
        raise UsageError(
            f"{tarball} is not a distribution of YugabyteDB", advice=advice
        )
    wrong = architectures.mismatch(architectures.named(match[2]), architecture)
    if wrong:
        raise UsageError(f"{tarball} {wrong}", advice=advice)
    return versions.parse(match[1])


def pack(
    tarball: Path, root: Path, platform: Platform, on_line: Callable[[str], None]
) -> str:
    """Builds our image `yugabytedb` around the distribution; returns the tag."""
    version = distribution(tarball, platform.images.architecture)
    tag = f"{PACKED}:{version}"
    with tempfile.TemporaryDirectory(
        dir=tarball.parent, prefix=".tierbench-"
    ) as context:
        for file in own_images.folder(root, "yugabytedb").iterdir():
            shutil.copy2(file, context)
        # The build names the file so; a link costs no second copy of a gigabyte.
        (Path(context) / "yugabyte.tar.gz").hardlink_to(tarball)
        platform.images.build(context, tag, on_line)
    return tag
