"""The image of the stand-in for YugabyteDB (tests/standin), built where it is not there yet."""

from __future__ import annotations

from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from tests import ROOT


def provide(engine: DockerPlatform) -> str:
    """Returns its tag."""
    folder = ROOT / "tests" / "standin"
    tag = f"tierbench/yugabytedb-standin:{own_images.content_hash(folder)}"
    if not engine.images.present(tag):
        engine.images.build(str(folder), tag, lambda _line: None)
    return tag
