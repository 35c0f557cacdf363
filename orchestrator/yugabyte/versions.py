"""YugabyteDB's versions: which are pinned, and the differences between them. Pure.

Every difference that matters here is a row of `DIFFERENCES`; nothing else compares versions.
Series sort by time: 2.18 < 2.20 < 2024.1 < 2025.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

STUDY = "2.18.1.0-b84"  # what the published study measured
RECENT = "2025.2.1.0-b141"  # a long-term-support release of 2026
PINNED = (STUDY, RECENT)
DEFAULT = STUDY

_FORM = re.compile(r"(\d+(?:\.\d+){2,4})-b(\d+)")
_BANNER = re.compile(r"-YB-(\d+(?:\.\d+)+)-b\d+")
_REPOSITORY = "https://github.com/yugabyte/yugabyte-db"
_DOCS = "https://docs.yugabyte.com"


@total_ordering
@dataclass(frozen=True)
class Version:
    """A release and its build: `2.18.1.0-b84`."""

    number: tuple[int, ...]
    build: int

    def __str__(self) -> str:
        return f"{dotted(self.number)}-b{self.build}"

    def __lt__(self, other: Version) -> bool:
        return (self.number, self.build) < (other.number, other.build)

    def has(self, difference: str) -> bool:
        """Whether the row `difference` is true of this version. KeyError if there is none."""
        return self.number >= _BY_NAME[difference].since


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
    """The release in the answer to `SELECT version()`; None if it names none. The build is not
    read: released builds print -b0, whatever they are."""
    match = _BANNER.search(text)
    return tuple(map(int, match[1].split("."))) if match else None


@dataclass(frozen=True)
class Difference:
    """What is true from release `since` on (`change`), and what the adapter does (`response`)."""

    name: str
    since: tuple[int, ...]
    change: str
    response: str
    link: str


DIFFERENCES = (
    Difference(
        "certs_dir_option",
        (2, 19, 3),
        "`yugabyted start --certs_dir` works; before, it fails on its own misspelt argument",
        "the option is never passed: certificates lie in the default place, <base_dir>/certs",
        f"{_REPOSITORY}/blob/2.18/bin/yugabyted",
    ),
    Difference(
        "single_label_names",
        (2024, 2),
        "`--advertise_address` and `--join` take a name without a dot",
        "nodes always have fixed IPv4 addresses, which every version takes",
        f"{_REPOSITORY}/issues/15692",
    ),
    Difference(
        "packed_rows",
        (2, 20),
        "tables of new clusters pack all columns of a row into one value",
        "nothing: it belongs to the release; comparing runs of two releases raises a doubt",
        f"{_REPOSITORY}/blob/master/src/yb/docdb/pgsql_operation.cc",
    ),
    Difference(
        "braced_flags",
        (2024, 2),
        "any flag in --master_flags and --tserver_flags may hold commas inside braces",
        "a value with a comma is braced; for older releases it is a mistake in the profile",
        f"{_DOCS}/stable/reference/configuration/yugabyted/#pass-additional-flags-to-yb-master-"
        "and-yb-tserver",
    ),
    Difference(
        "memory_defaults_for_ysql",
        (2024, 1),
        "a flag chooses other shares of memory for master, tablet server and PostgreSQL",
        "it is turned off for tablet servers, because all shares are set here; a master's limit "
        "comes before it; older releases do not know the flag",
        f"{_DOCS}/stable/reference/configuration/yb-tserver/#use-memory-defaults-optimized-for-ysql",
    ),
    Difference(
        "masters_own_flags",
        (2024, 1),
        "yugabyted's own flags of a master come after the given ones, which they override",
        "what would be overridden is not passed; a profile's flag of that name is not in force",
        f"{_REPOSITORY}/blob/master/bin/yugabyted",
    ),
    Difference(
        "postgresql_15",
        (2025, 1),
        "YSQL is derived from PostgreSQL 15 instead of 11",
        "nothing: statements used here mean the same in both",
        f"{_DOCS}/stable/api/ysql/pg15-features/",
    ),
    Difference(
        "auto_analyze",
        (2025, 2),
        "tablet servers turn Auto Analyze on with the cost-based optimiser: ANALYZE runs in the "
        "background as rows change",
        "it is turned off, because it would run inside the measured window, and more often on a "
        "faster tier; older releases have it off, under other flags",
        f"{_DOCS}/stable/additional-features/auto-analyze/",
    ),
    Difference(
        "read_committed",
        (2025, 2),
        "yugabyted makes READ COMMITTED take effect; before, it runs as REPEATABLE READ",
        "nothing: it belongs to the release; the level in force is recorded and compared",
        f"{_REPOSITORY}/pull/29478",
    ),
    Difference(
        "cost_based_optimizer",
        (2025, 2),
        "yugabyted turns on the cost-based optimiser, bitmap scans and parallel append",
        "loaders ANALYZE from this release on: without this optimiser, statistics make some plans "
        "worse; the values in force are recorded and compared",
        f"{_REPOSITORY}/pull/29478",
    ),
)
_BY_NAME = {row.name: row for row in DIFFERENCES}


def analyzed(version: str) -> bool:
    """Whether loaders collect statistics for the planner of this release, with or without build."""
    number = tuple(map(int, version.split("-")[0].split(".")))
    return Version(number, 0).has("cost_based_optimizer")
