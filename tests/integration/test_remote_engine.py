"""An engine on another machine, reached by TCP with client certificates: from load to report.

Goal: nothing is done on this computer that belongs on the engine's machine. Method: a second
engine in a network name space, as a person names it in the environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.load_generators.common.client import put
from orchestrator.model import Node
from orchestrator.platforms import own_images
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import ContainerSpec
from orchestrator.system import store
from orchestrator.system.clock import SystemClock, wait_until
from tests import ROOT
from tests.campaign_tables import sampled_in
from tests.contract import Containers
from tests.fakes import fake_world
from tests.integration.conftest import Program, tierbench
from tests.integration.engines import (
    NEEDS_NAME_SPACES,
    RemoteEngine,
    disks_kept,
    remote_engine,
)
from tests.integration.servers import Server

pytestmark = [
    pytest.mark.docker,
    pytest.mark.usefixtures("nothing_left"),
    NEEDS_NAME_SPACES,
]

PLAIN = """\
question: does a plain volume on another machine do?
title: plain volume
tier: {enforcement: none}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node: {smoke: {cpus: 1, memory: 192MiB, disk: 2GiB}}
"""


@pytest.fixture(scope="module")
def remote(
    engine: DockerPlatform, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RemoteEngine]:
    folder = tmp_path_factory.mktemp("engine")
    with remote_engine() as started:
        images = [own_images.tag(ROOT, name) for name in own_images.OURS]
        started.bring(images, folder / "images.tar")
        yield started


@pytest.fixture
def platform(
    remote: RemoteEngine, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DockerPlatform]:
    for name, value in remote.environment.items():
        monkeypatch.setenv(name, value)
    connected = DockerPlatform(SystemClock())
    yield connected
    assert connected.sweep() == (), "what was started was removed"


def idle() -> ContainerSpec:
    return ContainerSpec(
        name="tierbench-carrying",
        image=own_images.tag(ROOT, "disk"),
        entrypoint=("sleep",),
        command=("infinity",),
        role="client",
        init=True,
        stop_timeout_s=1,
        ports={80: None},
    )


@pytest.mark.slow
def test_ports_are_at_the_engine(
    platform: DockerPlatform, remote: RemoteEngine
) -> None:
    with platform.running(idle()) as container:
        assert container.host == remote.address and container.ports[80] > 0


class TestRemoteEngine(Containers):
    @pytest.fixture
    def sleeper(self) -> ContainerSpec:
        return replace(idle(), entrypoint=("sh",), command=("-c", "sleep 1000"))


def test_a_container_without_a_file_system_to_write_to_gets_its_files(
    platform: DockerPlatform,
) -> None:
    done = platform.once(
        ContainerSpec(
            name="tierbench-carrying",
            image=own_images.tag(ROOT, "disk"),
            entrypoint=("cat",),
            command=("/latencies/read",),
            role="disk",
            folders={"/latencies": {"read": b"0 100\n"}},
            host_devices=True,
        ),
        timeout_s=30,
    )
    assert (done.out, done.exit_code) == ("0 100\n", 0)


def test_the_machine_is_read_where_it_is(
    platform: DockerPlatform, tmp_path: Path
) -> None:
    (machine,) = platform.machines()
    assert isinstance(machine, AgentMachine)
    assert machine.facts().memory_bytes > 0 and machine.exists("/proc/stat")
    assert platform.folder(tmp_path) == Path("/var/lib/tierbench")
    platform.sweep()  # the agent goes, and is there again when it is needed
    assert machine.read("/proc/uptime")


def test_a_file_is_put_into_a_client_while_a_command_runs_in_it(
    platform: DockerPlatform, tmp_path: Path
) -> None:
    """It is there at once, and what the command has written so far is not fetched for it."""
    world = replace(fake_world(platform=platform), clock=SystemClock())
    script = (
        "echo row > /out/rows; echo ready; until [ -f /out/ends ]; do sleep 0.1; done"
    )
    fetched: list[list[str]] = []
    with platform.running(replace(idle(), folders={"/out": {}})) as container:
        client = Node("client", "client", container=container.name)

        def told(_line: str) -> None:
            put(client, "/out/ends", "1700000000.5", world)
            fetched.append([file.name for file in tmp_path.iterdir()])

        argv = ("sh", "-c", script)
        done = container.exec(argv, timeout_s=20, on_line=told)
        container.fetch("/out", tmp_path)
    assert done.exit_code == 0 and fetched == [[]]
    assert {file.name for file in tmp_path.iterdir()} == {"ends", "rows"}
    assert (tmp_path / "ends").read_text() == "1700000000.5\n"


EXISTING = """\
question: what does a cluster give that both machines reach?
title: theirs
tier: {{enforcement: existing}}
cluster:
  database: existing
  replication_factor: 1
  existing:
    hosts: {hosts}
    user: {user}
    password_env: PG_PASSWORD
    tls: verify-ca
    tls_root: {authority}
    maintenance_database: postgres
