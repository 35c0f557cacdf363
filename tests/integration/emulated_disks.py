"""An emulated disk by itself, with small limits: a second of fio holds hundreds of requests, and
needs little of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.tiers.emulated import EmulatedTier
from tests.tiers import a_tier

SMALL = a_tier("small", "A small disk", "emulated", 800, 80_000_000, 0.002, 0.002)
SIZE = 400 * 2**20


def served(tier: Tier, world: World) -> AbstractContextManager[Disks]:
    """One emulated disk of the tier, empty."""
    return EmulatedTier().attached(tier, NodesData([SIZE]), world)


@contextmanager
def device(tier: Tier, world: World) -> Iterator[Volume]:
    """The volume of one."""
    with served(tier, world) as disks:
        (volume,) = disks.volumes
        yield volume
