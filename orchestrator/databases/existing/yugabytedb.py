"""What a YugabyteDB that others run says of itself: its name, its flags, and the counters of its
tablet servers. `probe` has the rest, which is read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.model import Node
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.yugabyte import counters, pages, queries, server_facts, versions

Counted = Mapping[str, Mapping[str, float]]  # node → its tablet server's counters


def banner(session: sql.Session) -> str:
    """What a server calls itself, a PostgreSQL too. RunError if it does not answer."""
    return queries.banner(session)


def is_named_in(banner: str) -> bool:
    return versions.banner_number(banner) is not None


def release_asked(version: str | None) -> str:
    """The profile's release, without the end that names an architecture."""
    return versions.release_in(version or "")


def has_statistics(version: str) -> bool:
    """Whether loaders collect statistics for the planner of this release."""
    return versions.analyzed(version)


def pools_sessions(tservers: Sequence[str]) -> bool:
    """Whether a pooler stands before the sessions of one of these servers. OSError if one does not
    tell its flags."""
    return any(server_facts.pools_sessions(pages.flags(url)) for url in tservers)


@dataclass(frozen=True)
class ServerFolders:
    """Folders of a tablet server's data and of its log, with commas between; "" by default."""

    data: str
    wal: str


def folders(tserver: str) -> ServerFolders:
    """OSError if it does not tell them."""
    flags = pages.flags(tserver)
    return ServerFolders(flags.get("fs_data_dirs", ""), flags.get("fs_wal_dirs", ""))


def few_tablets_in_words(tables: Mapping[str, int]) -> str:
    return pages.few_in_words(tables)


def fill_caches(
    connect: sql.Connect, addresses: Sequence[sql.Address], world: World
) -> None:
    """Reads all tables, for at most ten minutes."""
    queries.fill_caches(connect, addresses, world)


def counted(nodes: Sequence[Node], ours: Sequence[str] = ()) -> Counted:
    """Empty if the profile declares no tablet servers' pages. OSError if one does not answer."""
    return counters.read(nodes, ours)


def grown(begun: Counted, ended: Counted) -> dict[str, Any]:
    """What all nodes did between two readings."""
    return counters.since(begun, ended)


def await_quiet(nodes: Sequence[Node], world: World, deadline_s: float) -> None:
    """Waits until no node flushes or merges. RunError past the deadline."""
    counters.await_quiet(nodes, world, deadline_s=deadline_s)
