"""What is wrong with a profile of a cluster that others run is said before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import LoadError
from orchestrator.extensions.sysbench_stock.generator import SysbenchStock
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Cluster, Endpoint, Tls
from orchestrator.planning import project_files
from orchestrator.powers import HOST_NETWORK, World
from tests import ROOT, certificates
from tests.integration.conftest import Told
from tests.integration.existing_profile import arguments, profile
from tests.integration.servers import Server

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


def test_a_load_generator_does_not_trust_another_authority(
    postgresql: Server, world: World, tmp_path: Path
) -> None:
    """Nor another host name: each client is told by itself whom to trust."""
    (tmp_path / "other").mkdir()
    other = certificates.authority(tmp_path / "other")
    at = Endpoint(
        *("localhost", postgresql.port, postgresql.port),
        *(postgresql.user, postgresql.password, "postgres"),
        local_host="localhost",
    )
    for host, root, said in (
        ("localhost", other, "certificate verify failed"),
        ("127.0.0.1", postgresql.authority, 'does not match host name "127.0.0.1"'),
    ):
        trusted = replace(at, host=host, tls=Tls("verify-full", str(root)))
        cluster = Cluster("postgresql", "17", (), (trusted,), HOST_NETWORK)
        with Sysbench().client(HOST_NETWORK, world, cluster.tls) as client:
            for generator, load in (
                (Sysbench(), "insert"),
                (SysbenchStock(), "oltp_insert"),
            ):
                (_, (workload,)) = project_files.read(ROOT, [], [load], "smoke")
                with pytest.raises(LoadError, match=said):
                    generator.load(workload, cluster, client, world)


@pytest.mark.parametrize(
    ("changes", "password", "code", "said"),
    [
        ((), "wrong", 69, "password authentication failed"),
        ((), None, 69, "PG_PASSWORD is not set"),
        ((("maintenance_database: postgres ", "maintenance_database: nowhere "),), "", 69,
         'database "nowhere" does not exist'),
        ((("hosts: ", "hosts: no-such-host.invalid #"),), "", 69, "does not answer"),
        ((("    port:", "    port: 1 #"),), "", 69, "does not answer"),
        ((("hosts: localhost", "hosts: 127.0.0.1"),), "", 69, "does not match host name"),
        ((("tls_root:", "tls_root: /etc/ssl/certs/ca-certificates.crt #"),), "", 69,
         "certificate verify failed"),
        ((("  replication_factor: 1", "  replication_factor: 1\n  version: '16'"),), "", 64,
         "not 16"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_before_anything_starts(
    changes: tuple[tuple[str, str], ...],
    password: str | None,
    code: int,
    said: str,
    postgresql: Server,
    tmp_path: Path,
    told: Told,
) -> None:
    file = profile(postgresql, tmp_path, *changes)
    right = {} if password is None else {"PG_PASSWORD": password or postgresql.password}
    found, text = told(*arguments(file, tmp_path), **right)
    assert (found, said in text) == (code, True), text
    assert not (tmp_path / "results").exists()
    assert "tierbench" not in postgresql.databases()


def test_a_server_without_tls_is_refused_with_what_to_write(
    postgresql: Server, tmp_path: Path, told: Told
) -> None:
    file = profile(postgresql, tmp_path)
    postgresql.ask("ALTER SYSTEM SET ssl = off")
    postgresql.ask("SELECT pg_reload_conf()")
    try:
        code, text = told(*arguments(file, tmp_path), PG_PASSWORD=postgresql.password)
        assert code == 69, text
        assert "server does not support SSL" in text and "write `tls: off`" in text
    finally:
        postgresql.ask("ALTER SYSTEM RESET ssl")
        postgresql.ask("SELECT pg_reload_conf()")


def test_a_database_that_is_not_ours_is_not_touched(
    postgresql: Server, tmp_path: Path, told: Told
) -> None:
    file = profile(postgresql, tmp_path)
    postgresql.ask("CREATE DATABASE tierbench")
    try:
        postgresql.ask("CREATE TABLE payroll AS SELECT 1 AS id", "tierbench")
        code, text = told(*arguments(file, tmp_path), PG_PASSWORD=postgresql.password)
        assert code == 64, text
        assert "has a database tierbench that tierbench did not make" in text
        assert postgresql.ask("SELECT count(*) FROM payroll", "tierbench") == [(1,)]
    finally:
        postgresql.ask("DROP DATABASE tierbench")


def test_a_user_who_may_not_make_a_database_is_told_so(
    postgresql: Server, tmp_path: Path, told: Told
) -> None:
    postgresql.ask("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    try:
        file = profile(
            postgresql, tmp_path, (f"user: {postgresql.user}", "user: guest")
        )
        code, text = told(*arguments(file, tmp_path), PG_PASSWORD="guest")
        assert code == 64, text
        assert "guest may not create a database" in text
        assert not (tmp_path / "results").exists()
    finally:
        postgresql.ask("DROP ROLE guest")
