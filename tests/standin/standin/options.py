"""What `yugabyted start` and the servers accept, per release: anything else is refused."""

from __future__ import annotations

import argparse
import re

from standin.texts import line, series

# Release that brought them → options.
START: dict[tuple[int, ...], tuple[str, ...]] = {
    (): (
        "advertise_address", "background", "base_dir", "callhome", "certs_dir", "cloud_location",
        "config", "daemon", "data_dir", "fault_tolerance", "initial_scripts_dir", "insecure",
        "join", "listen", "log_dir", "master_flags", "master_rpc_port", "master_webserver_port",
        "polling_interval", "secure", "tserver_flags", "tserver_rpc_port", "tserver_webserver_port",
        "ui", "use_cassandra_authentication", "webserver_port", "ycql_port", "ysql_enable_auth",
        "ysql_port",
    ),
    (2024, 1): ("backup_daemon", "enable_pg_parity_early_access"),
}  # fmt: skip
GONE = {"config": (2024, 1)}  # option → release that no longer has it
SWITCHES = ("secure", "insecure")
BOOLEAN = ("background", "callhome", "daemon", "ui", "ysql_enable_auth")

# Release that brought the flag or this value → flag → its value as yugabyted starts the servers.
COMMON: dict[tuple[int, ...], dict[str, str]] = {
    (): {
        "ysql_num_tablets": "-1",
        "ysql_num_shards_per_tserver": "1", "yb_num_shards_per_tserver": "1",
        "enable_automatic_tablet_splitting": "true", "durable_wal_write": "false",
        "require_durable_wal_write": "false", "interval_durable_wal_write_ms": "1000",
        "bytes_durable_wal_write_mb": "1", "log_enable_background_sync": "true",
        "enable_data_block_fsync": "true", "never_fsync": "false",
        "memory_limit_hard_bytes": "0", "db_block_cache_size_bytes": "-1",
        "enable_wait_queues": "false", "ysql_enable_packed_row": "false",
        "compression_type": "Snappy",
        "rocksdb_compact_flush_rate_limit_bytes_per_sec": "1073741824",
        "use_node_to_node_encryption": "false", "log_min_seconds_to_retain": "900",
        "rocksdb_max_background_compactions": "-1",
        "timestamp_history_retention_interval_sec": "900",
    },
    (2, 20): {"ysql_enable_packed_row": "true"},
    (2024, 1): {"enable_wait_queues": "true", "use_memory_defaults_optimized_for_ysql": "false"},
    (2025, 1): {"use_memory_defaults_optimized_for_ysql": "true"},
    (2025, 2): {"ysql_num_tablets": "1"},
}  # fmt: skip
MASTER: dict[tuple[int, ...], dict[str, str]] = {
    (): {"master_enable_metrics_snapshotter": "true", "replication_factor": "1",
         "load_balancer_max_concurrent_moves": "10", "load_balancer_initial_delay_secs": "120"},
}  # fmt: skip
# yugabyted's own flags of a master, which come after those that are given and so are in force.
MASTERS_OWN: dict[tuple[int, ...], dict[str, str]] = {
    (2024, 1): {
        "ysql_num_shards_per_tserver": "1", "yb_num_shards_per_tserver": "1",
        "replication_factor": "1", "master_enable_metrics_snapshotter": "true",
        "enforce_tablet_replica_limits": "true", "split_respects_tablet_replica_limits": "true",
    },
    (2025, 1): {"use_memory_defaults_optimized_for_ysql": "true"},
}  # fmt: skip
DIRECTORIES = (
    "fs_data_dirs",
    "fs_wal_dirs",
)  # known to all servers, without a value of their own
TSERVER: dict[tuple[int, ...], dict[str, str]] = {
    (): {
        "tserver_enable_metrics_snapshotter": "true", "yb_enable_read_committed_isolation": "false",
        "ysql_max_connections": "0", "use_client_to_server_encryption": "false",
        "ysql_pg_conf_csv": "", "start_cql_proxy": "true",
    },
    (2025, 2): {
        "yb_enable_read_committed_isolation": "true", "ysql_enable_auto_analyze": "true",
        "ysql_yb_enable_cbo": "legacy_mode", "ysql_pg_conf_csv": "yb_enable_cbo=on",
        "ysql_enable_write_pipelining": "false", "ysql_yb_ddl_transaction_block_enabled": "false",
    },
    (2026, 1): {"ysql_yb_ddl_transaction_block_enabled": "true"},
}  # fmt: skip

_IPV4 = re.compile(r"(\d{1,3}\.){3}\d{1,3}$")
_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,6}")


def start_parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="yugabyted", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", allow_abbrev=False)
    for since, names in START.items():
        for name in names if since <= series(version) else ():
            if name in GONE and GONE[name] <= series(version):
                continue
            if name in SWITCHES:
                start.add_argument(f"--{name}", action="store_true", default=None)
            else:
                choices = ("true", "false") if name in BOOLEAN else None
                start.add_argument(f"--{name}", choices=choices)
    place = commands.add_parser("configure").add_subparsers(dest="what", required=True)
    placement = place.add_parser("data_placement", allow_abbrev=False)
    placement.add_argument("--fault_tolerance", choices=("zone", "region"))
    for name in ("rf", "constraint_value", "base_dir"):
        placement.add_argument(f"--{name}")
    return parser


def can_be_advertised(address: str, version: str) -> bool:
    """Before 2024.2 a name needs a dot."""
    return bool(
        _IPV4.match(address) or _NAME.match(address) or series(version) >= (2024, 2)
    )


def defaults(server: str, version: str) -> dict[str, str]:
    """All flags of a server that nobody set."""
    layers = (COMMON, MASTER, MASTERS_OWN) if server == "master" else (COMMON, TSERVER)
    return {
        name: value for layer in layers for name, value in _of(layer, version).items()
    }


def _of(layer: dict[tuple[int, ...], dict[str, str]], version: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for since in sorted(layer):
        found |= layer[since] if since <= series(version) else {}
    return found


def server_flags(text: str | None, server: str, version: str) -> dict[str, str]:
    """All flags of a server: defaults, then what was given, then, of a master, what yugabyted adds
    behind it. SystemExit as a server would."""
    flags = defaults(server, version)
    split = r",\s*(?![^{}]*\})" if series(version) >= (2024, 2) else ","
    for part in re.split(split, text or ""):
        if not part:
            continue
        name, equals, value = part.partition("=")
        if name not in (*flags, *DIRECTORIES) or not equals:
            raise SystemExit(line("unknown_flag", version, name=name))
        flags[name] = value.strip("{}")
    if server == "master":
        flags |= {"durable_wal_write": "true", **_of(MASTERS_OWN, version)}
    return flags
