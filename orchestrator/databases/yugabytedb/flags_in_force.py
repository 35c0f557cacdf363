"""Flags that servers run with, held against the profile: durability, the log's place, masters'."""

from collections.abc import Mapping, Sequence

from orchestrator.databases.yugabytedb import flags
from orchestrator.databases.yugabytedb.nodes import Unread
from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.errors import NodeError
from orchestrator.model import Node
from orchestrator.system import at_once
from orchestrator.yugabyte import pages, server_facts


def check_flags(
    up: Sequence[Node], settings: Settings, unread: Unread, masters: int
) -> dict[str, server_facts.Flags]:
    """Node → its tablet server's flags, none if they cannot be read. `masters`: how many nodes have
    a voting master, the first ones. NodeError if durability, the directory of the WAL or a flag of
    masters is not the profile's."""
    servers = _flags(up, pages.TSERVER, unread)
    if settings.master_flags:
        running = _flags(up[:masters], pages.MASTER, unread)
        _check_masters(running, settings.master_flags, unread)
    _check_durability(servers, settings, unread)
    for node in up:
        wal_dirs = servers.get(node.name, {}).get("fs_wal_dirs", flags.WAL_DISK_DIR)
        if node.wal_device and wal_dirs != flags.WAL_DISK_DIR:
            place = wal_dirs or "the directory of its data"
            raise NodeError(
                f"{node.name} has its WAL in {place}, and not on its own disk at "
                f"{flags.WAL_DISK_DIR}",
                advice="look at `fs_wal_dirs` among the flags of its tablet server",
            )
    return servers


def _check_durability(
    servers: Mapping[str, server_facts.Flags], settings: Settings, unread: Unread
) -> None:
    """NodeError unless commits of all tablet servers wait for the disk as the profile says."""
    expected = "false"
    if settings.durability == "durable":
        expected = "true"
    for node, running in servers.items():
        value = running.get("durable_wal_write")
        # An unseen flag is no reason to refuse; the report doubts it.
        if value is None:
            unread.note("durable_wal_write", f"it is not among the flags of {node}")
        elif value != expected:
            raise NodeError(
                f"{node} runs with durable_wal_write={value}; `durability: "
                f"{settings.durability}` means {expected}",
                advice="a file system without O_DIRECT turns it off; XFS and ext4 have it",
            )


def _flags(
    up: Sequence[Node], server: str, unread: Unread
) -> dict[str, server_facts.Flags]:
    """Node → the flags that its server runs with; none if they cannot be read."""
    urls = pages.urls(up, server)

    def read() -> dict[str, server_facts.Flags]:
        flags_of_all = at_once.each(pages.flags, urls.values())
        return dict(zip(urls, flags_of_all, strict=True))

    return unread.attempt(f"the flags of {server}", read, {}, up)


def _check_masters(
    running: Mapping[str, server_facts.Flags], asked: Mapping[str, str], unread: Unread
) -> None:
    """NodeError for the first of the profile's flags that is not in force."""
    for name, named in running.items():
        for flag, wanted in asked.items():
            value = named.get(flag)
            if value is None:
                unread.note(flag, f"it is not among the flags of the master of {name}")
            elif _plain(value) != _plain(wanted):
                raise NodeError(
                    f"the master of {name} runs with {flag}={value}; the profile says "
                    f"{wanted}",
                    advice=(
                        "from 2024.1 on yugabyted sets some flags of masters itself, after "
                        f"those of the profile. Write `tserver.{flag}` if only tablet "
                        "servers need it, or leave it out"
                    ),
                )


def _plain(value: str) -> str | float:
    """A flag's value, alike for all ways to write a truth or a number."""
    # A profile has what YAML or gflags take for a truth; servers' pages say `true` or `false`.
    word = value.strip().lower()
    if word in ("true", "yes", "t", "y", "on"):
        return 1.0
    if word in ("false", "no", "f", "n", "off"):
        return 0.0
    try:
        return float(word)
    except ValueError:
        return value.strip()
