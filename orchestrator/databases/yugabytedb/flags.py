"""How a node is started: a profile's cluster → memory shares, flags and command line. Pure.

Facts and their sources: docs/research/YUGABYTEDB.md. The servers size themselves from the memory of
the machine and do not see the container's limit, so every share is set here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.model import ClusterSpec
from orchestrator.system import http_client
from orchestrator.yugabyte import pages

BASE_DIR = (
    "/home/yugabyte/yb_data"  # the tier's mount: data, WAL, configuration and logs
)
CERTS_DIR = f"{BASE_DIR}/certs"
DATA_DIR = f"{BASE_DIR}/data"
WAL_DIR = f"{BASE_DIR}/wal"
WAL_DISK_DIR = (
    "/home/yugabyte/yb_wal"  # the mount of the WAL's own disk: beside that of the data
)
CONF = f"{BASE_DIR}/conf/yugabyted.conf"
CERTS_SOURCE = "/tierbench-certs"
YSQL = 5433
MASTER_WEB = 7000
TSERVER_WEB = 9000
YSQL_WEB = 13000
WEB = {pages.MASTER: MASTER_WEB, pages.TSERVER: TSERVER_WEB, pages.YSQL: YSQL_WEB}
MASTER_RPC = 7100
TSERVER_RPC = http_client.TSERVER_RPC_PORT

_MIB = 2**20
# Shares of a node's memory. Up to 4 GiB YugabyteDB's own (server_main_util.cc: 45 and 20 %); above,
# 60 % for the tablet server, as yugabyted gives it of the machine. The master's share is bounded:
# creating a database alone takes it up to 500 MB. The rest is for PostgreSQL's sessions and for the
# page cache, through which data files are read.
_SMALL_BYTES = 4 * 2**30
_LEAST_MASTER_BYTES = 512 * _MIB  # issues 4472 and 4477
_MOST_MASTER_BYTES = 2048 * _MIB
_BLOCK_CACHE_PCT = 50  # part of the tablet server's share: its own default

# A node takes 300 sessions unless a flag says more, and one too many ends a run: `tpcc` at `study`
# opens 600, which one or two nodes would not take. Large disks are those of large loads.
SESSIONS = "ysql_max_connections"
DEFAULT_SESSIONS = 300
_MANY_SESSIONS = 1000
_MANY_SESSIONS_FROM_DISK_BYTES = 64 * 2**30

# Seconds for which old versions of rows are kept. Reads longer than the default of 900 s end in
# "Snapshot too old". ANALYZE and counts of large tables are such, and consistency checks.
# YugabyteDB's own advice is a value above the time of the longest (1 to 4 h; issues 19586 and
# 27437). Here it costs little space: loading changes no row, and a run begins with a copy. The
# longest run, of 35 min, keeps 20 min of changes more than by default. Those shorter than 15 min
# keep the same. `=900` in the profile gives the default back.
HISTORY_S = 4 * 3600

# It runs in the foreground, because a container ends with its first process. Nothing else uses the
# node: no page of yugabyted's own, and no report home.
_START = (
    "bin/yugabyted",
    "start",
    "--background=false",
    "--ui=false",
    "--callhome=false",
)
# The shell installs keys before it starts `yugabyted`. PostgreSQL refuses a key that belongs
# neither to root nor to itself. The files belong to the user of this program.
_INSTALL_KEYS = f"install -D -m 600 -t {CERTS_DIR} {CERTS_SOURCE}/*"


@dataclass(frozen=True)
class MemoryShares:
    """Shares of a node's memory: the servers' limits, and the tablet server's cache of blocks."""

    master_bytes: int
    tserver_bytes: int
    block_cache_bytes: int


def memory(node_bytes: int) -> MemoryShares:
    """How a node's memory is divided."""
    tserver_pct = 60
    master_pct = 10
    if node_bytes <= _SMALL_BYTES:
        tserver_pct = 45
        master_pct = 20
    master = node_bytes * master_pct // 100
    tserver = node_bytes * tserver_pct // 100
    return MemoryShares(
        master_bytes=min(max(master, _LEAST_MASTER_BYTES), _MOST_MASTER_BYTES),
        tserver_bytes=tserver,
        block_cache_bytes=tserver * _BLOCK_CACHE_PCT // 100,
    )


def _flags_of_both(settings: Settings) -> dict[str, str]:
    """What masters and tablet servers are given alike."""
    durable = settings.durability == "durable"
    flags = {
        # Each node leads one tablet of every table, and no tablet splits during a run. The servers
        # read ysql_num_tablets first and, where it is positive, not the other; from 2025.2 on it is
        # 1 by default, with which one node alone leads each table (client.cc,
        # NumTabletsForUserTable).
        "ysql_num_tablets": "-1",
        "ysql_num_shards_per_tserver": "1",
        "enable_automatic_tablet_splitting": "false",
        "timestamp_history_retention_interval_sec": str(HISTORY_S),
        "durable_wal_write": _word(durable),
    }
    if durable:
        # A file system that lacks it otherwise turns it off with only a line in the log.
        flags["require_durable_wal_write"] = "true"
    if settings.wal_disk:
        flags["fs_wal_dirs"] = WAL_DISK_DIR
    elif settings.own_wal_directory:
        flags["fs_wal_dirs"] = WAL_DIR
    return flags


def _word(truth: bool) -> str:
    if truth:
        return "true"
    return "false"


