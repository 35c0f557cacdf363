"""A program of our image `disk` in the network of a container, with the capability NET_ADMIN there
and no other."""

from collections.abc import Sequence

from orchestrator.platforms import own_images
from orchestrator.powers import NETWORK_OF, Completed, SharedNetwork, World

_ASK_S = 120.0


def need(world: World) -> None:
    own_images.need(world.root, "disk", world.platform)


def run(container: str, argv: Sequence[str], world: World) -> Completed:
    spec = own_images.container(
        "disk",
        f"{container}-{argv[0]}",
        argv,
        world,
        network=f"{NETWORK_OF}{container}",
        capabilities=("NET_ADMIN",),
        role="network",
    )
    return world.platform.once(spec, _ASK_S)


SHARED = SharedNetwork(need, run)
