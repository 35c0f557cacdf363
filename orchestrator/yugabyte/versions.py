"""YugabyteDB's versions: which are pinned, and the differences between them. Pure.

Every difference that matters here is a row of versions.yaml; nothing else compares versions.
Series sort by time: 2.18 < 2.20 < 2.21 < 2024.1 < 2.25 < 2025.1. Since 2.20 stable series have the
year as their number, and previews between them go on with odd ones."""

import re
from typing import NamedTuple

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.yugabyte import releases

# The release that is started where a profile names none: of the newest series with long-term
# support.
DEFAULT = "2025.2.6.0-b111"
# The release that the published study measured; its profiles name it.
STUDY = "2.18.1.0-b84"
PINNED = (STUDY, DEFAULT)

# Images for ARM end so, beside those of the same release for x86-64.
ARM = "-aarch64"
# A preview → the stable series after which it came, by the dates of their releases
# (docs.yugabyte.com/stable/releases/ybdb-releases). It is taken to have what that series brought,
# and nothing that the next one brings.
_PREVIEWS: dict[tuple[int, ...], tuple[int, int]] = {
    (2, 21): (2, 20),
    (2, 23): (2024, 1),
    (2, 25): (2024, 2),
    (2, 27): (2025, 1),
    (2, 29): (2025, 2),
}
_FORM = re.compile(r"(\d+(?:\.\d+){2,4})-b(\d+)")
_BANNER = re.compile(r"-YB-(\d+(?:\.\d+)+)-b\d+")


class Version(NamedTuple):
    """A release and its build: `2.18.1.0-b84`."""

    number: tuple[int, ...]
    build: int

    def __str__(self) -> str:
        return f"{dotted(self.number)}-b{self.build}"

    def has(self, difference: str) -> bool:
        """Whether it is true of this version. KeyError if that is not a row there."""
        since: list[int] = shipped(__package__, "versions.yaml")["since"][difference]
        return list(self.place_in_time) >= since

    @property
    def place_in_time(self) -> tuple[int, ...]:
        """What releases are compared by: the number, with a preview behind the series before it."""
        before = _PREVIEWS.get(self.number[:2])
        if before is None:
            return self.number
        # 2.25 came after 2024.2, whose number is larger: it stands behind all patches of 2024.2.
        return (*before, _AFTER_ALL, *self.number)


# A number behind every patch release of a series.
_AFTER_ALL = 1_000_000


def parse(text: str) -> Version:
    """`2.18.1.0-b84` or `2025.2.5.2-b5-aarch64`, as image tags are written; also a release
    without its build, if that is known. ValueError if the text has another form."""
    tag = release_in(text)
    match = _FORM.fullmatch(releases.tag_of(tag) or tag)
    if match is None:
        raise ValueError(_no_release(tag))
    return Version(_number(match[1]), int(match[2]))


def release_in(tag: str) -> str:
    """A tag without the end that names an architecture: servers never say that end."""
    return tag.strip().removesuffix(ARM)


def _no_release(text: str) -> str:
    newest = releases.newest_long_term().newest
    if text == "latest":
        return (
            "`latest` is another release every few weeks. Write the tag that "
            f"it stands for, or {newest}, the newest known one with long-term "
            "support"
        )
    return (
        f"{text!r} is not a release with its build: write the tag of the image, "
        f"such as {newest}"
    )


def dotted(number: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in number)


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def banner_number(text: str) -> tuple[int, ...] | None:
    """The release in `SELECT version()`, if it names one. Its build is always -b0."""
    match = _BANNER.search(text)
    if match:
        return _number(match[1])
    return None


def analyzed(version: str) -> bool:
    """Whether loaders collect statistics for the planner of this release, with or without build."""
    number, _, _ = version.partition("-")  # a banner's release comes without a build
    return Version(_number(number), 0).has("cost_based_optimizer")
