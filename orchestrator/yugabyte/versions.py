"""YugabyteDB's versions: which are pinned, and the differences between them. Pure.

Every difference that matters here is a row of `SINCE`; nothing else compares versions.
Series sort by time: 2.18 < 2.20 < 2024.1 < 2025.2.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

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
        """Whether it is true of this version. KeyError if it is not in `SINCE`."""
        return self.number >= SINCE[difference]


def parse(text: str) -> Version:
    """`2.18.1.0-b84`, as image tags are written. ValueError if the text has another form."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is not a release with its build: write the tag of the image, such as "
            f"{STUDY} or {RECENT}"
        )
    return Version(tuple(map(int, match[1].split("."))), int(match[2]))


def dotted(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))


def banner_number(text: str) -> tuple[int, ...] | None:
    """The release in `SELECT version()`, if it names one. Its build is always -b0."""
    match = _BANNER.search(text)
    return tuple(map(int, match[1].split("."))) if match else None


# What is true from a release on, where that decides what is done here.
SINCE: Mapping[str, tuple[int, ...]] = {
    # --master_flags and --tserver_flags take a value with commas inside braces:
    # docs.yugabyte.com, yugabyted, "Pass additional flags to YB-Master and YB-TServer"
    "braced_flags": (2024, 2),
    # A flag chooses other shares of memory: it is turned off for tablet servers, because all shares
    # are set here. A master's limit comes before it. docs.yugabyte.com, yb-tserver
    "memory_defaults_for_ysql": (2024, 1),
    # yugabyted's own flags of a master override the given ones. yugabyte-db, bin/yugabyted
    "masters_own_flags": (2024, 1),
    # ANALYZE runs in the background as rows change: it is turned off, because it would run inside
    # the measured window, and more often on a faster tier; older releases have it off, under other
    # flags. docs.yugabyte.com, auto-analyze
    "auto_analyze": (2025, 2),
    # READ COMMITTED takes effect; before, it runs as REPEATABLE READ. yugabyte-db, pull 29478
    "read_committed": (2025, 2),
    # Loaders ANALYZE from here on: without this optimiser statistics make some plans worse. The
    # same pull request.
    "cost_based_optimizer": (2025, 2),
}


def analyzed(version: str) -> bool:
    """Whether loaders collect statistics for the planner of this release, with or without build."""
    number = tuple(map(int, version.split("-")[0].split(".")))
    return Version(number, 0).has("cost_based_optimizer")
