"""Debian's packages in our images. They are those of the day on which an image was built, and the
tag does not tell: so each campaign records what its images had."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from orchestrator.errors import TierbenchError
from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, World
from orchestrator.system import at_once

_QUERY = ("dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n")
_DEADLINE_S = 60.0

# `fio 3.39-1`, as one text. Under the name `passwd` as a key its version would be taken for a
# password, and hidden.
Packages = list[str]


def installed(databases: Iterable[str], world: World) -> dict[str, Packages]:
    """Tag of an image of ours → its packages: of those that all campaigns use, and of `databases`.
    What is not here, or cannot be read, is left out, and never ends a campaign."""
    present = _present(_tags(databases, world), world)
    packages_by_tag: dict[str, Packages] = {}
    asked = at_once.each(partial(_packages_of, world=world), present)
    for tag, packages in zip(present, asked, strict=True):
        if packages:
            packages_by_tag[tag] = packages
    return packages_by_tag


def _tags(databases: Iterable[str], world: World) -> list[str]:
    tags: set[str] = set()
    for name in own_images.OURS:
        tags.add(own_images.tag(world.root, name))
    for tag in databases:
        if own_images.is_ours(tag):
            tags.add(tag)
    return sorted(tags)


def _present(tags: Sequence[str], world: World) -> list[str]:
    present: list[str] = []
    for tag in tags:
        with suppress(TierbenchError):
            if world.platform.images.present(tag):
                present.append(tag)
    return present


def _packages_of(tag: str, world: World) -> Packages:
    name, _, _ = tag.removeprefix(own_images.PREFIX).partition(":")
    spec = ContainerSpec(
        f"{world.scope}-packages-{name}",
        tag,
        entrypoint=_QUERY[:1],
        command=_QUERY[1:],
        role="packages",
        capabilities=(),
        stop_timeout_s=1,
    )
    with suppress(TierbenchError):
        done = world.platform.once(spec, _DEADLINE_S)
        if done.exit_code == 0:
            return _read(done.out)
    return []


def _read(listed: str) -> Packages:
    """The packages with their versions."""
    packages: Packages = []
    for line in listed.splitlines():
        _, _, version = line.partition(" ")
        # dpkg also lists packages of which only settings are left: these have no version.
        if version:
            packages.append(line)
    return packages
