"""Finds BenchBase: in a directory of the user's, or in its official image.

BENCHBASE_HOME names a directory with an unpacked distribution. It is copied into a container with a
Java runtime (our image `benchbase`) and never becomes part of an image. Without
BENCHBASE_HOME the official image is used, and pulled if it is not present."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator import errors, powers
from orchestrator.load_generators.benchbase.config import (
    POSTGRESQL,
    YUGABYTEDB,
    JdbcDriver,
)
from orchestrator.platforms import own_images

OFFICIAL_IMAGE = "benchbase.azurecr.io/benchbase-postgres:latest"
HOME_VARIABLE = "BENCHBASE_HOME"
_RUNTIME = "benchbase"  # our image
_JAR = "benchbase.jar"
# BenchBase is started from the first of these and reads the others from its working directory.
_PARTS = (_JAR, "lib", "config/plugin.xml")


@dataclass(frozen=True)
class BenchBaseBuild:
    """BenchBase is in `folder` of a container of `image` that is given `files`. `identity` changes
    with its content: the hash of its program, or the image's name and id."""

    image: str
    folder: str
    files: Mapping[str, Path]
    identity: str
    driver: JdbcDriver


def find(home: Path | None, database: str, world: powers.World) -> BenchBaseBuild:
    """Returns the distribution that is here. UnavailableError, with advice how to get one."""
    if home is None:
        return _official(world)
    missing = _missing(home)
    if missing:
        raise _unavailable(f"{HOME_VARIABLE}={home} does not hold {missing}", world)
    program = (home / _JAR).read_bytes()
    driver = POSTGRESQL
    # YugabyteDB's own driver finds all nodes from one.
    if database == "yugabytedb" and any((home / "lib").glob("jdbc-yugabytedb-*.jar")):
        driver = YUGABYTEDB
    return BenchBaseBuild(
        image=own_images.tag(world.root, _RUNTIME),
        folder="/benchbase",
        files={"/benchbase": home},
        identity=hashlib.sha256(program).hexdigest()[:12],
        driver=driver,
    )


def _official(world: powers.World) -> BenchBaseBuild:
    image_id = world.platform.images.id(OFFICIAL_IMAGE)
    if image_id is None:
        raise _unavailable(f"the image {OFFICIAL_IMAGE} is not here", world)
    return BenchBaseBuild(
        image=OFFICIAL_IMAGE,
        folder="/benchbase/profiles/postgres",
        files={},
        # It is not known to have a tag of a release, so its id says which one was used.
        identity=f"{OFFICIAL_IMAGE}@{image_id}",
        # The image has PostgreSQL's driver only, which works with YugabyteDB as well.
        driver=POSTGRESQL,
    )


def provide(home: Path | None, world: powers.World) -> None:
    """Pulls the official image or builds the Java runtime if missing. Raises as `find`."""
    platform = world.platform
    if home is not None:
        find(home, "", world)
        own_images.provide(world.root, _RUNTIME, platform, world.progress)
    elif not platform.images.present(OFFICIAL_IMAGE):
        world.progress.step(f"pulling {OFFICIAL_IMAGE}", 60)
        if not platform.images.pull(OFFICIAL_IMAGE):
            what = f"the image {OFFICIAL_IMAGE} is not here and cannot be pulled"
            raise _unavailable(what, world)


def whereabouts(home: Path | None, platform: powers.Platform) -> str:
    """Says where BenchBase is taken from, or that it is not here and what would be."""
    if home is not None:
        missing = _missing(home)
        if missing:
            return f"{HOME_VARIABLE}={home} does not hold {missing}"
        return f"in {home}"
    image_id = platform.images.id(OFFICIAL_IMAGE)
    if image_id is not None:
        return f"image {OFFICIAL_IMAGE}, {image_id}"
    return f"not here; only GENERATOR=benchbase needs it, which pulls {OFFICIAL_IMAGE}"


def _missing(home: Path) -> str:
    return ", ".join(part for part in _PARTS if not (home / part).exists())


def _unavailable(what: str, world: powers.World) -> errors.UnavailableError:
    ways = world.platform.images.ways_to_get(OFFICIAL_IMAGE)
    return errors.UnavailableError(
        f"BenchBase is not available: {what}",
        advice=f"either {ways}, or set BENCHBASE_HOME to the directory of an "
        "unpacked distribution (the one with benchbase.jar); without "
        "BenchBase, leave out --generator (GENERATOR): the built-in "
        "workload needs nothing",
    )
