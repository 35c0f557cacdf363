"""`yugabyted`: starts a node in the foreground, as far as a client can see from outside."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlencode

from standin import options, pages
from standin.front import PG_PORT, Front
from standin.metrics import Activity
from standin.texts import line, series
from standin.universe import BEAT_S, Universe
from standin.words import VERSION, fail, fail_killed, get, say

RUN = Path("/run/standin")
_HISTORY = RUN / "history.json"
_PLACE = ("cloud_provider", "cloud_region", "cloud_zone")
_OF_LEADER = (
    "/api/v1/tablet-servers", "/api/v1/health-check", "/api/v1/cluster-config", "/api/v1/masters",
    "/dump-entities",
)  # fmt: skip
# View of YSQL → the release that brought it, or the first that documents it.
VIEWS = {
    "yb_active_session_history": (2024, 2),
    "yb_wait_event_desc": (2024, 2),
    "yb_tablet_metadata": (2025, 2, 3),
}
_AT_WORK = """SELECT coalesce(json_agg(s), '[]') FROM (
SELECT now() AS sample_time, datid::bigint AS ysql_dbid, pid, wait_event_type AS waits_for
FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend'
  AND wait_event_type IS DISTINCT FROM 'Client' AND pid <> pg_backend_pid()) AS s"""
_PG_ARGS = (
    "shared_buffers=32MB",
    "max_connections=300",
    "fsync=off",
    "full_page_writes=off",
    "logging_collector=off",
    f"port={PG_PORT}",
    f"unix_socket_directories={RUN}",
)


def _of_leader(url: str) -> pages.Page:
    """As a master that does not lead: the leader's answer, or a page of HTML without one."""

    def page(_: pages.Query) -> tuple[int, Any]:
        try:
            return 200, get(url)
        except OSError:
            return 200, line("no_leader", VERSION, url=url)

    return page


def main() -> None:
    asked = options.start_parser(VERSION).parse_args()
    if asked.command == "configure":
        _place_data(asked.rf, Path(asked.base_dir))
    else:
        Node(asked).start()


def _place_data(copies: str, base: Path) -> None:
    conf = json.loads((base / "conf/yugabyted.conf").read_text())
    first = conf["join"] or conf["advertise_address"]
    try:
        get(f"http://{first}:7000/standin/place?rf={copies}")
    except OSError:
        fail(line("not_placed", VERSION, copies=copies))
    say(line("placed", VERSION))


def views(version: str, folder: Path) -> list[Path]:
    """The files of the views that a release has."""
    names = [name for name, since in VIEWS.items() if series(version) >= since]
    return [folder / f"{name}.sql" for name in names]


def isolation(tserver: Mapping[str, str]) -> str:
    """What READ COMMITTED really is, as the tablet server's flags have it."""
    committed = tserver["yb_enable_read_committed_isolation"] == "true"
    return "read committed" if committed else "repeatable read"


