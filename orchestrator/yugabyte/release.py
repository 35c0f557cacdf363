"""The release that runs: its number from SQL's banner, its build from the servers' own pages.

`version()` of every released build prints `-b0` (issues 2447 and 12323 of yugabyte/yugabyte-db), so
the build is never read from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from orchestrator.yugabyte import pages, versions


def read(banner: str, servers: Iterable[str]) -> str:
    """`2.18.1.0-b84`, from the tablet servers' pages; if they differ, every release of theirs.

    The banner's number alone, `2.18.1.0`, if no page answers; empty if the banner has none either.
    """
    releases: dict[str, None] = {}
    for server in servers:
        with contextlib.suppress(OSError, KeyError, TypeError):
            releases[pages.version(server)] = None
    number = versions.banner_number(banner)
    return ", ".join(releases) or (versions.dotted(number) if number else "")


def differs(expected: str, running: str) -> bool:
    """Whether both have a build, and not the same release and build."""
    return "-b" in expected and "-b" in running and expected != running