def master_flags(spec: ClusterSpec, settings: Settings) -> dict[str, str]:
    """The master's flags, the profile's own last. Masters always make their log durable."""
    flags = {
        "memory_limit_hard_bytes": str(memory(spec.size.memory_bytes).master_bytes),
        # The balancer begins so long after a master leads; until then it calls itself idle. By
        # default 120: after every start from a copy it would move leaders in the middle of what is
        # measured.
        "load_balancer_initial_delay_secs": "10",
    }
    if not settings.version.has("masters_own_flags"):
        # The master otherwise writes rows to a system table periodically. Where yugabyted's own
        # flags come after these, it does so all the same.
        flags["master_enable_metrics_snapshotter"] = "false"
    both = _flags_of_both(settings)
    del both["durable_wal_write"]  # masters sync their log whatever it says
    return {**flags, **both, **settings.master_flags}


def tserver_flags(spec: ClusterSpec, settings: Settings) -> dict[str, str]:
    """The tablet server's flags, the profile's own last."""
    shares = memory(spec.size.memory_bytes)
    return {
        "memory_limit_hard_bytes": str(shares.tserver_bytes),
        "db_block_cache_size_bytes": str(shares.block_cache_bytes),
        "tserver_enable_metrics_snapshotter": "false",
        **_flags_of_both(settings),
        **_background_flags(settings),
        **_sessions_flag(spec),
        **settings.tserver_flags,
    }


def _background_flags(settings: Settings) -> dict[str, str]:
    """These only the tablet server is given by yugabyted in a way that can be undone."""
    flags: dict[str, str] = {}
    if settings.version.has("auto_analyze"):
        flags["ysql_enable_auto_analyze"] = "false"
    if settings.version.has("memory_defaults_for_ysql"):
        flags["use_memory_defaults_optimized_for_ysql"] = "false"
    return flags


def _sessions_flag(spec: ClusterSpec) -> dict[str, str]:
    if spec.size.disk_bytes >= _MANY_SESSIONS_FROM_DISK_BYTES:
        return {SESSIONS: str(_MANY_SESSIONS)}
    return {}


def most_sessions(spec: ClusterSpec, settings: Settings) -> int | None:
    """How many a node takes; None if the profile says it in PostgreSQL's own file."""
    running = tserver_flags(spec, settings)
    if "max_connections" in running.get("ysql_pg_conf_csv", ""):
        return None
    # 0 is the flag's own default, with which a node takes 300.
    most = running.get(SESSIONS, "0")
    if most == "0":
        return DEFAULT_SESSIONS
    if most.isdecimal():
        return int(most)
    return None


def joined(flags: Mapping[str, str]) -> str:
    """`name=value,name=value` as yugabyted takes flags; a value with a comma is braced."""
    parts: list[str] = []
    for name, value in flags.items():
        if "," in value:
            parts.append(f"{name}={{{value}}}")
        else:
            parts.append(f"{name}={value}")
    return ",".join(parts)


def start_command(
    spec: ClusterSpec,
    settings: Settings,
    number: int,
    addresses: Sequence[str],
    restored: bool,
) -> tuple[str, ...]:
    """The command of node `number` (from 1) of those at `addresses`, after a shell's steps that
    prepare the container for it."""
    address = addresses[number - 1]
    zone = settings.zones[(number - 1) % len(settings.zones)]
    of_master = joined(master_flags(spec, settings))
    of_tserver = joined(tserver_flags(spec, settings))
    steps: list[str] = []
    argv = [
        *_START,
        f"--base_dir={BASE_DIR}",
        f"--advertise_address={address}",
        f"--cloud_location={zone}",
        f"--fault_tolerance={settings.fault_tolerance}",
        f"--master_flags={of_master}",
        f"--tserver_flags={of_tserver}",
    ]
    if settings.tls:
        argv.append("--secure")
        steps.append(_INSTALL_KEYS)
    if restored:
        # It remembers its cluster: `--join` would need a running master, and there is none yet.
        steps.append(_look_at_restored(address))
    elif number > 1:
        argv.append(f"--join={addresses[0]}")
    if not steps:
        return tuple(argv)
    return ("sh", "-c", " && ".join([*steps, 'exec "$@"']), "yugabyted", *argv)


def _look_at_restored(address: str) -> str:
    """The steps before a restored node: it must be at its old address, and not seem to run."""
    named = '"advertise_address" *: *'
    # Nodes know each other by address: at another one the node would wait forever. A file that
    # names none is no reason to refuse. A killed node leaves numbers of processes, and would
    # believe that it runs already.
    return (
        f"{{ ! grep -q '{named}' {CONF} || "
        f"grep -q '{named}\"{address}\"' {CONF} || "
        f"{{ echo 'this disk was loaded at another address than {address}'; exit 78; }}; }} && "
        f"rm -f {DATA_DIR}/*.pid"
    )


def master_addresses(addresses: Sequence[str]) -> str:
    """The masters' addresses, for yb-admin."""
    return ",".join(f"{address}:{MASTER_RPC}" for address in addresses)


def place_data(spec: ClusterSpec) -> tuple[str, ...] | None:
    """The command that sets the replication factor once all nodes are up; None if none is
    needed."""
    # yugabyted starts with one copy, and goes to three by itself when the third node joins.
    if spec.replication_factor == 3 or spec.nodes < 3:
        return None
    zones: tuple[str, ...] = ()
    if spec.replication_factor > 1:
        zones = ("--fault_tolerance=zone",)
    placed = (*zones, f"--rf={spec.replication_factor}", f"--base_dir={BASE_DIR}")
    return ("bin/yugabyted", "configure", "data_placement", *placed)