class Node:
    def __init__(self, asked: Any) -> None:
        self.asked = asked
        self.base = Path(asked.base_dir or Path.home() / "var")
        self.data = self.base / "data"
        self.conf_file = self.base / "conf/yugabyted.conf"
        self.conf: dict[str, Any] = {
            "advertise_address": "", "join": "", "current_masters": "", "database_password": None,
            "cluster_member": False, "secure": False, "master_flags": "", "tserver_flags": "",
            **dict(zip(_PLACE, ("cloud1", "datacenter1", "rack1"), strict=True)),
        }  # fmt: skip
        if self.conf_file.is_file():
            self.conf.update(json.loads(self.conf_file.read_text()))
        self.activity = Activity()
        self.universe: Universe | None = None
        self.postgres: subprocess.Popen[bytes] | None = None

    # -------------------------------------------------------------- checks, as the real one's

    def start(self) -> None:
        for folder in ("data", "logs", "conf"):
            (self.base / folder).mkdir(parents=True, exist_ok=True)
        self._refuse_second_start()
        time.sleep(float(os.environ.get("STANDIN_SLOW_S", "0")))
        self._read_asked()
        self._check_join()
        self._check_certificates()
        if self.asked.background != "false":
            fail(
                "the stand-in knows only --background=false: in a container nothing would be left"
            )
        (self.data / "yugabyted.pid").write_text(str(os.getpid()))
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._killed)
        say(line("starting", VERSION))
        master, tserver = self._flags("master"), self._flags("tserver")
        self._check_durability(tserver)
        self._check_key()
        self._run(master, tserver)

    def _refuse_second_start(self) -> None:
        file = self.data / "yugabyted.pid"
        if not file.is_file():
            return
        command = Path(f"/proc/{file.read_text()}/cmdline")
        mine = int(file.read_text()) == os.getpid()
        if not mine and command.is_file() and b"yugabyted" in command.read_bytes():
            fail(line("running_already", VERSION))

    def _read_asked(self) -> None:
        asked, conf = self.asked, self.conf
        own = socket.gethostbyname(socket.gethostname())
        address = asked.advertise_address or conf["advertise_address"] or own
        if not options.can_be_advertised(address, VERSION):
            fail(line("no_address", VERSION))
        place = (asked.cloud_location or self._place()).split(".")
        if len(place) != 3:
            fail(line("no_location", VERSION))
        conf.update(
            zip(_PLACE, place, strict=True),
            advertise_address=address,
            join=asked.join or conf["join"],
            secure=bool(asked.secure or conf["secure"]),
            master_flags=asked.master_flags or conf["master_flags"],
            tserver_flags=asked.tserver_flags or conf["tserver_flags"],
        )

    def _place(self) -> str:
        return ".".join(self.conf[part] for part in _PLACE)

    def _check_join(self) -> None:
        if self.asked.join is None:
            return
        refused = os.environ.get("STANDIN_REFUSE_JOIN") == "1"
        try:
            varz = get(f"http://{self.asked.join}:7000/api/v1/varz")
        except OSError:
            varz = None
        if varz is None or refused:
            fail(line("join_refused", VERSION, join=self.asked.join))
        flags = {flag["name"]: flag["value"] for flag in varz["flags"]}
        if (flags["use_node_to_node_encryption"] == "true") != self.conf["secure"]:
            fail(line("secure_differs", VERSION))

    def _check_certificates(self) -> None:
        if not self.conf["secure"]:
            return
        address = self.conf["advertise_address"]
        folder = self.base / "certs"
        if self.asked.join and not folder.is_dir():
            fail(line("no_certificates_folder", VERSION))
        for name in ("ca.crt", f"node.{address}.crt", f"node.{address}.key"):
            if not (folder / name).is_file():
                fail(line("no_certificates", VERSION, folder=str(folder)))

    def _check_key(self) -> None:
        """PostgreSQL refuses a key that others could read, in its own log."""
        file = self.base / f"certs/node.{self.conf['advertise_address']}.key"
        why = ""
        if self.conf["secure"] and file.stat().st_uid != 0:
            why = line("key_not_owned", VERSION, file=str(file))
        elif self.conf["secure"] and file.stat().st_mode & 0o077:
            why = line("key_not_closed", VERSION, file=str(file))
        if why:
            self._server_failed("tserver", "postgresql-2026-01-01_000000.log", why)

    def _server_failed(self, server: str, file: str, why: str) -> NoReturn:
        """A server says why it ended in a file of its own; yugabyted only that it did."""
        logs = self.data / f"yb-data/{server}/logs"
        logs.mkdir(parents=True, exist_ok=True)
        (logs / file).write_text(f"{why}\n")
        fail_killed(line("not_started", VERSION, server=server))

    def _flags(self, server: str) -> dict[str, str]:
        try:
            flags = options.server_flags(self.conf[f"{server}_flags"], server, VERSION)
        except SystemExit as unknown:
            (self.base / f"logs/{server}.err").write_text(f"{unknown}\n")
            say(str(unknown))
            fail_killed(line("not_started", VERSION, server=server))
        if server == "master" and os.environ.get("STANDIN_PLACEMENT") == "none":
            flags["replication_factor"] = "3"
        flags["fs_data_dirs"] = str(self.data)
        flags.setdefault("fs_wal_dirs", flags["fs_data_dirs"])
        if self.conf["secure"]:
            flags["use_node_to_node_encryption"] = "true"
            if server == "tserver":
                flags["use_client_to_server_encryption"] = "true"
        return flags

    def _check_durability(self, flags: dict[str, str]) -> None:
        """A file system without O_DIRECT: the real server refuses, or turns durability off."""
        if flags["durable_wal_write"] != "true":
            return
        probe = self.data / ".direct"
        try:
            os.close(os.open(probe, os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
        except OSError:
            if flags["require_durable_wal_write"] == "true":
                self._server_failed(
                    "tserver", "yb-tserver.FATAL", line("no_direct_io", VERSION)
                )
            flags["durable_wal_write"] = "false"
        probe.unlink(missing_ok=True)

    # -------------------------------------------------------------- running

    def _run(self, master: dict[str, str], tserver: dict[str, str]) -> None:
        address = self.conf["advertise_address"]
        first = self.conf["join"] or address
        RUN.mkdir(exist_ok=True)
        # As released builds do: -b0, whatever the build is; that is on the page /api/v1/version.
        number = VERSION.partition("-")[0]
        banner = line("banner", VERSION, number=number)
        (RUN / "banner").write_text(
            f"{banner} a stand-in for tests, which is not YugabyteDB"
        )
        (RUN / "isolation").write_text(isolation(tserver))
        leads = not self.conf["join"]
        if leads:
            keep = self.data / "yb-data/master/universe.json"
            delay_s = float(master["load_balancer_initial_delay_secs"])
            self.universe = Universe(
                keep, self.activity, VERSION, delay_s, flags=tserver
            )
            self._start_postgres()
            self._make_views()
            threading.Thread(target=self._sample_sessions, daemon=True).start()
        try:
            self._serve_pages(address, first, master, tserver, leads)
        except OSError:
            fail_killed(line("not_bound", VERSION, address=f"{address}:7000"))
        front = Front(address, first, self.activity, self._tls(address), VERSION)
        threading.Thread(target=front.run, daemon=True).start()
        self._beat(first, address)
        if leads and self.conf["secure"] and not self.conf["database_password"]:
            self._set_password()
        again, self.conf["cluster_member"] = self.conf.get("cluster_member"), True
        self._save()
        if again:
            say(line("status_again", VERSION))
        else:
            say(line("status", VERSION))
        say(line("started", VERSION))
        while True:
            time.sleep(BEAT_S)
            self._beat(first, address)
            if self.postgres is not None and self.postgres.poll() is not None:
                fail_killed("the PostgreSQL of the stand-in ended")

    def _serve_pages(
        self,
        address: str,
        first: str,
        master: dict[str, str],
        tserver: dict[str, str],
        leads: bool,
    ) -> None:
        mine = pages.common("master", master, VERSION, self.activity)
        if self.universe is not None:
            mine |= self.universe.pages()
        else:
            for path in _OF_LEADER:
                mine[path] = _of_leader(f"http://{first}:7000{path}")
        theirs = pages.common("tserver", tserver, VERSION, self.activity)
        theirs["/standin/flush"] = self._flush
        pages.serve(address, 7000, mine)
        pages.serve(address, 9000, theirs)
        pages.serve(address, 13000, pages.ysql(self.activity))

    def _flush(self, _: Any) -> tuple[int, Any]:
        self.activity.flush()
        return 200, {}

    def _beat(self, first: str, address: str) -> None:
        """A sign of life; the answer says who the masters are, which the node remembers."""
        files = self.activity.numbers()["files"]
        about = {"host": address, "zone": self._place(), "files": files}
        try:
            masters = get(f"http://{first}:7000/standin/beat?{urlencode(about)}")[
                "masters"
            ]
        except (OSError, urllib.error.URLError):
            return
        known = ",".join(f"{master}:7100" for master in masters)
        if known != self.conf["current_masters"]:
            self.conf["current_masters"] = known
            self._save()

    def _save(self) -> None:
        fresh = self.conf_file.with_suffix(".new")
        fresh.write_text(json.dumps(self.conf, indent=4))
        fresh.replace(self.conf_file)

    def _tls(self, address: str) -> ssl.SSLContext | None:
        if not self.conf["secure"]:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        folder = self.base / "certs"
        context.load_cert_chain(
            folder / f"node.{address}.crt", folder / f"node.{address}.key"
        )
        return context

    # -------------------------------------------------------------- the PostgreSQL behind

    def _start_postgres(self) -> None:
        place = self.data / "pg_data"
        if not place.is_dir():
            subprocess.run(["cp", "-a", "/opt/pgdata", str(place)], check=True)
        (place / "postmaster.pid").unlink(missing_ok=True)
        (RUN / f".s.PGSQL.{PG_PORT}.lock").unlink(missing_ok=True)
        shutil.chown(RUN, "postgres", "postgres")
        method = "scram-sha-256" if self.conf["database_password"] else "trust"
        self._write_hba(place, method)
        for folder in (self.base, self.data):
            folder.chmod(0o755)
        arguments = [part for setting in _PG_ARGS for part in ("-c", setting)]
        address = self.conf["advertise_address"]
        with (self.base / "logs/tserver.err").open("ab") as log:
            self.postgres = subprocess.Popen(
                ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "postgres",
                 "-D", str(place), "-c", f"listen_addresses={address}", *arguments],
                stderr=log,
            )  # fmt: skip
        for _ in range(600):
            if (RUN / f".s.PGSQL.{PG_PORT}").exists() and self._psql("SELECT 1"):
                return
            if self.postgres.poll() is not None:
                told = self.base / "logs/tserver.err"
                fail_killed(told.read_text()[-2000:])
            time.sleep(0.05)
        fail_killed("the PostgreSQL of the stand-in did not start")

    def _write_hba(self, place: Path, method: str) -> None:
        text = f"local all all trust\nhost all all 0.0.0.0/0 {method}\n"
        (place / "pg_hba.conf").write_text(text)

    def _make_views(self) -> None:
        """Those that the release has, in every database that is made from now on."""
        for file in views(VERSION, Path("/opt/views")):
            for database in ("template1", "yugabyte"):
                self._psql(file.read_text(), database)

    def _sample_sessions(self) -> None:
        """Once a second, for the history of active sessions: new samples overwrite the oldest."""
        kept_s = int(os.environ.get("STANDIN_HISTORY_S", "600"))
        samples: deque[list[Any]] = deque(maxlen=kept_s)
        while True:
            done = self._asked(_AT_WORK, "yugabyte")
            if done.returncode == 0:
                samples.append(json.loads(done.stdout))
            fresh = _HISTORY.with_suffix(".new")
            fresh.write_text(json.dumps([row for rows in samples for row in rows]))
            fresh.replace(_HISTORY)
            time.sleep(1.0)

    def _psql(self, sql: str, database: str = "yugabyte") -> bool:
        return self._asked(sql, database).returncode == 0

    def _asked(self, sql: str, database: str) -> subprocess.CompletedProcess[bytes]:
        command = [
            "psql",
            "-XAtq",
            "-h",
            str(RUN),
            "-p",
            str(PG_PORT),
            "-U",
            "yugabyte",
        ]
        return subprocess.run(
            [*command, "-d", database, "-c", sql], capture_output=True
        )

    def _set_password(self) -> None:
        """As the real one: a random one for the administrator, kept in its own file."""
        password = secrets.token_hex(6)
        refused = os.environ.get("STANDIN_REFUSE_PASSWORD") == "1"
        if refused or not self._psql(f"ALTER ROLE yugabyte PASSWORD '{password}'"):
            fail_killed(line("no_password", VERSION))
        self._write_hba(self.data / "pg_data", "scram-sha-256")
        self._psql("SELECT pg_reload_conf()")
        self.conf["database_password"] = password

    def _killed(self, *_: Any) -> None:
        """No slower stop: everything of this node is killed and recovers from its log."""
        say(line("stopping", VERSION))
        (self.data / "yugabyted.pid").unlink(missing_ok=True)
        if self.postgres is not None:
            self.postgres.kill()
        os._exit(0)
