"""Facts that YugabyteDB's servers report of themselves, as a run's record keeps them."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.model import Node, sources
from orchestrator.system.sql import Session
from orchestrator.yugabyte import pages, queries

STAND_IN = "stand-in"  # in the banner of the image that tests use instead of YugabyteDB

DURABILITY = (
    "durable_wal_write",
    "require_durable_wal_write",
    "interval_durable_wal_write_ms",
    "bytes_durable_wal_write_mb",
    "log_enable_background_sync",
    "enable_data_block_fsync",
    "never_fsync",
)
# Other flags that explain figures; releases differ in their defaults.
EXPLANATORY = (
    "memory_limit_hard_bytes",
    "db_block_cache_size_bytes",
    "ysql_num_shards_per_tserver",
    "enable_automatic_tablet_splitting",
    "ysql_enable_packed_row",
    "compression_type",
    "rocksdb_compact_flush_rate_limit_bytes_per_sec",
    "fs_data_dirs",
    "fs_wal_dirs",
    "use_node_to_node_encryption",
    "use_client_to_server_encryption",
    "ysql_max_connections",
)

# Flags that decide how statements run and what runs beside them; yugabyted's values differ between
# releases.
EXECUTION = (
    "yb_enable_read_committed_isolation",
    "enable_wait_queues",
    "ysql_enable_auto_analyze",
    "ysql_enable_auto_analyze_service",
    "timestamp_history_retention_interval_sec",
)

# Flags in which clusters that others run must not differ: they change what a disk is asked for.
# Where data are is no such difference.
_COMPARED = (
    *(name for name in EXPLANATORY if not name.startswith("fs_")),
    *("default_memory_limit_to_ram_ratio", "use_memory_defaults_optimized_for_ysql"),
    *("db_block_cache_size_percentage", "global_memstore_size_percentage", "memstore_size_mb"),
    *("rocksdb_max_background_compactions", "rocksdb_max_background_flushes"),
    *("log_min_seconds_to_retain", "yb_num_shards_per_tserver"),
    *("enable_ysql_conn_mgr", "ysql_pg_conf_csv"),
)

Flags = Mapping[str, str]


def durable(servers: Mapping[str, Flags]) -> bool:
    """Whether a write is on a majority's disks before it is answered, by the servers' flags."""
    return bool(servers) and all(
        flags.get("durable_wal_write") == "true"
        and flags.get("enable_data_block_fsync", "true") == "true"
        and flags.get("never_fsync", "false") == "false"
        for flags in servers.values()
    )


def picked(servers: Mapping[str, Flags], names: Sequence[str]) -> dict[str, str]:
    """The flags of these names; if servers differ, all values in the order of the nodes."""
    values = {
        name: dict.fromkeys(flags[name] for flags in servers.values() if name in flags)
        for name in names
    }
    return {name: ", ".join(different) for name, different in values.items() if different}


def settings(kind: str, servers: Mapping[str, Flags]) -> dict[str, str]:
    """`tserver.memstore_size_mb: 128`: what is compared of servers of one kind."""
    return {f"{kind}.{name}": value for name, value in picked(servers, _COMPARED).items()}


def execution(session: Session, servers: Mapping[str, Flags]) -> dict[str, Any]:
    """Isolation, planner and background work of a new session, and by the servers' flags."""
    return {
        "isolation": queries.effective_isolation(session),
        **queries.session_settings(session),
        **picked(servers, EXECUTION),
    }


def placement(nodes: Sequence[Node]) -> dict[str, Any]:
    """Copies, tablets, leaders and data files, as the masters count them. OSError if no master
    answers."""
    masters = list(sources(nodes, pages.MASTER).values())
    listed = pages.tablet_servers(masters)
    health = pages.health(masters)
    factor = pages.replication_factor(masters)
    return {
        "replication_factor": factor,
        "replicas_in_sync": factor - 1 if health.well else None,
        "under_replicated_tablets": health.under_replicated_tablets,
        "tablets": sum(server.user_leaders for server in listed),
        "leaders": {server.host: server.user_leaders for server in listed},
        "zones": {server.host: server.zone for server in listed},
        "sst_files": {server.host: server.sst_files for server in listed},
        # Of the node that holds most, because it is compared with the cache of one node.
        "data_bytes": max((server.sst_bytes for server in listed), default=0),
        "uncompressed_bytes": max((server.raw_bytes for server in listed), default=0),
    }
