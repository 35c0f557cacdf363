"""What the leading master knows: which nodes there are, which live, how many copies are kept.

The first node holds it, and writes down what YSQL's functions tell of it. Other nodes send a sign
of life twice a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from standin import options
from standin.metrics import Activity
from standin.pages import Page, Query
from standin.texts import series

BEAT_S = 0.5
DEAD_AFTER_S = 3.0  # of the real one: 60
VOTING = 3
MOVE_S = 1.0  # what moving leaders takes
_SERVERS = Path("/run/standin/servers.json")
_DATABASES = """SELECT datname FROM pg_database
WHERE NOT datistemplate AND datname NOT IN ('postgres', 'yugabyte') ORDER BY oid"""
# Tables and indexes of a database, each with its tablets, 0 where nobody said how many.
_RELATIONS = """SELECT c.relname, coalesce(s.tablets, 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.standin_tablets s ON s.relation = c.oid
WHERE c.relkind IN ('r', 'i') AND n.nspname = 'public'
  AND NOT EXISTS (SELECT FROM pg_index k WHERE k.indexrelid = c.oid AND k.indisprimary)
ORDER BY c.oid"""
_SIZE = "SELECT pg_database_size(current_database())"


class Relation(NamedTuple):
    """A table or index. `split`: the tablets that were asked for it; 0: none were."""

    database: str
    name: str
    split: int = 0


class Seen(NamedTuple):
    """What PostgreSQL says of all databases of users, and when (monotonic)."""

    at_s: float
    relations: tuple[Relation, ...] = ()
    size_bytes: int = 0


@dataclass
class Member:
    host: str
    zone: str
    uuid: str = field(default_factory=lambda: uuid.uuid4().hex)
    heard_at: float = 0.0
    files: int = 1


class Universe:
    """Guarded: pages and beats come from many threads. `keep` is where it survives a restart.
    `delay_s`: how long the balancer rests after the start. `flags`: of tablet servers."""

    def __init__(
        self,
        keep: Path,
        activity: Activity,
        version: str,
        delay_s: float = 120.0,
        servers: Path = _SERVERS,
        flags: Mapping[str, str] | None = None,
    ) -> None:
        self._flags = flags or options.defaults("tserver", version)
        self._delay_s, self.since, self._again = (
            delay_s,
            time.monotonic(),
            keep.is_file(),
        )
        self._lock = threading.RLock()
        self._keep, self._activity, self._servers = keep, activity, servers
        self.copies = 1
        self._sets_placement = os.environ.get("STANDIN_PLACEMENT") != "none"
        if not self._sets_placement:
            self.copies = VOTING
        # Servers are listed by placement, which yugabyted names from 2.19 on.
        self._placement = str(uuid.UUID(int=0)) if series(version) >= (2, 19) else ""
        self._placement_says_one = series(version) >= (
            2024,
            1,
        )  # yugabyted sets it itself
        self.members: dict[str, Member] = {}
        self._seen = Seen(0.0)
        if keep.is_file():
            kept = json.loads(keep.read_text())
            self.copies = kept["copies"]
            for row in kept["members"]:
                self.members[row["host"]] = Member(**{**row, "heard_at": 0.0})
        self._write()

    def hear(self, host: str, zone: str, files: int) -> None:
        with self._lock:
            is_new = host not in self.members
            member = self.members.setdefault(host, Member(host, zone))
            member.heard_at, member.files = time.monotonic(), files
            if is_new:
                if len(self.members) == VOTING and self.copies == 1:
                    self.copies = VOTING
                self._write()

    def place(self, copies: int) -> bool:
        with self._lock:
            if copies > len(self.members):
                return False
            self.copies = copies
            self._write()
            return True

    def masters(self) -> list[str]:
        with self._lock:
            return sorted(self.members)[: max(VOTING, self.copies)]

    def idle(self) -> bool:
        """Whether the balancer says that it has nothing to do: also before it has begun."""
        at_s = time.monotonic() - self.since - self._delay_s
        return not (self._again and 0 <= at_s < MOVE_S)

    def tablets(self) -> int:
        """How many tablets a table gets that says nothing about it."""
        given = int(self._flags["ysql_num_tablets"])
        if given > 0:
            return given
        return int(self._flags["ysql_num_shards_per_tserver"]) * len(self.members)

    def _leaders(self, relations: Sequence[Relation]) -> list[list[int]]:
        """Of each relation the numbers of the members that lead its tablets."""
        leaders = []
        for number, relation in enumerate(relations):
            tablets = relation.split or self.tablets()
            leaders.append(
                [
                    self._leader(number, len(relations), tablet)
                    for tablet in range(tablets)
                ]
            )
        return leaders

    def _leader(self, table: int, tables: int, tablet: int) -> int:
        """The number of the member that leads a tablet: after a new start as elections left them,
        until the balancer has moved them."""
        number = (table + tablet) % len(self.members)
        is_at_rest = time.monotonic() - self.since >= self._delay_s + MOVE_S
        if not self._again or is_at_rest or table < tables // 2:
            return number
        return 0

    def _alive(self, member: Member) -> bool:
        return time.monotonic() - member.heard_at < DEAD_AFTER_S

    def _write(self) -> None:
        rows = [asdict(member) for member in self.members.values()]
        self._keep.parent.mkdir(parents=True, exist_ok=True)
        self._keep.write_text(json.dumps({"copies": self.copies, "members": rows}))
        fresh = self._servers.with_suffix(".new")
        fresh.write_text(json.dumps(rows))
        fresh.replace(self._servers)
        self._servers.with_name("tablets").write_text(str(self.tablets()))

    # -------------------------------------------------------------- pages of the leader

    def pages(self) -> dict[str, Page]:
        return {
            "/api/v1/tablet-servers": self._tablet_servers,
            "/api/v1/health-check": self._health,
            "/api/v1/cluster-config": self._config,
            "/api/v1/masters": self._masters,
            "/dump-entities": self._entities,
            "/standin/beat": self._beat,
            "/standin/place": self._place,
            "/standin/masters": lambda _: (200, self.masters()),
            "/standin/idle": lambda _: (200, {"idle": self.idle()}),
        }

    def _beat(self, query: Query) -> tuple[int, Any]:
        self.hear(query["host"][0], query["zone"][0], int(query["files"][0]))
        return 200, {"masters": self.masters()}

    def _place(self, query: Query) -> tuple[int, Any]:
        done = self.place(int(query["rf"][0]))
        return (200, {}) if done else (400, {"error": "not enough nodes"})

    def _tablet_servers(self, _: Query) -> tuple[int, Any]:
        seen = self._look()
        with self._lock:
            rows = {}
            led = [
                number for table in self._leaders(seen.relations) for number in table
            ]
            for number, member in enumerate(self.members.values()):
                cloud, region, zone = member.zone.split(".")
                alive = self._alive(member)
                rows[f"{member.host}:9000"] = {
                    "time_since_hb_sec": round(time.monotonic() - member.heard_at, 2),
                    "status": "ALIVE" if alive else "DEAD",
                    "num_sst_files": member.files,
                    "total_sst_file_size_bytes": seen.size_bytes,
                    "uncompressed_sst_file_size_bytes": 2 * seen.size_bytes,
                    "path_metrics": [{"path": "/home/yugabyte/yb_data/data"}],
                    "user_tablets_total": len(led) if alive else 0,
                    "user_tablets_leaders": led.count(number) if alive else 0,
                    "cloud": cloud,
                    "region": region,
                    "zone": zone,
                }
            return 200, {self._placement: rows}

    def _health(self, _: Query) -> tuple[int, Any]:
        with self._lock:
            dead = [m.uuid for m in self.members.values() if not self._alive(m)]
            short = ["0" * 32] if len(self.members) - len(dead) < self.copies else []
        answer = {
            "dead_nodes": dead,
            "most_recent_uptime": 1,
            "under_replicated_tablets": short,
        }
        return 200, answer

    def _masters(self, _: Query) -> tuple[int, Any]:
        """The first node leads as long as it is up."""
        rows = []
        for host in self.masters():
            cloud, region, zone = self.members[host].zone.split(".")
            at = {"host": host, "port": 7100}
            registration = {
                "private_rpc_addresses": [at],
                "http_addresses": [{"host": host, "port": 7000}],
                "cloud_info": {"placement_cloud": cloud, "placement_region": region,
                               "placement_zone": zone},
                "placement_uuid": "",
            }  # fmt: skip
            role = "LEADER" if host == next(iter(self.members)) else "FOLLOWER"
            rows.append({"registration": registration, "role": role})
        return 200, {"masters": rows}

    def _config(self, _: Query) -> tuple[int, Any]:
        if not self._sets_placement:
            return 200, {"version": 0, "cluster_uuid": "stand-in"}
        content: dict[str, Any] = {"version": 1, "cluster_uuid": "stand-in"}
        if self.copies > 1 or self._placement_says_one:
            live = {"num_replicas": self.copies, "placement_blocks": []}
            content["replication_info"] = {"live_replicas": live}
        return 200, content

    def _entities(self, _: Query) -> tuple[int, Any]:
        """Who leads the tablets of each table adds up to what `_tablet_servers` lists."""
        relations = self._look().relations
        with self._lock:
            members = list(self.members.values())
            leaders = self._leaders(relations)
        copies = [
            {"type": "VOTER", "server_uuid": m.uuid, "addr": f"{m.host}:9100"}
            for m in members
        ]
        tables = []
        tablets = []
        for relation, led in zip(relations, leaders, strict=True):
            identity = f"{relation.database}.{relation.name}"
            tables.append(
                {"table_id": identity, "keyspace_id": relation.database,
                 "table_name": relation.name, "state": "RUNNING"}
            )  # fmt: skip
            for number, member in enumerate(led):
                tablets.append(
                    {"table_id": identity, "tablet_id": f"{identity}-{number}",
                     "state": "RUNNING", "replicas": copies, "leader": members[member].uuid}
                )  # fmt: skip
        databases = dict.fromkeys(relation.database for relation in relations)
        keyspaces = [
            {"keyspace_id": name, "keyspace_name": name, "keyspace_type": "ysql"}
            for name in databases
        ]
        return 200, {"keyspaces": keyspaces, "tables": tables, "tablets": tablets}

    def _look(self) -> Seen:
        """Of the PostgreSQL behind; once in two seconds."""
        now_s = time.monotonic()
        if now_s - self._seen.at_s <= 2.0:
            return self._seen
        relations: list[Relation] = []
        size_bytes = 0
        for (database,) in _rows("yugabyte", _DATABASES):
            for name, split in _rows(database, _RELATIONS):
                relations.append(Relation(database, name, int(split)))
            for (size,) in _rows(database, _SIZE):
                size_bytes += int(size)
        self._seen = Seen(now_s, tuple(relations), size_bytes)
        return self._seen


def _rows(database: str, statement: str) -> list[list[str]]:
    """None if there is no such database any more, or no server yet."""
    command = ["psql", "-XAtq", "-h", "/run/standin", "-p", "6432", "-U", "yugabyte",
               "-d", database, "-c", statement]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    return [line.split("|") for line in done.stdout.splitlines()]
