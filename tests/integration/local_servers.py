"""Servers from the distribution's packages, started on loopback ports in a temporary folder.

Debian: postgresql, prometheus-node-exporter, pgbouncer. A test that needs one that is not installed
is skipped.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

# Neither PostgreSQL nor PgBouncer runs as root.
_AS_OTHER = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
USER = "bench"  # may do what the documents ask for, and see where the data are


def program(*names: str) -> str:
    """The first that is installed. Skips the test if none is."""
    for name in names:
        for path in (
            shutil.which(name),
            *sorted(Path("/").glob(name.lstrip("/")), reverse=True),
        ):
            if path:
                return str(path)
    pytest.skip(f"{' or '.join(names)} is not installed")


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def _up(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    with (
        log.open("w") as out,
        subprocess.Popen(command, stdout=out, stderr=out) as process,
    ):
        try:
            end = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < end, (
                        log.read_text()
                    )
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()


@contextmanager
def postgresql(folder: Path, *settings: str) -> Iterator[int]:
    """Yields its port; anybody is let in. Its data are in `folder`/data."""
    postgres = program("/usr/lib/postgresql/*/bin/postgres")
    tools, port = Path(postgres).parent, free_port()
    _given(folder)
    data = str(folder / "data")
    initdb = [str(tools / "initdb"), "-D", data, "-U", "postgres", "--auth=trust"]
    subprocess.run([*_AS_OTHER, *initdb], check=True, capture_output=True)
    own = [
        f"port={port}",
        "listen_addresses=127.0.0.1",
        f"unix_socket_directories={folder}",
    ]
    options = [part for setting in (*own, *settings) for part in ("-c", setting)]
    with _up(
        [*_AS_OTHER, postgres, "-D", data, *options], port, folder / "postgres.log"
    ):
        _until_it_serves(
            [str(tools / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
        )
        for statement in (
            f"CREATE ROLE {USER} LOGIN CREATEDB",
            f"GRANT pg_read_all_settings TO {USER}",
        ):
            psql = [
                str(tools / "psql"),
                "-h",
                "127.0.0.1",
                "-p",
                str(port),
                "-U",
                "postgres",
            ]
            subprocess.run([*psql, "-c", statement], check=True, capture_output=True)
        yield port


def _until_it_serves(ask: Sequence[str]) -> None:
    """Its port is open before it lets anybody in."""
    end = time.monotonic() + 60
    while subprocess.run(ask, check=False, capture_output=True).returncode:
        assert time.monotonic() < end
        time.sleep(0.1)


@contextmanager
def node_exporter(folder: Path) -> Iterator[str]:
    """Yields its URL."""
    port = free_port()
    command = [program("prometheus-node-exporter", "node_exporter")]
    with _up(
        [*command, f"--web.listen-address=127.0.0.1:{port}"],
        port,
        folder / "exporter.log",
    ):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def pgbouncer(folder: Path, server: int, *settings: str) -> Iterator[int]:
    """Yields its port; it pools by transaction."""
    command, port = program("pgbouncer", "/usr/sbin/pgbouncer"), free_port()
    users, file = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text(f'"{USER}" ""\n')
    own = [
        f"listen_port={port}",
        "listen_addr=127.0.0.1",
        "auth_type=trust",
        "unix_socket_dir=",
    ]
    own += [f"auth_file={users}", "pool_mode=transaction", *settings]
    databases = f"[databases]\n* = host=127.0.0.1 port={server}\n[pgbouncer]\n"
    file.write_text(databases + "\n".join(own) + "\n")
    _given(folder)
    with _up([*_AS_OTHER, command, str(file)], port, folder / "pgbouncer.log"):
        yield port


def _given(folder: Path) -> None:
    """To the user that the servers run as; others may look into it."""
    folder.chmod(0o755)
    if _AS_OTHER:
        shutil.chown(folder, "postgres")
