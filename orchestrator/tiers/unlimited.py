"""No tier: a plain volume on this machine's own disk, neither limited nor verified.

It is for looking at a database or a load generator; its figures say nothing about any disk tier."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from orchestrator import model, powers
from orchestrator.design.node_disks import node_names
from orchestrator.parts import Disks, NodesData, TierMechanism
from orchestrator.tier import DiskKind, Tier


class UnlimitedTier(TierMechanism):
    name = "none"
    kind: DiskKind = "none"

    @contextmanager
    def attached(
        self, tier: Tier, data: NodesData, world: powers.World
    ) -> Iterator[Disks]:
        nodes = node_names(len(data.sizes_bytes))
        names = [f"{world.scope}-{node}" for node in nodes]
        volumes = tuple(
            model.Volume(name, "", restored=False, kept=False) for name in names
        )
        with ExitStack() as up:
            for name, node in zip(names, nodes, strict=True):
                # A volume without a device is on the engine's own disk.
                up.enter_context(world.platform.volume(name, "", "", node))
            mechanism = "none: this machine's own disk, with its page cache"
            yield Disks(volumes, {"mechanism": mechanism})
