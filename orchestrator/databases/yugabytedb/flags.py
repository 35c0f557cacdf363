"""How a node is started: a profile's cluster → memory shares, flags and command line. Pure.

Facts and their sources: docs/YUGABYTEDB.md. The servers size themselves from the memory of the
machine and do not see the container's limit, so every share is set here."""

from collections.abc import Mapping, Sequence

from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.keys.strict_yaml import filled, shipped
from orchestrator.model import ClusterSpec
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
TSERVER_RPC = 9100

_MIB = 2**20
# Shares of a node's memory. Up to 4 GiB YugabyteDB's own (server_main_util.cc: 45 and 20 %); above,
# 60 % for the tablet server, as yugabyted gives it of the machine. The master's share is bounded:
# creating a database alone takes it up to 500 MB. The rest is for PostgreSQL's sessions and for the
# page cache, through which data files are read.
_SMALL_BYTES = 4 * 2**30
_MASTER_BYTES = (512 * _MIB, 2048 * _MIB)
_BLOCK_CACHE_PCT = 50  # of the tablet server's share: its own default

HISTORY_S = 4 * 3600  # for which old versions of rows are kept


def memory(node_bytes: int) -> dict[str, int]:
    """How a node's memory is divided, by what flags.yaml calls each share."""
    low, high = _MASTER_BYTES
    tserver_pct, master_pct = (45, 20) if node_bytes <= _SMALL_BYTES else (60, 10)
    tserver = node_bytes * tserver_pct // 100
    return {
        "master_bytes": min(max(node_bytes * master_pct // 100, low), high),
        "tserver_bytes": tserver,
        "block_cache_bytes": tserver * _BLOCK_CACHE_PCT // 100,
    }


def _set(part: str, spec: ClusterSpec, settings: Settings) -> dict[str, str]:
    """The flags of this part of flags.yaml, with values that follow from cluster and settings."""
    since = settings.version.has
    durable = settings.durability == "durable"
    own_directory = None
    if settings.own_wal_directory:
        own_directory = WAL_DIR
    values = {
        **memory(spec.size.memory_bytes),
        "history_s": HISTORY_S,
        "durable": "true" if durable else "false",
        "required": "true" if durable else None,
        "wal_directory": WAL_DISK_DIR if settings.wal_disk else own_directory,
        "snapshots": None if since("masters_own_flags") else "false",
        "auto_analyze": "false" if since("auto_analyze") else None,
        "memory_defaults": "false" if since("memory_defaults_for_ysql") else None,
    }
    content = filled(shipped(__package__, "flags.yaml")["set"][part], values) or {}
    return {name: str(value) for name, value in content.items()}


def master_flags(spec: ClusterSpec, settings: Settings) -> dict[str, str]:
    """The master's flags, the profile's own last. Masters always make their log durable."""
    own = _set("master", spec, settings)
    both = _set("both", spec, settings)
    both.pop("durable_wal_write")
    return {**own, **both, **settings.master_flags}


def tserver_flags(spec: ClusterSpec, settings: Settings) -> dict[str, str]:
    """The tablet server's flags, the profile's own last."""
    own = _set("tserver", spec, settings)
    both = _set("both", spec, settings)
    return {
        **own,
        **both,
        **_set("background", spec, settings),
        **settings.tserver_flags,
    }


def joined(flags: Mapping[str, str]) -> str:
    """`name=value,name=value` as yugabyted takes flags; a value with a comma is braced."""
    braced = {
        name: f"{{{value}}}" if "," in value else value for name, value in flags.items()
    }
    return ",".join(f"{name}={value}" for name, value in braced.items())


def start_command(
    spec: ClusterSpec,
    settings: Settings,
    number: int,
    addresses: Sequence[str],
    restored: bool,
) -> tuple[str, ...]:
    """The command of node `number` (from 1) of those at `addresses`, after a shell's steps that
    prepare the container for it. A restored one remembers its cluster: `--join` would need a
    running master, and there is none yet."""
    own_address = addresses[number - 1]
    steps = []
    argv = [
        *shipped(__package__, "flags.yaml")["start"],
        f"--base_dir={BASE_DIR}",
        f"--advertise_address={own_address}",
        f"--cloud_location={settings.zones[(number - 1) % len(settings.zones)]}",
        f"--fault_tolerance={settings.fault_tolerance}",
        f"--master_flags={joined(master_flags(spec, settings))}",
        f"--tserver_flags={joined(tserver_flags(spec, settings))}",
    ]
    if settings.tls:
        argv.append("--secure")
        steps.append("secured")
    if restored:
        steps.append("restored")
    elif number > 1:
        argv.append(f"--join={addresses[0]}")
    if not steps:
        return tuple(argv)
    places = {"certs": CERTS_DIR, "source": CERTS_SOURCE, "conf": CONF}
    texts = shipped(__package__, "flags.yaml")["before_start"]
    said = [
        texts[step].format(data=DATA_DIR, address=own_address, **places)
        for step in steps
    ]
    return ("sh", "-c", " && ".join([*said, 'exec "$@"']), "yugabyted", *argv)


def master_addresses(addresses: Sequence[str]) -> str:
    """Those of masters, for yb-admin."""
    return ",".join(f"{address}:{MASTER_RPC}" for address in addresses)


def place_data(spec: ClusterSpec) -> tuple[str, ...] | None:
    """The command that sets the replication factor once all nodes are up; None if none is needed:
    yugabyted starts with one copy and goes to three by itself when the third node joins."""
    if spec.replication_factor == 3 or spec.nodes < 3:
        return None
    zones: tuple[str, ...] = ()
    if spec.replication_factor > 1:
        zones = ("--fault_tolerance=zone",)
    placed = (*zones, f"--rf={spec.replication_factor}", f"--base_dir={BASE_DIR}")
    return ("bin/yugabyted", "configure", "data_placement", *placed)
