"""Networks of a declared rate in pods: shaped by a container that is added to each, proven by a
transfer between them, and freed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from orchestrator.errors import GateError
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.platforms import own_images
from orchestrator.powers import NETWORK_OF, World
from orchestrator.run.window import links
from tests.fakes import fake_world

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]

RATE = 6_250_000


@contextmanager
def two_ends(world: World) -> Iterator[list[str]]:
    """Two pods on machines of their own, of which the first has a name in the network."""
    with ExitStack() as up:
        up.enter_context(world.platform.network("cluster", 1))
        for name, address, place in (
            ("end-1", "end-1.nodes", "node-1"),
            ("end-2", None, "node-2"),
        ):
            idle = own_images.container(
                "disk",
                name,
                ("sleep", "1000"),
                world,
                network="cluster",
                address=address,
                placement=place,
            )
            up.enter_context(world.platform.running(idle))
        yield ["end-1", "end-2"]


@pytest.fixture
def world(campaign: KubernetesPlatform) -> Iterator[World]:
    campaign.placement.machine_names.clear()
    yield fake_world(platform=campaign)
    assert campaign.sweep() == ()


def test_links_of_pods_are_what_they_declare_and_else_refused(world: World) -> None:
    with two_ends(world) as ends:
        links.require(RATE, links.asked(ends, ("set", str(RATE)), world))
        shown = links.proven(RATE, ends[0], ends[1], "end-1.nodes", world)
        assert list(shown.values()) == pytest.approx([RATE, RATE], rel=0.02)
        links.asked(ends[:1], ("free",), world)
        with pytest.raises(
            GateError, match=r"end-1 is not limited to 50 Mbit/s: .*no limit"
        ):
            links.require(RATE, links.asked(ends, ("show",), world))
        with pytest.raises(GateError, match="could not be shaped or measured"):
            links.asked(ends[:1], ("set", "no number"), world)


@pytest.mark.slow  # the machine tries to pull it
def test_a_helper_whose_image_is_nowhere_says_so_at_once(world: World) -> None:
    with two_ends(world) as (end, _):
        spec = own_images.container(
            "disk", "lost", ("true",), world, network=f"{NETWORK_OF}{end}"
        )
        with pytest.raises(Exception, match="cannot be pulled"):
            world.platform.once(replace(spec, image="localhost/nowhere:1"), 60)
