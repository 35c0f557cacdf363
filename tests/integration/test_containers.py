"""The Docker seam on a real engine: deadlines, deaths, ports, and nothing left open or behind."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.model import Node
from orchestrator.parts import Collector
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.own_images import BASE
from orchestrator.powers import ContainerSpec, World
from orchestrator.run.telemetry import Readings, read_once
from orchestrator.system.clock import SystemClock
from tests.integration.conftest import HERE, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

SLEEPER = ContainerSpec(
    name="tierbench-test",
    image=BASE,
    command=("sleep", "60"),
    role="client",
    init=True,
    stop_timeout_s=1,
)


def test_output_comes_line_by_line_and_both_streams_are_kept(world: World) -> None:
    lines: list[str] = []
    with world.platform.running(SLEEPER) as container:
        done = world.platform.exec(
            container.name,
            ("sh", "-c", "echo one; echo two; echo bad >&2; exit 3"),
            timeout_s=20,
            on_line=lines.append,
        )
    assert (done.exit_code, lines, done.err) == (3, ["one", "two"], "bad\n")


def test_a_container_names_the_image_that_it_was_made_from(world: World) -> None:
    with world.platform.running(SLEEPER) as container:
        assert world.platform.image_of(container.name) == world.platform.image_id(BASE)
    assert world.platform.image_of(SLEEPER.name) == ""


def test_a_command_that_does_not_end_is_an_error(world: World) -> None:
    with (
        world.platform.running(SLEEPER) as container,
        pytest.raises(RunError, match="did not end within 1 s"),
    ):
        world.platform.exec(container.name, ("sleep", "30"), timeout_s=1)


def test_a_container_that_does_not_end_is_no_dead_engine(world: World) -> None:
    """docker-py reports both in the same way."""
    with pytest.raises(RunError, match="did not end within 2 s"):
        world.platform.once(SLEEPER, timeout_s=2)
    assert world.platform.state(SLEEPER.name) == "gone"


def test_a_watched_container_that_dies_is_named(world: World) -> None:
    with world.platform.running(SLEEPER) as container:
        other = replace(SLEEPER, name="tierbench-other")
        with world.platform.running(other) as watched:
            kill = ["docker", "kill", watched.name]
            threading.Timer(1.0, lambda: subprocess.run(kill, capture_output=True)).start()
            with pytest.raises(NodeError, match="tierbench-other died"):
                world.platform.exec(
                    container.name, ("sleep", "30"), timeout_s=25, watch=[watched.name]
                )


def test_a_container_that_stopped_is_an_error_of_the_run(world: World) -> None:
    spec = replace(SLEEPER, command=("sh", "-c", "echo broken; exit 5"))
    with pytest.raises(NodeError) as raised, world.platform.running(spec):
        world.clock.sleep(1)
        assert world.platform.state(spec.name) == "exited (exit 5)"
        assert world.platform.logs(spec.name) == "broken\n"
        world.platform.exec(spec.name, ("true",), timeout_s=5)
    assert raised.value.exit_code == 2


def test_an_unknown_image_is_unavailable(world: World) -> None:
    spec = replace(SLEEPER, image="tierbench/none:0")
    with pytest.raises(UnavailableError, match="image"), world.platform.running(spec):
        pass


def test_a_taken_port_is_unavailable(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        spec = replace(SLEEPER, ports={5432: taken.getsockname()[1]})
        refused = pytest.raises(UnavailableError, match="port is taken")
        with refused, world.platform.running(spec):
            pass


def test_two_networks_never_overlap(world: World) -> None:
    with (
        world.platform.network("tierbench-a", 1) as one,
        world.platform.network("tierbench-b", 1) as two,
    ):
        assert one.addresses != two.addresses


def test_a_volume_of_somebody_else_survives(world: World) -> None:
    name = "tierbench-node-1"
    subprocess.run(["docker", "volume", "create", name], check=True, capture_output=True)
    try:
        refused = pytest.raises(UnavailableError, match="tierbench did not make")
        with refused, world.platform.volume(name, "", ""):
            pass
        world.platform.sweep()
        subprocess.run(["docker", "volume", "inspect", name], check=True, capture_output=True)
    finally:
        subprocess.run(["docker", "volume", "rm", name], check=True, capture_output=True)


def test_a_campaign_of_another_program_is_guarded(tmp_path: Path) -> None:
    """This process is the other one; it does not hold the lock of this machine."""
    other = DockerPlatform(SystemClock())
    tiny = str(HERE / "workloads" / "tiny.yaml")
    asked = ["run", "-p", "ultra", "-w", tiny, "--scale", "smoke", "--nodes", "1"]
    with other.guard.held(), other.running(SLEEPER) as theirs:
        for arguments in ([*asked, "--results", str(tmp_path)], ["clean", "--yes"]):
            code, text = tierbench(*arguments)
            assert code == 69, text
            assert "another campaign is running on this Docker engine" in text
            assert f"process {os.getpid()}" in " ".join(text.split())
        DockerPlatform(SystemClock()).sweep()
        assert other.state(theirs.name) == "running"
    volumes = ["docker", "volume", "ls", "-q", "--filter", "name=tierbench-campaign"]
    assert subprocess.run(volumes, capture_output=True, text=True, check=True).stdout == ""


def test_sweep_removes_everything_of_ours(world: World) -> None:
    network = world.platform.network("tierbench-left", 1)
    network.__enter__()
    container = world.platform.running(replace(SLEEPER, network="tierbench-left"))
    container.__enter__()
    removed = world.platform.sweep()
    assert {"container tierbench-test", "network tierbench-left"} <= set(removed)
    assert world.platform.state("tierbench-test") == "gone"


def test_an_image_and_an_engine_say_who_they_are(engine: DockerPlatform) -> None:
    """What a passed first-run checklist is kept under: the same each time, on this engine only."""
    identity = engine.image_id(BASE)
    assert identity is not None and identity.startswith("sha256:")
    assert engine.image_id(BASE) == identity
    assert engine.image_id("tierbench/no-such-image:1") is None
    assert engine.engine_id() == engine.engine_id() is not None


def test_counters_are_read_of_the_very_container_and_of_no_other_process(world: World) -> None:
    """The container's id stands in its process's control group as engines really write it."""
    spec = replace(SLEEPER, command=("sh", "-c", "while :; do :; done"), cpus=0.2)
    with world.platform.running(spec) as container:
        node = Node(
            "node-1",
            "client",
            container=container.name,
            container_id=container.id,
            process_id=container.process_id,
        )
        stranger = replace(node, name="stranger", process_id=os.getpid())
        readings = Readings()
        collectors: list[Collector] = [
            CgroupCollector(lambda _: world.machine),
            NetworkCollector(lambda _: world.machine),
        ]
        for _ in range(2):
            time.sleep(0.5)
            read_once([stranger, node], collectors, readings, world.clock)
    assert {sample.node for sample in readings.samples()} == {"node-1"}
    cpu_s = [one.value for one in readings.samples() if one.metric == "cpu_seconds_total"]
    assert cpu_s[1] > cpu_s[0] > 0
    assert {one.metric for one in readings.samples()} >= {
        "memory_used_bytes",
        "network_received_bytes_total",
    }
    misses = readings.facts()["misses"]
    assert len(misses) == 2
    assert all(f"stranger: process {os.getpid()} is in no group" in miss for miss in misses)
