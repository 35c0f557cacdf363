"""Processor architectures of engines and of images, by the names that images have for them."""

from collections.abc import Collection

from orchestrator.errors import UnavailableError
from orchestrator.powers import Images, World

ARM = "arm64"
X86 = "amd64"
# Names of kernels and engines → names of images. Others are not compared.
_NAMES = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}


def named(text: object) -> str:
    """The image's name for an architecture; "" for one that is not known."""
    return _NAMES.get(str(text), "")


def common(different: Collection[str]) -> str:
    """The architecture that all machines have; "" if they differ."""
    if len(different) == 1:
        return next(iter(different))
    return ""


def mismatch(built_for: str, runs_on: str) -> str:
    """What is wrong with an image on an engine; "" if nothing is, or if either is not known."""
    if not built_for or not runs_on or built_for == runs_on:
        return ""
    return f"is built for {built_for}; the engine runs on {runs_on}"


def require_native(tag: str, images: Images, advice: str) -> None:
    """UnavailableError if an image is for another architecture than the engine that has it.

    It may start there under emulation, which is then what is measured. YugabyteDB's nodes were
    seen never to become healthy so.
    """
    wrong = images.mismatch(tag)
    if wrong:
        raise UnavailableError(f"the image {tag} {wrong}", advice=advice)


def warn_of_emulation(tag: str, world: World) -> None:
    """Warns if an image of others that carries the load is not for the engine's architecture."""
    wrong = world.platform.images.mismatch(tag)
    if wrong:
        world.progress.warn(
            f"the image {tag} {wrong}: its load generator is emulated, and slower"
        )