"""


@pytest.mark.slow
def test_a_cluster_of_others_is_measured_from_another_machine(
    postgresql: Server, remote: RemoteEngine, tmp_path: Path
) -> None:
    """By an address that is the same from both; one that only this computer reaches is refused
    before anything is made."""
    file = tmp_path / "theirs.yaml"
    before = postgresql.databases()

    def run(hosts: str) -> tuple[int, str]:
        named = {"user": postgresql.user, "authority": postgresql.authority}
        file.write_text(EXISTING.format(hosts=hosts, **named))
        return tierbench(
            *["run", "--profile", str(file), "--scale", "smoke"],
            *["--workload", str(ROOT / "tests/integration/workloads/short.yaml")],
            *["--results", str(tmp_path / "results")],
            PG_PASSWORD=postgresql.password,
            TIERBENCH_CACHE=str(tmp_path / "cache"),
            **remote.environment,
        )

    code, text = run(f"localhost:{postgresql.port}")
    assert code == 64 and "is this computer, but the load client runs on" in text, text
    code, text = run(f"{postgresql.inside}:5432")
    assert (
        code == 64 and f"{postgresql.inside}:5432 answers here, but the load" in text
    ), text
    assert postgresql.password not in text and postgresql.databases() == before
    code, text = run(f"{remote.from_there}:{postgresql.port}")
    assert code == 0, text
    assert postgresql.databases() == before
    (data,) = store.load(tmp_path / "results/latest").runs
    assert data.record.outcome == "done", data.record.failure
    assert remote.docker("ps", "--all", "--quiet") == ""


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["none", "ultra"])
def test_a_load_on_another_machine_to_a_report(
    tier: str, remote: RemoteEngine, tmp_path: Path
) -> None:
    profile, before = tmp_path / "none.yaml", disks_kept()
    profile.write_text(PLAIN)
    environment = {**remote.environment, "TIERBENCH_CACHE": str(tmp_path / "cache")}
    code, text = tierbench(
        *["run", "--profile", str(profile) if tier == "none" else tier],
        *[
            "--workload",
            "point-select",
            "--scale",
            "smoke",
            "--nodes",
            "1",
            "--db",
            "postgresql",
        ],
        *["--set", "table_size=5000", "--results", str(tmp_path / "results")],
        **environment,
    )
    assert code == 0, text
    (run,) = store.load(tmp_path / "results/latest").runs
    assert run.record.outcome == "done", run.record.failure
    assert (tmp_path / "results/latest/report.html").is_file()
    assert {"host", "node-1"} <= set(sampled_in(run)["node"])
    assert not list((tmp_path / "cache").rglob("*.img")), (
        "disks are on the other machine"
    )
    code, text = tierbench("clean", "--yes", **environment)
    assert code == 0 and (tier == "none" or "/var/lib/tierbench/datasets/" in text), (
        text
    )
    assert disks_kept() <= before
    assert remote.docker("ps", "--all", "--quiet") == ""


@pytest.mark.slow
def test_databases_and_disks_end_after_a_program_that_was_killed(
    remote: RemoteEngine, tmp_path: Path
) -> None:
    """Within the time for which they are rented; the next start removes what is left of them."""
    environment = {**remote.environment, "TIERBENCH_CACHE": str(tmp_path / "cache")}
    program = Program.start(
        *[
            "compare",
            "--profiles",
            "ultra",
            "--workloads",
            "point-select",
            "--scale",
            "smoke",
        ],
        *[
            "--nodes",
            "1",
            "--db",
            "postgresql",
            "--repeats",
            "9",
            "--set",
            "table_size=5000",
        ],
        *["--results", str(tmp_path / "results")],
        TIERBENCH_RENT_S="60",
        **environment,
    )

    def running(role: str) -> list[str]:
        label = f"label=tierbench.role={role}"
        return remote.docker("ps", "--quiet", "--filter", label).split()

    roles, clock = ("client", "database", "disk"), SystemClock()
    assert wait_until(lambda: all(map(running, roles)), deadline_s=300, clock=clock)
    program.process.kill()
    assert wait_until(lambda: not any(map(running, roles)), deadline_s=240, clock=clock)
    code, text = tierbench("clean", "--yes", **environment)
    assert code == 0 and "container tierbench-" in text, text
    assert remote.docker("ps", "--all", "--quiet") == ""
