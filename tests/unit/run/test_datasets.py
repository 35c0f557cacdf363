"""Kept data sets: each node gets its own disk back, whatever the number of nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.model import Tier
from orchestrator.powers import World
from orchestrator.run import datasets
from tests.fakes import FakeTier, Log, fake_world
from tests.plans import a_plan, a_profile, a_workload
from tests.unit.run.conftest import Campaign, Make


def ensure(campaign: Campaign, nodes: int) -> Sequence[Path]:
    snapshots = datasets.ensure(
        a_profile(nodes=nodes), a_workload(), 1, campaign.parts, campaign.world
    )
    assert snapshots is not None
    return snapshots


def test_twelve_snapshots_come_in_the_order_of_their_nodes(make: Make) -> None:
    campaign = make()
    for _ in range(2):  # loaded, then found again
        snapshots = ensure(campaign, nodes=12)
        assert [file.name for file in snapshots] == [f"node-{n}.img" for n in range(1, 13)]
        assert all(file.is_file() for file in snapshots)
    assert campaign.log.words.count("load") == 1


class Large(FakeTier):
    """Disks that take far more space than any machine has, or nothing of it."""

    def __init__(self, log: Log, copies: int) -> None:
        super().__init__(log, True)
        self._copies = copies

    def places(self, tier: Tier, nodes: int, world: World) -> dict[Path, int]:
        return {world.cache: self._copies * nodes}


def test_disks_without_room_are_refused_before_anything_starts(tmp_path: Path) -> None:
    """Nor is any asked where the mechanism keeps nothing here."""
    log = Log()
    world = fake_world(log, tmp_path)
    datasets.check_space(a_plan(), {"emulated": Large(log, 0)}, world)
    with pytest.raises(UnavailableError, match="for the disks of 1 nodes"):
        datasets.check_space(a_plan(), {"emulated": Large(log, 2**40)}, world)


def test_a_data_set_starts_where_it_was_loaded_and_an_older_one_is_loaded_anew(make: Make) -> None:
    campaign = make()
    snapshots = ensure(campaign, nodes=2)
    assert datasets.addresses_of(snapshots) == ("10.0.0.11", "10.0.0.12")
    assert datasets.addresses_of(None) == ()
    file = snapshots[0].parent / "dataset.json"
    content = json.loads(file.read_text())
    del content["addresses"]
    file.write_text(json.dumps({**content, "prefix": "10.207.77"}))
    assert datasets.addresses_of(ensure(campaign, nodes=2)) == ("10.0.0.11", "10.0.0.12")
    assert campaign.log.words.count("load") == 2
