"""The servers' own web pages: one GET with a deadline, and the few answers that are read.

Masters at :7000, tablet servers at :9000, YSQL at :13000, always plain HTTP, reached through ports
published on 127.0.0.1 (or at a cluster's own addresses). A failed reading is an OSError.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.model import Node

# Names in `sources`: of YugabyteDB's servers, and of what a machine that is not this one offers.
MASTER, TSERVER, YSQL = "yb-master", "yb-tserver", "yb-ysql"
NODE_EXPORTER, DISK_DEVICE = "node-exporter", "disk-device"
TIMEOUT_S = 5.0


@dataclass(frozen=True)
class WatchedNode(Node):
    """A node whose counters are read over HTTP. `sources`: what serves them → its base URL, and,
    as `DISK_DEVICE`, the device of a machine that is not this one."""

    sources: Mapping[str, str] = field(default_factory=dict)


def sources(node: Node) -> Mapping[str, str]:
    """Empty for a node that serves nothing."""
    found = getattr(node, "sources", {})
    return found if isinstance(found, Mapping) else {}


def urls(nodes: Iterable[Node], server: str) -> dict[str, str]:
    """Node → base URL, of the nodes that have this server."""
    return {node.name: sources(node)[server] for node in nodes if server in sources(node)}


class _Direct(urllib.request.HTTPRedirectHandler):
    """A master that does not lead may redirect to an address that only the cluster can reach."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


# No proxy: these are addresses of this machine or of its own network.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Direct())


def get(url: str, timeout_s: float = TIMEOUT_S) -> str:
    """The body. OSError where there is no answer, or one that is not 200."""
    try:
        with _opener.open(url, timeout=timeout_s) as answer:
            body: bytes = answer.read()
    except (http.client.HTTPException, ValueError) as error:
        raise OSError(f"{url}: {type(error).__name__}: {error}") from error
    except OSError as error:
        raise OSError(f"{url}: {error}") from error
    return body.decode(errors="replace")


def get_json(url: str, timeout_s: float = TIMEOUT_S) -> Any:
    """OSError also where the answer is not JSON, or an object that says `error`."""
    try:
        content = json.loads(get(url, timeout_s))
    except ValueError as error:
        raise OSError(f"{url}: not JSON") from error
    if isinstance(content, dict) and "error" in content:
        raise OSError(f"{url}: {content['error']}")
    return content


def ask_leader(masters: Sequence[str], path: str) -> Any:
    """The first JSON answer among the masters: those that do not lead pass the question on,
    redirect, or answer with a page of HTML, depending on the release."""
    failures = []
    for master in masters:
        try:
            return get_json(f"{master}{path}")
        except OSError as error:
            failures.append(str(error))
    raise OSError("; ".join(failures) or "no master to ask")


# ------------------------------------------------------------------ what is read


def flags(server: str) -> dict[str, str]:
    """The flags a server runs with, as it says itself."""
    content = get_json(f"{server}/api/v1/varz")
    return {str(flag["name"]): str(flag["value"]) for flag in content["flags"]}


def version(server: str) -> str:
    """`2.18.1.0-b84`."""
    content = get_json(f"{server}/api/v1/version")
    return f"{content['version_number']}-b{content['build_number']}"


@dataclass(frozen=True)
class TabletServer:
    """One row of the masters' list. `at` is the host it advertises."""

    at: str
    alive: bool
    user_leaders: int
    user_tablets: int
    sst_files: int
    sst_bytes: int
    raw_bytes: int
    zone: str


def tablet_servers(masters: Sequence[str]) -> tuple[TabletServer, ...]:
    """All that the masters know of, in the order of their addresses."""
    content = ask_leader(masters, "/api/v1/tablet-servers")
    rows = [(at, row) for group in content.values() for at, row in group.items()]
    return tuple(
        TabletServer(
            at=at.rsplit(":", 1)[0],
            alive=row.get("status") == "ALIVE",
            user_leaders=int(row.get("user_tablets_leaders", 0)),
            user_tablets=int(row.get("user_tablets_total", 0)),
            sst_files=int(row.get("num_sst_files", 0)),
            sst_bytes=int(row.get("total_sst_file_size_bytes", 0)),
            raw_bytes=int(row.get("uncompressed_sst_file_size_bytes", 0)),
            zone=".".join(str(row.get(key, "")) for key in ("cloud", "region", "zone")),
        )
        for at, row in sorted(rows)
    )


def replication_factor(masters: Sequence[str]) -> int:
    """1 where the cluster was never told: then it has the one that yugabyted starts with."""
    content = ask_leader(masters, "/api/v1/cluster-config")
    live = content.get("replication_info", {}).get("live_replicas", {})
    return int(live.get("num_replicas", 1))


@dataclass(frozen=True)
class Health:
    dead_nodes: int
    under_replicated_tablets: int

    @property
    def well(self) -> bool:
        return self.dead_nodes == 0 and self.under_replicated_tablets == 0


def health(masters: Sequence[str]) -> Health:
    content = ask_leader(masters, "/api/v1/health-check")
    return Health(
        dead_nodes=len(content.get("dead_nodes", ())),
        under_replicated_tablets=len(content.get("under_replicated_tablets", ())),
    )
