"""The client: what it is told of TLS, and that it notices when its program is gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunError, UsageError
from orchestrator.load_generators.benchbase import config
from orchestrator.load_generators.common import client
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.model import TLS_IF_OFFERED, Cluster, Endpoint, Tls
from orchestrator.system.clock import SystemClock, wait_until
from tests.fakes import FakePlatform, fake_world

FULL = Tls("verify-full", "/etc/ca.crt")


def cluster(tls: Tls, *ports: int) -> Cluster:
    endpoints = tuple(
        Endpoint(f"10.0.0.1{k}", port, port, "bench", "s3cret", "bench", tls=tls)
        for k, port in enumerate(ports or (5432,), start=1)
    )
    return Cluster("postgresql", "17", (), endpoints, "net")


@pytest.mark.parametrize(
    ("tls", "environment", "options"),
    [
        (TLS_IF_OFFERED, {"PGSSLMODE": "prefer"}, ["sslmode=prefer"]),
        (Tls("off"), {"PGSSLMODE": "disable"}, ["sslmode=disable"]),
        (FULL, {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/tls/root.crt"},
         ["sslmode=verify-full", "sslrootcert=/tls/root.crt"]),
        (Tls("require", None, "/c", "/k"),
         {"PGSSLMODE": "require", "PGSSLCERT": "/tls/client.crt", "PGSSLKEY": "/tls/client.key"},
         ["sslmode=require"]),
    ],
)  # fmt: skip
def test_every_program_in_it_encrypts_and_verifies_as_the_cluster_says(
    tls: Tls, environment: dict[str, str], options: list[str], tmp_path: Path
) -> None:
    engine = FakePlatform()
    world = fake_world(platform=engine)
    with client.client_container("image", "net", tmp_path, world, tls) as node:
        client.run_in_client(node, ["sysbench"], cluster(tls), world, timeout_s=1)
    assert engine.environments == [{"PGPASSWORD": "s3cret", **environment}]
    places = {m.target: m.source for m in engine.specs["tierbench-client"].mounts if m.read_only}
    del places["/workloads"]
    assert set(places.values()) == {file for file in (tls.root, tls.certificate, tls.key) if file}
    assert client.jdbc_options(tls) == options


def test_benchbase_verifies_too() -> None:
    url = config._url(cluster(FULL), config.POSTGRESQL)
    assert url.endswith("&sslmode=verify-full&sslrootcert=/tls/root.crt")


def test_hosts_with_their_own_ports_reach_the_workloads() -> None:
    assert "--pgsql-host=10.0.0.11:6000,10.0.0.12:6001" in command_lines.connection(
        cluster(FULL, 6000, 6001)
    )
    assert "--pgsql-host=10.0.0.11,10.0.0.12" in command_lines.connection(cluster(FULL, 6000, 6000))


def test_its_heartbeat_beats_as_long_as_it_is_up() -> None:
    engine = FakePlatform()
    with client._beating("a-client", fake_world(platform=engine), every_s=0.01):
        assert wait_until(
            lambda: bool(engine.talks) and engine.talks[0].sent[:3] == ["1", "2", "3"],
            deadline_s=30,
            clock=SystemClock(),
        )
    assert engine.talks[0].container == "a-client"


def test_a_heartbeat_that_fails_goes_on_and_is_named_where_the_run_fails() -> None:
    class Odd(FakePlatform):
        def conversation(self, container: str, argv: Sequence[str]) -> Any:
            self.asked.append(("talk", container))
            raise AttributeError("'NoneType' object has no attribute 'read'")

    engine = Odd()
    with (
        pytest.raises(RunError, match="it has ended") as failed,
        client._beating("a-client", fake_world(platform=engine), every_s=0.01),
    ):
        again = wait_until(lambda: len(engine.asked) > 2, deadline_s=30, clock=SystemClock())
        raise RunError("it has ended" if again else "the heartbeat was given up")
    (note,) = failed.value.__notes__
    assert note.startswith("a-client's heartbeat could not be sent: AttributeError: 'NoneType'")


def test_it_is_told_for_how_long_it_may_outlive_its_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = FakePlatform()
    for text, lease in ((None, "60"), ("3", "3")):
        if text:
            monkeypatch.setenv(client.LEASE_VARIABLE, text)
        with client.client_container(
            "image", "net", tmp_path, fake_world(platform=engine), TLS_IF_OFFERED
        ):
            assert engine.specs["tierbench-client"].environment == {"LEASE_S": lease}
    monkeypatch.setenv(client.LEASE_VARIABLE, "soon")
    with pytest.raises(UsageError, match="TIERBENCH_LEASE_S is 'soon'"):
        client.lease_s()
