"""The Docker seam on a real engine: deadlines, deaths, ports, and nothing left open or behind."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.errors import UnavailableError
from orchestrator.model import Node
from orchestrator.parts import Collector
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.own_images import BASE
from orchestrator.powers import ContainerSpec, World
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.telemetry import read_once
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
    subprocess.run(
        ["docker", "volume", "create", name], check=True, capture_output=True
    )
    try:
        refused = pytest.raises(UnavailableError, match="tierbench did not make")
        with refused, world.platform.volume(name, "", ""):
            pass
        world.platform.sweep()
        subprocess.run(
            ["docker", "volume", "inspect", name], check=True, capture_output=True
        )
    finally:
        subprocess.run(
            ["docker", "volume", "rm", name], check=True, capture_output=True
        )


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
        assert other.container(theirs.name).state().words == "running"
    volumes = ["docker", "volume", "ls", "-q", "--filter", "name=tierbench-campaign"]
    assert (
        subprocess.run(volumes, capture_output=True, text=True, check=True).stdout == ""
    )


def test_sweep_removes_everything_of_ours(world: World) -> None:
    with (
        ExitStack() as up
    ):  # what is left open ends in whatever thread collects garbage
        up.enter_context(world.platform.network("tierbench-left", 1))
        up.enter_context(
            world.platform.running(replace(SLEEPER, network="tierbench-left"))
        )
        removed = world.platform.sweep()
        assert {"container tierbench-test", "network tierbench-left"} <= set(removed)
        assert world.platform.container("tierbench-test").state().words == "gone"


def test_an_image_and_an_engine_say_who_they_are(engine: DockerPlatform) -> None:
    """What a passed first-run checklist is kept under: the same each time, on this engine only."""
    identity = engine.images.id(BASE)
    assert identity is not None and identity.startswith("sha256:")
    with engine.running(SLEEPER) as container:
        assert container.find_image() == engine.images.id(BASE) == identity
    assert engine.facts()["ID"] == engine.facts()["ID"] is not None


def test_counters_are_read_of_the_very_container_and_of_no_other_process(
    world: World,
) -> None:
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
    cpu_s = [
        one.value for one in readings.samples() if one.metric == "cpu_seconds_total"
    ]
    assert cpu_s[1] > cpu_s[0] > 0
    assert {one.metric for one in readings.samples()} >= {
        "memory_used_bytes",
        "network_received_bytes_total",
    }
    misses = readings.facts()["misses"]
    assert len(misses) == 2
    assert all(
        f"stranger: process {os.getpid()} is in no group" in miss for miss in misses
    )


def test_limits_of_a_running_container_are_lifted(engine: DockerPlatform) -> None:
    in_force = "cat /sys/fs/cgroup/memory.max || cat /sys/fs/cgroup/memory/memory.limit_in_bytes"
    with engine.running(replace(SLEEPER, cpus=0.5, memory_bytes=2**27)) as container:
        container.lift_limits()
        told = container.exec(("sh", "-c", in_force), timeout_s=10).out.strip()
    assert told == "max" or int(told) > 2**50
