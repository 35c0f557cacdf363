"""The Docker seam on a real engine: deadlines, deaths, ports, and nothing left open or behind."""

from __future__ import annotations

import socket
import subprocess
import threading
from dataclasses import replace

import pytest

from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.images import BASE
from orchestrator.protocols import ContainerSpec, World

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
    with world.containers.running(SLEEPER) as container:
        done = world.containers.exec(
            container.name,
            ("sh", "-c", "echo one; echo two; echo bad >&2; exit 3"),
            timeout_s=20,
            on_line=lines.append,
        )
    assert (done.exit_code, lines, done.err) == (3, ["one", "two"], "bad\n")


def test_a_command_that_does_not_end_is_an_error(world: World) -> None:
    with (
        world.containers.running(SLEEPER) as container,
        pytest.raises(RunError, match="did not end within 1 s"),
    ):
        world.containers.exec(container.name, ("sleep", "30"), timeout_s=1)


def test_a_watched_container_that_dies_is_named(world: World) -> None:
    with world.containers.running(SLEEPER) as container:
        other = replace(SLEEPER, name="tierbench-other")
        with world.containers.running(other) as watched:
            kill = ["docker", "kill", watched.name]
            threading.Timer(1.0, lambda: subprocess.run(kill, capture_output=True)).start()
            with pytest.raises(NodeError, match="tierbench-other died"):
                world.containers.exec(
                    container.name, ("sleep", "30"), timeout_s=25, watch=[watched.name]
                )


def test_a_container_that_stopped_is_an_error_of_the_run(world: World) -> None:
    spec = replace(SLEEPER, command=("sh", "-c", "echo broken; exit 5"))
    with pytest.raises(NodeError) as raised, world.containers.running(spec):
        world.clock.sleep(1)
        assert world.containers.state(spec.name) == "exited (exit 5)"
        assert world.containers.logs(spec.name) == "broken\n"
        world.containers.exec(spec.name, ("true",), timeout_s=5)
    assert raised.value.exit_code == 2


def test_an_unknown_image_is_unavailable(world: World) -> None:
    spec = replace(SLEEPER, image="tierbench/none:0")
    with pytest.raises(UnavailableError, match="image"), world.containers.running(spec):
        pass


def test_a_taken_port_is_unavailable(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        spec = replace(SLEEPER, ports={5432: taken.getsockname()[1]})
        refused = pytest.raises(UnavailableError, match="port is taken")
        with refused, world.containers.running(spec):
            pass


def test_two_networks_never_overlap(world: World) -> None:
    with (
        world.containers.network("tierbench-a") as one,
        world.containers.network("tierbench-b") as two,
    ):
        assert one != two


def test_sweep_removes_everything_of_ours(world: World) -> None:
    network = world.containers.network("tierbench-left")
    network.__enter__()
    container = world.containers.running(replace(SLEEPER, network="tierbench-left"))
    container.__enter__()
    removed = world.containers.sweep()
    assert {"container tierbench-test", "network tierbench-left"} <= set(removed)
    assert world.containers.state("tierbench-test") == "gone"
