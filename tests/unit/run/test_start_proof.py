"""Clusters that are started once before a plan is written: each kind once, and nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestrator.model import Cluster, ClusterSpec, Volume
from orchestrator.parts import Parts
from orchestrator.powers import World
from orchestrator.run.beforehand import start_proof
from tests.fake_parts import FakeDatabase
from tests.fakes import FakePlatform, Log, fake_world
from tests.plans import a_profile


class Started(FakeDatabase):
    """Notes with what it was started."""

    def __init__(self) -> None:
        super().__init__(Log())
        self.given: list[tuple[int, Sequence[Volume]]] = []

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Any, world: World
    ) -> Iterator[Cluster]:
        self.given.append((spec.nodes, tuple(volumes)))
        with super().running(spec, volumes, network, world) as cluster:
            yield cluster


def test_each_kind_of_cluster_is_started_once_on_empty_volumes() -> None:
    database = Started()
    world = fake_world(platform=FakePlatform())
    small = a_profile(nodes=1).cluster
    large = replace(small, nodes=2)
    parts: Any = Parts({"postgresql": database}, {}, {}, ())
    start_proof.prove_start([small, large, small], parts, world)
    assert [nodes for nodes, _ in database.given] == [1, 2]
    for nodes, volumes in database.given:
        names = [f"tierbench-proving-{number}" for number in range(1, nodes + 1)]
        assert [volume.name for volume in volumes] == names
        assert not any(volume.restored for volume in volumes)
    shown: Any = world.progress
    assert shown.steps == [
        "seeing that postgresql starts here, 1 node(s)",
        "seeing that postgresql starts here, 2 node(s)",
    ]
