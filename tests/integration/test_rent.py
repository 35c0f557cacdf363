"""A container that is told of no sign of life any more ends by itself, whatever runs in it.

Method: the watch of engines elsewhere, with seconds in place of minutes, on the engine that is
here; nobody but this test gives signs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from orchestrator.platforms import own_images
from orchestrator.platforms.docker.campaigns import SignsOfLife
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import ContainerSpec, ContainerState, World
from orchestrator.system.clock import SystemClock, wait_until
from tests import ROOT
from tests.integration.emulated_disks import SMALL, device

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]
RENT_S = 24  # so much longer than a busy machine holds up a sign
SOON_S = 12
WITHIN_S = 120.0  # a watch counts by itself, and a busy machine counts late


def postgresql() -> ContainerSpec:
    """As a node of ours runs it: the server is the first process, by another user."""
    image = own_images.tag(ROOT, "postgres")
    return ContainerSpec(
        "tierbench-rent", image, ("primary",), "database", folders={"/data": {}}
    )


def deaf() -> ContainerSpec:
    """As an official image runs a server: below a first process that passes signals on to one that
    does not heed them."""
    argv = ("-c", "trap '' TERM; while :; do sleep 1000; done")
    image = own_images.tag(ROOT, "disk")
    return ContainerSpec(
        "tierbench-rent", image, argv, "database", entrypoint=("sh",), init=True
    )


def ended(state: Callable[[], ContainerState]) -> bool:
    return wait_until(
        lambda: not state().is_running, deadline_s=WITHIN_S, clock=SystemClock()
    )


@pytest.mark.slow
def test_a_database_lives_while_it_is_told_and_then_ends(
    engine: DockerPlatform,
) -> None:
    own_images.need(ROOT, "postgres", engine)
    signs, clock = SignsOfLife(engine._engine, RENT_S), SystemClock()
    with engine.running(postgresql()) as container, signs.paid(container.name):
        last_s = clock.monotonic() + 1.25 * RENT_S
        while clock.monotonic() < last_s:
            signs.sign()
            clock.sleep(0.5)
        assert container.state().words == "running"
        assert ended(container.state)


@pytest.mark.slow
def test_what_does_not_heed_a_signal_ends_too(engine: DockerPlatform) -> None:
    with (
        engine.running(deaf()) as container,
        SignsOfLife(engine._engine, SOON_S).paid(container.name),
    ):
        assert ended(container.state)


@pytest.mark.slow
def test_a_disk_ends_and_takes_its_device_and_its_file_along(world: World) -> None:
    signs = SignsOfLife(world.platform._engine, SOON_S)  # type: ignore[attr-defined]
    with device(SMALL, world) as volume:
        server = (volume.server and volume.server.container) or ""
        with signs.paid(server):
            assert ended(world.platform.container(server).state)
        loops = subprocess.run(
            ["losetup", "-a"], capture_output=True, text=True, check=True
        )
        assert f"/{server}/" not in loops.stdout
        assert not list(world.cache.glob("disks/node-1.img"))
