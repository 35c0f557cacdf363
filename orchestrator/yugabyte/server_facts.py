"""Facts that YugabyteDB's servers report of themselves, as a run's record keeps them."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Node
from orchestrator.system.sql import Session
from orchestrator.yugabyte import pages, queries

# A word in the banner of the image that tests use instead of YugabyteDB.
STAND_IN = "stand-in"

Flags = Mapping[str, str]

# YugabyteDB's connection manager, a pooler within each node:
# https://docs.yugabyte.com/stable/additional-features/connection-manager-ysql/
POOLER_FLAG = "enable_ysql_conn_mgr"
# Flag → its default, as pages of 2.18 and 2025.2 show it.
_MOST_BETWEEN_SYNCS: Mapping[str, int] = {
    "interval_durable_wal_write_ms": 1000,
    "bytes_durable_wal_write_mb": 1,
}
# Words that gflags, in any case of letters, reads as true; servers' pages say `true`.
_TRUE = ("1", "t", "true", "y", "yes")


def names_of(kind: str) -> tuple[str, ...]:
    """The flags of this kind in flags.yaml."""
    return tuple(shipped(__package__, "flags.yaml")[kind])


def durable(servers: Mapping[str, Flags]) -> bool:
    """Whether a write is on a majority's disks before it is answered, by the servers' flags."""
    return bool(servers) and all(_syncs(flags) for flags in servers.values())


def _syncs(flags: Flags) -> bool:
    return flags.get("durable_wal_write") == "true" and _reaches_disks(flags)


def _reaches_disks(flags: Flags) -> bool:
    """Flags that a release lacks have their default."""
    if flags.get("enable_data_block_fsync", "true") != "true":
        return False
    return flags.get("never_fsync", "false") == "false"


def durability_as_released(servers: Mapping[str, Flags]) -> bool:
    """Whether commits are answered as YugabyteDB comes, or later: once a majority of the copies has
    them in memory, with the log of each synced within a second or a megabyte.

    By the servers' flags. Defaults: YugabyteDB's documentation, reference/configuration/yb-tserver.
    """
    if not servers:
        return False
    return all(_syncs(flags) or _syncs_soon(flags) for flags in servers.values())


def _syncs_soon(flags: Flags) -> bool:
    """Flags that a page lacks have their default."""
    for name, default in _MOST_BETWEEN_SYNCS.items():
        value = flags.get(name, str(default))
        # This measure does not sync the log at all at 0 and below. The flags' own help says so
        # (src/yb/consensus/log_util.cc). Above its default it falls further behind than released.
        if not value.isdecimal() or not 0 < int(value) <= default:
            return False
    return _reaches_disks(flags)


def pools_sessions(flags: Flags) -> bool:
    """Whether a tablet server with these flags has clients share its sessions, and so may take more
    clients than sessions."""
    return flags.get(POOLER_FLAG, "").lower() in _TRUE


def picked(servers: Mapping[str, Flags], names: Sequence[str]) -> dict[str, str]:
    """The flags of these names; if servers differ, all values in the order of the nodes."""
    flags_of_servers = {}
    for name in names:
        values = [flags[name] for flags in servers.values() if name in flags]
        if values:
            flags_of_servers[name] = ", ".join(dict.fromkeys(values))
    return flags_of_servers


def settings(kind: str, servers: Mapping[str, Flags]) -> dict[str, str]:
    """`tserver.memstore_size_mb: 128`: what is compared of servers of one kind."""
    # Directories are no difference: two clusters may have other ones on the same disks.
    names = [name for name in names_of("explanatory") if not name.startswith("fs_")]
    flags = picked(servers, [*names, *names_of("compared")])
    return {f"{kind}.{name}": value for name, value in flags.items()}


def execution(session: Session, servers: Mapping[str, Flags]) -> dict[str, Any]:
    """Isolation, planner and background work of a new session, and by the servers' flags."""
    return {
        "isolation": queries.effective_isolation(session),
        **queries.session_settings(session, names_of("session")),
        **picked(servers, names_of("execution")),
    }


def placement(nodes: Sequence[Node]) -> dict[str, Any]:
    """Copies, tablets, leaders, data files, as masters count them. OSError if none answers."""
    masters = list(pages.urls(nodes, pages.MASTER).values())
    servers = pages.tablet_servers(masters)
    health = pages.health(masters)
    factor = pages.replication_factor(masters)
    leaders = {server.host: server.user_leaders for server in servers}
    # The pages do not tell which copies lag. Only where none is short all of them are known to be
    # in sync.
    in_sync = None
    if health.well:
        in_sync = factor - 1
    return {
        "replication_factor": factor,
        "replicas_in_sync": in_sync,
        "under_replicated_tablets": health.under_replicated_tablets,
        # Each tablet has one leader, but as many copies as the replication factor.
        "tablets": sum(server.user_leaders for server in servers),
        "leaders": leaders,
        "zones": {server.host: server.zone for server in servers},
        "sst_files": {server.host: server.sst_files for server in servers},
        **_data_facts(servers),
    }


def _data_facts(servers: Sequence[pages.TabletServer]) -> dict[str, int]:
    """The facts of the node that holds most data."""
    # The largest, and not the sum, because it is compared with the cache of one node.
    data_bytes = [server.sst_bytes for server in servers]
    uncompressed_bytes = [server.raw_bytes for server in servers]
    return {
        "data_bytes": max(data_bytes, default=0),
        "uncompressed_bytes": max(uncompressed_bytes, default=0),
    }
