"""Our container images. A tag names what an image is built from, so one that is present is not
built again.

`<FOLDER>/<name>/` is built as `tierbench/<name>:<hash of its files>`, FROM debian:trixie-slim. The
base and Debian's packages are those of the day: two builds of one tag may differ. Runs record the
ids of their images, and campaigns all packages in them (`common/packages.py`): with others `resume`
refuses to go on. The base has no digest: where it cannot be pulled it is made here from packages.
Platforms that build no images get them from the registry that REGISTRY_VARIABLE names."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator import PROJECT as PROJECT
from orchestrator.errors import UnavailableError
from orchestrator.platforms.common import architectures
from orchestrator.powers import ContainerSpec, Mount, Platform, Progress, World
from orchestrator.system import file_states
from orchestrator.system.clock import SystemClock
from orchestrator.system.file_states import FileState

BASE_REPOSITORY = "debian"
BASE_TAG = "trixie-slim"
BASE = f"{BASE_REPOSITORY}:{BASE_TAG}"
FOLDER = "docker"
OURS = ("disk", "client", "postgres")
REGISTRY_VARIABLE = "TIERBENCH_REGISTRY"
AUTHORITIES_VARIABLE = "PIP_CERT"  # names those of a proxy between here and packages
# The file of them in the folder of an image whose build downloads more than Debian.
_AUTHORITIES = "authorities.crt"
# Its Dockerfile copies the file so: a pattern may match nothing, where a name would fail the build.
_COPIED_AUTHORITIES = "authorities.cr[t]"
PREFIX = "tierbench/"


def content_hash(folder: Path, files: Iterable[Path] | None = None) -> str:
    """Returns twelve hexadecimal digits over names in `folder` and contents of `files`, or of all
    that are below it."""
    if files is None:
        states = tuple(file_states.below(folder))
    else:
        states = tuple(file_states.existing(files))
    if file_states.have_settled(states, SystemClock().now()):
        return _kept_hash(folder, states)
    return _hash(folder, states)


def _hash(folder: Path, states: Iterable[FileState]) -> str:
    digest = hashlib.sha256()
    for file in sorted(Path(state.path) for state in states):
        name = str(file.relative_to(folder))
        # The name counts too, and a null ends both, so that no two folders have the same bytes.
        digest.update(name.encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


# A plan of many runs asks hundreds of times.
_kept_hash = lru_cache(maxsize=256)(_hash)


def folder(root: Path, name: str) -> Path:
    """Returns the folder that an image of ours is built from, in the project folder `root`."""
    return root / FOLDER / name


def tag(root: Path, name: str) -> str:
    """Returns the tag of an image of ours for the present content of its folder."""
    return f"{PREFIX}{name}:{content_hash(folder(root, name))}"


def is_ours(tag: str) -> bool:
    """Whether it is the tag of an image of ours."""
    return tag.startswith(PREFIX)


def need(root: Path, name: str, platform: Platform) -> str:
    """Returns the tag of an image of ours. UnavailableError if it has not been built."""
    image = tag(root, name)
    if not platform.images.present(image):
        raise UnavailableError(
            f"the image {image} is not here",
            advice="run `tierbench setup`: it builds our images, with DOCKER_HOST on a "
            "machine of another architecture",
        )
    architectures.require_native(
        image,
        platform.images,
        "run `tierbench setup` with DOCKER_HOST naming that engine: it builds its own there",
    )
    return image


def provide(root: Path, name: str, platform: Platform, progress: Progress) -> str:
    """Returns the tag of an image of ours, which is built if it is not there, or is there for
    another architecture."""
    image = tag(root, name)
    source = folder(root, name)
    images = platform.images
    # One tag may be built for any architecture.
    if not images.present(image) or images.mismatch(image):
        progress.step(f"building the image {image}", 60)
        with TemporaryDirectory() as copy:
            folder_to_build = _with_authorities(source, Path(copy))
            images.build(str(folder_to_build), image, lambda _line: None)
        progress.note(f"built {image}")
    return image


def _with_authorities(source: Path, copy: Path) -> Path:
    """The folder to build: `source`, or its `copy` with the authorities of a proxy, if one is
    named and the build needs them."""
    authorities = os.environ.get(AUTHORITIES_VARIABLE)
    if not authorities or not _copies_authorities(source / "Dockerfile"):
        return source
    # Downloads fail behind a proxy that signs anew, without its authority. It goes into a copy of
    # the folder, so that the tag stays that of the folder.
    shutil.copytree(source, copy, dirs_exist_ok=True)
    shutil.copy(authorities, copy / _AUTHORITIES)
    return copy


def _copies_authorities(dockerfile: Path) -> bool:
    return _COPIED_AUTHORITIES in dockerfile.read_text(encoding="utf-8")


def container(
    image: str,
    name: str,
    argv: Sequence[str],
    world: World,
    *,
    role: str = "client",
    environment: Mapping[str, str] | None = None,
    mounts: tuple[Mount, ...] = (),
    folders: Mapping[str, Mapping[str, bytes]] | None = None,
    network: str | None = None,
    address: str | None = None,
    capabilities: tuple[str, ...] | None = None,
    init: bool = False,
    stop_timeout_s: int = ContainerSpec.stop_timeout_s,
    placement: str = "",
) -> ContainerSpec:
    """Returns the spec of a container that runs a program of our image, which is its entry point:
    `argv`. The other fields are those of `ContainerSpec`. UnavailableError if the image has not
    been built."""
    return ContainerSpec(
        name,
        need(world.root, image, world.platform),
        entrypoint=(argv[0],),
        command=tuple(argv[1:]),
        role=role,
        environment=environment or {},
        mounts=mounts,
        folders=folders or {},
        network=network,
        address=address,
        capabilities=capabilities,
        init=init,
        stop_timeout_s=stop_timeout_s,
        placement=placement,
    )


def registry() -> str:
    """Returns the prefix under which our images are pushed and pulled; "" without a registry."""
    return os.environ.get(REGISTRY_VARIABLE, "").rstrip("/")


def name_in_registry(tag: str) -> str:
    """Returns the name of an image of ours in the registry; any other as it is."""
    if registry() and is_ours(tag):
        return f"{registry()}/{tag}"
    return tag
