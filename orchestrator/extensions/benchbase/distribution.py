"""Finds BenchBase: in a directory of the user's, or in an image that is named by its digest.

BENCHBASE_HOME names a directory with an unpacked distribution. It is copied into a container with a
Java runtime (our image `benchbase`) and never becomes part of an image. BENCHBASE_IMAGE names an
image such as BenchBase's own. It is pulled if it is not present."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator import errors, powers
from orchestrator.extensions.benchbase.config import (
    POSTGRESQL,
    YUGABYTEDB,
    JdbcDriver,
)
from orchestrator.platforms import own_images
from orchestrator.platforms.common import architectures

HOME_VARIABLE = "BENCHBASE_HOME"
IMAGE_VARIABLE = "BENCHBASE_IMAGE"
# A tag such as `latest` is another program next week: figures of two programs are no comparison.
_BY_DIGEST = re.compile(r"\S+@sha256:[0-9a-f]{64}")
_RUNTIME = "benchbase"  # our image
_WAYS = (
    f"set {HOME_VARIABLE} to the directory of an unpacked distribution, "
    "which holds benchbase.jar. docs/WORKLOADS.md says how to build "
    f"it. Or set {IMAGE_VARIABLE} to an image by its digest"
)
_JAR = "benchbase.jar"
# BenchBase is started from the first of these and reads the others from its working directory.
_PARTS = (_JAR, "lib", "config/plugin.xml")


@dataclass(frozen=True)
class BenchBaseSource:
    """What the user named: a directory, or else an image; both None: nothing."""

    home: Path | None = None
    image: str | None = None


NOWHERE = BenchBaseSource()


def named(environment: Mapping[str, str]) -> BenchBaseSource:
    """The source that variables of the environment name."""
    home = environment.get(HOME_VARIABLE)
    if home:
        return BenchBaseSource(home=Path(home))
    return BenchBaseSource(image=environment.get(IMAGE_VARIABLE) or None)


@dataclass(frozen=True)
class BenchBaseBuild:
    """BenchBase is in `folder` of a container of `image` that is given `files`. `identity` changes
    with its content: the hash of its program, or the image's digest."""

    image: str
    folder: str
    files: Mapping[str, Path]
    identity: str
    driver: JdbcDriver


def find(source: BenchBaseSource, database: str, world: powers.World) -> BenchBaseBuild:
    """Returns the distribution that is here. UnavailableError, with advice how to get one;
    UsageError for an image without a digest."""
    home = source.home
    if home is None:
        return _in_image(source.image, world)
    missing = _missing(home)
    if missing:
        raise _unavailable(f"{HOME_VARIABLE}={home} does not hold {missing}")
    driver = POSTGRESQL
    # YugabyteDB's own driver finds all nodes from one.
    if database == "yugabytedb" and any((home / "lib").glob("jdbc-yugabytedb-*.jar")):
        driver = YUGABYTEDB
    program = (home / _JAR).read_bytes()
    identity = hashlib.sha256(program).hexdigest()[:12]
    return BenchBaseBuild(
        image=own_images.tag(world.root, _RUNTIME),
        folder="/benchbase",
        files={"/benchbase": home},
        identity=identity,
        driver=driver,
    )


def _in_image(image: str | None, world: powers.World) -> BenchBaseBuild:
    name = _checked(image)
    if not world.platform.images.present(name):
        raise _unavailable(f"the image {name} is not here")
    return BenchBaseBuild(
        image=name,
        folder="/benchbase/profiles/postgres",
        files={},
        identity=name,
        # The image has PostgreSQL's driver only, which works with YugabyteDB as well.
        driver=POSTGRESQL,
    )


def _checked(image: str | None) -> str:
    if image is None:
        raise _unavailable(f"neither {HOME_VARIABLE} nor {IMAGE_VARIABLE} is set")
    if not _BY_DIGEST.fullmatch(image):
        raise errors.UsageError(
            f"{IMAGE_VARIABLE}={image} has no digest, so it may be another program later",
            advice="write NAME@sha256:…, as `docker inspect --format '{{index .RepoDigests 0}}' "
            f"{image}` prints it after a pull",
        )
    return image


def provide(source: BenchBaseSource, world: powers.World) -> None:
    """Pulls the image or builds the Java runtime if missing. Raises as `find`."""
    platform = world.platform
    if source.home is not None:
        find(source, "", world)
        own_images.provide(world.root, _RUNTIME, platform, world.progress)
        return
    image = _checked(source.image)
    if not platform.images.present(image):
        world.progress.step(f"pulling {image}", 60)
        if not platform.images.pull(image):
            raise _unavailable(f"the image {image} is not here and cannot be pulled")
    architectures.warn_of_emulation(image, world)


def whereabouts(source: BenchBaseSource, platform: powers.Platform) -> str:
    """Says where BenchBase is taken from, or that it is not here and what would be."""
    if source.home is not None:
        missing = _missing(source.home)
        if missing:
            return f"{HOME_VARIABLE}={source.home} does not hold {missing}"
        return f"in {source.home}"
    if source.image is None:
        return f"not here; only GENERATOR=benchbase needs it: {_WAYS}"
    if platform.images.present(source.image):
        return f"image {source.image}"
    return f"not here; GENERATOR=benchbase pulls {source.image}"


def where_it_is(engine: powers.Platform) -> str:
    """`whereabouts` of the source that the environment names."""
    return whereabouts(named(os.environ), engine)


def _missing(home: Path) -> str:
    """The parts of a distribution that a directory lacks; empty if it is whole."""
    missing = []
    for part in _PARTS:
        if not (home / part).exists():
            missing.append(part)
    return ", ".join(missing)


def _unavailable(what: str) -> errors.UnavailableError:
    return errors.UnavailableError(
        f"BenchBase is not available: {what}",
        advice=f"{_WAYS}; without BenchBase, leave out --generator (GENERATOR): the "
        "built-in workload needs nothing",
    )
