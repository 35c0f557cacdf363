"""Clusters started once before a plan is written, to see that they come up here at all."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from orchestrator.model import ClusterSpec, Volume
from orchestrator.parts import Parts
from orchestrator.powers import World

NETWORK = "tierbench-proving"


def start(clusters: Iterable[ClusterSpec], parts: Parts, world: World) -> None:
    """Starts each different cluster on this machine's own disk, and stops it. Raises what starting
    it raises."""
    specs = list(clusters)
    for spec in (spec for number, spec in enumerate(specs) if spec not in specs[:number]):
        database = parts.databases[spec.database]
        world.progress.step(f"seeing that {database.name} starts here, {spec.nodes} node(s)")
        with ExitStack() as up:
            names = [f"{NETWORK}-{number}" for number in range(1, spec.nodes + 1)]
            volumes = [Volume(name, "", restored=False) for name in names]
            for name in names:
                up.enter_context(world.platform.volume(name, "", ""))
            network = up.enter_context(world.platform.network(NETWORK, spec.nodes))
            up.enter_context(database.running(spec, volumes, network, world))
