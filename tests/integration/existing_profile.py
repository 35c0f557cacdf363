"""The documented profile of a PostgreSQL that others run, of a server for tests."""

from __future__ import annotations

from pathlib import Path

from tests import ROOT
from tests.documented import existing_profiles
from tests.integration.servers import Server

YUGABYTEDB, POSTGRESQL = existing_profiles()
WORKLOADS = ROOT / "tests/integration/workloads"
SHORT, STOCK = str(WORKLOADS / "short.yaml"), str(WORKLOADS / "stock.yaml")
SYSTEM_ROOT = "tls_root: /etc/ssl/certs/ca-certificates.crt"


def profile(server: Server, folder: Path, *changes: tuple[str, str]) -> Path:
    """The documented profile of a PostgreSQL with this server's address, user and authority."""
    text = POSTGRESQL
    for old, new in (
        ("hosts: 10.0.0.21", f"hosts: {server.hosts[0]}"),
        ("port: 5432", f"port: {server.port}"),
        ("user: bench", f"user: {server.user}"),
        (SYSTEM_ROOT, f"tls_root: {server.authority}"),
        *changes,
    ):
        assert old in text, f"docs/YUGABYTEDB.md no longer has {old!r}"
        text = text.replace(old, new)
    file = folder / "my-postgresql.yaml"
    file.write_text(text)
    return file


def arguments(file: Path, folder: Path) -> list[str]:
    results = str(folder / "results")
    return [
        "run",
        "-p",
        str(file),
        "-w",
        SHORT,
        "--scale",
        "smoke",
        "--results",
        results,
    ]
