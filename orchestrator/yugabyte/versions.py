"""YugabyteDB's versions: which are pinned, and the differences between them. Pure.

Every difference that matters here is a row of versions.yaml; nothing else compares versions.
Series sort by time: 2.18 < 2.20 < 2024.1 < 2025.2."""

import re
from typing import NamedTuple

from orchestrator.keys.strict_yaml import shipped

STUDY = "2.18.1.0-b84"  # what the published study measured
RECENT = "2025.2.1.0-b141"  # a long-term-support release of 2026
PINNED = (STUDY, RECENT)
DEFAULT = STUDY

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
        return list(self.number) >= since


def parse(text: str) -> Version:
    """`2.18.1.0-b84`, as image tags are written. ValueError if the text has another form."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        advice = f"write the tag of the image, such as {STUDY} or {RECENT}"
        raise ValueError(f"{text!r} is not a release with its build: {advice}")
    return Version(tuple(map(int, match[1].split("."))), int(match[2]))


def dotted(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))


def banner_number(text: str) -> tuple[int, ...] | None:
    """The release in `SELECT version()`, if it names one. Its build is always -b0."""
    match = _BANNER.search(text)
    if match:
        return tuple(map(int, match[1].split(".")))
    return None


def analyzed(version: str) -> bool:
    """Whether loaders collect statistics for the planner of this release, with or without build."""
    number = tuple(map(int, version.split("-")[0].split(".")))
    return Version(number, 0).has("cost_based_optimizer")
