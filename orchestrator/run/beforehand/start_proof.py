"""Clusters started once, to see that they come up on this machine."""

from collections.abc import Iterable
from contextlib import ExitStack

from orchestrator.model import ClusterSpec, Volume
from orchestrator.parts import Parts
from orchestrator.powers import World

NETWORK = "tierbench-proving"


def prove_start(clusters: Iterable[ClusterSpec], parts: Parts, world: World) -> None:
    """Starts each cluster once on this machine's own disk and stops it. Raises what that raises."""
    proven: list[ClusterSpec] = []
    for spec in clusters:
        # Several profiles may have one kind of cluster, and a start takes long.
        if spec not in proven:
            _prove_one(spec, parts, world)
            proven.append(spec)


def _prove_one(spec: ClusterSpec, parts: Parts, world: World) -> None:
    database = parts.databases[spec.member]
    what = f"{database.name} starts here, {spec.nodes} node(s)"
    world.progress.step(f"seeing that {what}")
    names = [f"{NETWORK}-{number}" for number in range(1, spec.nodes + 1)]
    volumes = [Volume(name, "", restored=False) for name in names]
    with ExitStack() as up:
        for name in names:
            up.enter_context(world.platform.volume(name, "", ""))
        network = up.enter_context(world.platform.network(NETWORK, spec.nodes))
        up.enter_context(database.running(spec, volumes, network, world))
