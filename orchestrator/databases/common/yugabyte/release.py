"""Which release runs: its number by SQL's banner, its build by the servers' own pages.

`version()` of every released build prints `-b0` (issues 2447 and 12323 of yugabyte/yugabyte-db), so
a build is never read from it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from orchestrator.databases.common.yugabyte import pages, versions


def told(banner: str, servers: Iterable[str]) -> str:
    """`2.18.1.0-b84`, as the tablet servers say; where they differ, all that they say.

    Where none of them answers, the banner's number alone, `2.18.1.0`; empty where it has none.
    """
    found: dict[str, None] = {}
    for server in servers:
        with contextlib.suppress(OSError, KeyError, TypeError):
            found[pages.version(server)] = None
    number = versions.banner_number(banner)
    return ", ".join(found) or (versions.dotted(number) if number else "")


def differs(asked: str, running: str) -> bool:
    """Whether a build was asked for, one runs, and it is another."""
    return "-b" in asked and "-b" in running and asked != running
