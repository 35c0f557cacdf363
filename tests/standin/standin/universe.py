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
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from standin import options
from standin.metrics import Activity
from standin.pages import Page, Query
from standin.texts import series

BEAT_S = 0.5
DEAD_AFTER_S = 3.0  # of the real one: 60
VOTING = 3
MOVE_S = 1.0  # what moving leaders takes
_SERVERS = Path("/run/standin/servers.json")
_LOOK = """SELECT count(*), pg_database_size(current_database())
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i') AND n.nspname = 'public'
  AND NOT EXISTS (SELECT FROM pg_index k WHERE k.indexrelid = c.oid AND k.indisprimary)"""


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
        self._seen: tuple[float, int, int] = (0.0, 0, 0)
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
        """How many tablets a table gets."""
        given = int(self._flags["ysql_num_tablets"])
        if given > 0:
            return given
        return int(self._flags["ysql_num_shards_per_tserver"]) * len(self.members)

    def _leader(self, table: int, tables: int, tablet: int) -> int:
        """The number of the member that leads a tablet: after a new start as elections left them,
        until the balancer has moved them."""
        number = (table + tablet) % len(self.members)
        is_at_rest = time.monotonic() - self.since >= self._delay_s + MOVE_S
        if not self._again or is_at_rest or table < tables // 2:
            return number
        return 0

    def _leads(self, tables: int, number: int) -> int:
        """How many tablets the member leads."""
        led = [
            self._leader(table, tables, tablet)
            for table in range(tables)
            for tablet in range(self.tablets())
        ]
        return led.count(number)

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
        tables, size = self._look()
        with self._lock:
            rows = {}
            for number, member in enumerate(self.members.values()):
                cloud, region, zone = member.zone.split(".")
                alive = self._alive(member)
                rows[f"{member.host}:9000"] = {
                    "time_since_hb_sec": round(time.monotonic() - member.heard_at, 2),
                    "status": "ALIVE" if alive else "DEAD",
                    "num_sst_files": member.files,
                    "total_sst_file_size_bytes": size,
                    "uncompressed_sst_file_size_bytes": 2 * size,
                    "path_metrics": [{"path": "/home/yugabyte/yb_data/data"}],
                    "user_tablets_total": tables * self.tablets() if alive else 0,
                    "user_tablets_leaders": self._leads(tables, number) if alive else 0,
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

    def _config(self, _: Query) -> tuple[int, Any]:
        if not self._sets_placement:
            return 200, {"version": 0, "cluster_uuid": "stand-in"}
        content: dict[str, Any] = {"version": 1, "cluster_uuid": "stand-in"}
        if self.copies > 1 or self._placement_says_one:
            live = {"num_replicas": self.copies, "placement_blocks": []}
            content["replication_info"] = {"live_replicas": live}
        return 200, content

    def _entities(self, _: Query) -> tuple[int, Any]:
        """Who leads the tablets of each table adds up to `_leads`."""
        count, _size = self._look()
        with self._lock:
            members = list(self.members.values())
            each = range(self.tablets())
            led = {
                (table, tablet): members[self._leader(table, count, tablet)].uuid
                for table in range(count)
                for tablet in each
            }
            copies = [
                {"type": "VOTER", "server_uuid": m.uuid, "addr": f"{m.host}:9100"}
                for m in members
            ]
        names = [f"table{number}" for number in range(count)]
        tablets = [
            {
                "table_id": name, "tablet_id": f"{name}-{number}", "state": "RUNNING",
                "replicas": copies,
                "leader": led[table, number],
            }
            for table, name in enumerate(names)
            for number in each
        ]  # fmt: skip
        return 200, {
            "keyspaces": [
                {"keyspace_id": "1", "keyspace_name": "bench", "keyspace_type": "ysql"}
            ],
            "tables": [
                {
                    "table_id": name,
                    "keyspace_id": "1",
                    "table_name": name,
                    "state": "RUNNING",
                }
                for name in names
            ],
            "tablets": tablets,
        }

    def _look(self) -> tuple[int, int]:
        """Tables and indexes of the generator's database, and its size; once in two seconds."""
        at, tables, size = self._seen
        if time.monotonic() - at > 2.0:
            command = ["psql", "-XAtq", "-h", "/run/standin", "-p", "6432", "-U", "yugabyte",
                       "-d", "bench", "-c", _LOOK]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                tables, size = (int(part) for part in done.stdout.split("|"))
            self._seen = (time.monotonic(), tables, size)
        return tables, size
