"""A cluster of others that is not there: a server that remembers every statement, and its profile.

It answers as PostgreSQL and YugabyteDB do; tests/integration/test_existing.py asks real servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.databases.existing import ExistingCluster
from orchestrator.errors import (
    NotPermittedError,
    RunError,
    StatementError,
    UsageError,
)
from orchestrator.model import Cluster, ClusterSpec, NodeSize
from orchestrator.powers import Network, World
from orchestrator.system import sql
from tests.fakes import QuietProgress, fake_world

HOSTS = ("10.0.0.11", "10.0.0.12", "10.0.0.13")
# Released builds print -b0 whatever their build is (yugabyte/yugabyte-db issues 2447, 12323).
YUGABYTEDB = "PostgreSQL 11.2-YB-2.18.1.0-b0 on x86_64-pc-linux-gnu"
POSTGRESQL = "PostgreSQL 16.4 (Debian 16.4-1.pgdg120+1) on x86_64-pc-linux-gnu"


def spec(
    nodes: int = 3, copies: int = 3, version: str | None = None, **keys: str
) -> ClusterSpec:
    keys = {"hosts": " ".join(HOSTS), "tls": "off", **keys}
    size = NodeSize(8.0, 2**35, 2**38)
    return ClusterSpec("existing", nodes, copies, size, version=version, existing=keys)


@dataclass
class Server:
    """A cluster: its databases with their tables, the comments on them, and every statement that
    it was sent. `has`: names of settings and functions. `busy`: how often somebody is connected.
    `before`: is told of each statement before it is carried out, as another user may come then."""

    banner: str = YUGABYTEDB
    databases: dict[str, set[str]] = field(default_factory=lambda: {"yugabyte": set()})
    comments: dict[str, str] = field(default_factory=dict)
    has: tuple[str, ...] = ()
    sessions: int = 300  # that each host takes
    superuser: str = "off"  # whether our user is one, for whom 3 are kept
    busy: int = 0
    forbids_force: bool = False  # since a superuser's session is in our database
    half_made: tuple[str, ...] = ()  # indexes
    addresses: list[sql.Address] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    unreachable: tuple[str, ...] = ()
    known: int = 3
    lease: str = ""  # who holds it
    silent: bool = False  # whether for long
    synchronous_commit: str = "off"
    directory: str | None = None  # hidden from a user who is nobody's, as by a real 15
    tables: str = ""
    settings: dict[str, str] = field(
        default_factory=lambda: {
            "checkpoint_timeout": "5min",
            "shared_buffers": "128MB",
        }
    )
    counters: list[dict[str, Any]] = field(
        default_factory=list
    )  # of one reading after another
    given_process_id: int = 77
    tablets: list[dict[str, Any]] | None = None  # without a view of them
    connection_limits: dict[int, int] = field(default_factory=dict)  # by number
    before: Callable[[str], None] = lambda _statement: None
    numbered: list[set[str]] = field(default_factory=list)  # by their numbers
    renamed: list[tuple[str, str]] = field(default_factory=list)  # in this transaction

    def oid(self, name: str) -> int:
        """The number of the database that has this name now: one made anew has another."""
        made = self.databases[name]
        for number, known in enumerate(self.numbered):
            if known is made:
                return 16384 + number
        self.numbered.append(made)
        return 16384 + len(self.numbered) - 1

    def drop(self, name: str) -> None:
        self.databases.pop(name, None)
        self.comments.pop(name, None)

    def rename(self, name: str, new_name: str) -> None:
        self.databases[new_name] = self.databases.pop(name)
        if name in self.comments:
            self.comments[new_name] = self.comments.pop(name)

    @contextmanager
    def connect(self, address: sql.Address, _timeout_s: float) -> Iterator[sql.Session]:
        if address.host in self.unreachable or address.database not in self.databases:
            raise RunError(f"SQL at {address.host}: no")
        self.addresses.append(address)
        yield Asked(self, address.database)


_FORBIDDEN = NotPermittedError("must be a superuser to terminate superuser process")


@dataclass
class Asked:
    server: Server
    database: str

    def given_process_id(self) -> int:
        return self.server.given_process_id

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError(sql)

    def rows(self, text: str) -> list[dict[str, Any]]:
        self.server.before(text)
        self.server.statements.append(text)
        databases = self.server.databases
        words = text.split()
        if "lease" in words:
            return self._of_lease(text)
        if "AS most" in text:
            taken = {"most": str(self.server.sessions), "reserved": "3"}
            return [{**taken, "superuser": self.server.superuser}]
        if "indisvalid" in text:
            return [{"name": name} for name in self.server.half_made]
        if "AS directory" in text:
            return [{"directory": self.server.directory, "tables": self.server.tables}]
        if "AS has" in text:
            return [{"has": self.server.tablets is not None}]
        if "FROM yb_tablet_metadata" in text:
            return self.server.tablets or []
        if "version()" in text:
            return [{"version": self.server.banner}]
        if "yb_servers" in text:
            return [{"host": host} for host in HOSTS[: self.server.known]]
        if "FROM pg_database" in text:
            return self._found(text.split("'")[-2])
        if "FROM pg_tables" in text:
            return [
                {"?": 1} for name in databases[self.database] if f"'{name}'" in text
            ]
        if "FROM pg_class" in text:
            return [{"?": 1} for _ in databases[self.database]][:1]
        if "FROM pg_settings WHERE name IN ('alloydb" in text or "FROM pg_proc" in text:
            return [{"name": name} for name in self.server.has if f"'{name}'" in text]
        if text.startswith("CREATE DATABASE"):
            name = words[2].strip('"')
            databases[name] = set()
            self.server.connection_limits[self.server.oid(name)] = int(words[-1])
        elif text.startswith("COMMENT ON DATABASE"):
            self.server.comments[words[3].strip('"')] = text.split("'", 1)[
                1
            ].removesuffix("'")
        elif text.startswith("DROP DATABASE"):
            if self.server.forbids_force and "FORCE" in text:
                raise _FORBIDDEN
            self._require_unused()
            self.server.drop(words[2].strip('"'))
        elif text.startswith("ALTER DATABASE"):
            self._require_unused()
            names = (words[2].strip('"'), words[-1].strip('"'))
            self.server.rename(*names)
            self.server.renamed.append(names)
        elif "pg_terminate_backend" in text and self.server.forbids_force:
            raise _FORBIDDEN
        elif text in ("BEGIN", "COMMIT", "ROLLBACK"):
            self._transaction(text)
        elif "boot_val" in text:
            return [
                {"name": name, "setting": is_}
                for name, is_ in self.server.settings.items()
            ]
        elif "blks_hit" in text:
            return [
                self.server.counters.pop(0) if self.server.counters else {"blks_hit": 0}
            ]
        elif "pg_backend_pid" in text:
            return [{"id": 77}]
        elif "pg_settings" in text:
            settings = {"fsync": "on", "full_page_writes": "on"}
            settings["synchronous_commit"] = self.server.synchronous_commit
            return [
                {"name": name, "setting": value} for name, value in settings.items()
            ]
        elif "pg_database_size" in text:
            return [{"bytes": 4096, "buffers": 2**27}]
        elif "AS level" in text:
            return [{"level": "repeatable read"}]
        return []

    def _found(self, name: str) -> list[dict[str, Any]]:
        server = self.server
        if name not in server.databases:
            return []
        oid = server.oid(name)
        limit = server.connection_limits.get(oid, -1)
        mark = server.comments.get(name)
        return [{"oid": oid, "mark": mark, "connection_limit": limit}]

    def _require_unused(self) -> None:
        if self.server.busy:
            self.server.busy -= 1
            german = "auf Datenbank »tierbench« wird von anderen Benutzern zugegriffen"
            raise StatementError(german, sqlstate=sql.OBJECT_IN_USE)

    def _transaction(self, text: str) -> None:
        """PostgreSQL undoes a renaming that is rolled back."""
        server = self.server
        if text == "ROLLBACK":
            for name, new_name in server.renamed:
                server.rename(new_name, name)
        server.renamed.clear()

    def _of_lease(self, text: str) -> list[dict[str, Any]]:
        """As PostgreSQL answers: tests/integration/test_existing.py asks a real one."""
        server, tables = self.server, self.server.databases[self.database]
        if text.startswith("CREATE TABLE"):
            tables.add("lease")
        elif "lease" not in tables:
            raise RunError('relation "lease" does not exist')
        elif text.startswith("DROP TABLE"):
            tables.remove("lease")
        elif text.startswith("DELETE"):
            server.lease = "" if text.split("'")[1] == server.lease else server.lease
        elif text.startswith("INSERT"):
            holder = text.split("'")[1]
            if server.lease not in ("", holder) and not server.silent:
                return []
            server.lease, server.silent = holder, False
            return [{"holder": holder}]
        else:
            return [{"holder": server.lease}] if server.lease else []
        return []


CACHE: list[Path] = []  # of the test that runs


@pytest.fixture(autouse=True, name="cache")
def a_cache(tmp_path: Path) -> Iterator[None]:
    CACHE.append(tmp_path / "cache")
    yield
    CACHE.pop()


def existing_world(progress: Any = None) -> World:
    return replace(fake_world(), progress=progress or QuietProgress(), cache=CACHE[-1])


def database(server: Server) -> ExistingCluster:
    """Its owner gives up nothing at the terminal."""
    return ExistingCluster(server.connect, lambda _question, _may_ask: False)


@contextmanager
def running(
    server: Server, spec: ClusterSpec, progress: Any = None
) -> Iterator[Cluster]:
    network = Network("net", ())
    with database(server).running(
        spec, (), network, existing_world(progress)
    ) as cluster:
        yield cluster


def mistakes_of(server: Server, spec: ClusterSpec) -> dict[str, str]:
    """What it is refused for: place → text."""
    with pytest.raises(UsageError) as raised:
        database(server).check(spec, existing_world())
    return {mistake.where: mistake.what for mistake in raised.value.mistakes}
