"""A load whose program was killed goes on where its loader can, and begins anew if it is damaged.

Method: fake parts; a kill is an exception that no code of ours catches.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import LoadError, NodeError, UnfinishedError
from orchestrator.load_generators import load_generators
from orchestrator.model import Cluster, Node, Workload
from orchestrator.parts import LoadAbilities
from orchestrator.powers import World
from orchestrator.run.data import datasets
from orchestrator.run.runs_ahead import spent_times
from tests.fake_parts import FakeGenerator
from tests.fakes import QuietProgress
from tests.plans import a_profile, a_workload
from tests.unit.run.conftest import Campaign, Failing, Make


class Killed(BaseException):
    """Ends this program as SIGKILL does."""


class GoesOn(FakeGenerator):
    abilities = LoadAbilities(loading_goes_on=True)


class TakesAnHour(GoesOn):
    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        super().load(workload, cluster, client, world)
        world.clock.sleep(3600.0)


def ensure(campaign: Campaign, generator: type[FakeGenerator] = GoesOn) -> Path:
    generators = {"sysbench": generator(campaign.log)}
    parts = replace(campaign.parts, load_generators=generators)
    snapshots = datasets.ensure(a_profile(), a_workload(), 1, parts, campaign.world)
    assert snapshots is not None
    return snapshots[0].parent


def killed(
    make: Make, word: str = "load", generator: type[FakeGenerator] = GoesOn
) -> Campaign:
    campaign = make(Failing(word, Killed(), (1,)))
    with pytest.raises(Killed):
        ensure(campaign, generator)
    return campaign


def said(campaign: Campaign) -> str:
    progress = campaign.world.progress
    assert isinstance(progress, QuietProgress)
    return "\n".join(progress.said)


def test_a_killed_load_goes_on_from_its_disks(make: Make) -> None:
    killed(make)
    (note,) = make().world.cache.glob("datasets/*/loading.json")
    (note.parent / "loaded").write_text("half of it")
    campaign = make()
    assert (ensure(campaign) / "loaded").read_text() == "half of it"
    assert "an earlier load is continued; it had failed: its program was ended" in said(
        campaign
    )
    assert not note.exists()


def paces_of_loads(campaign: Campaign) -> list[str]:
    learnt = spent_times.learnt_paces(campaign.world.cache)
    return [name for name in learnt if name.startswith("load ")]


def test_a_load_is_learnt_from(make: Make) -> None:
    campaign = make()
    ensure(campaign, TakesAnHour)
    assert len(paces_of_loads(campaign)) == 1


def test_a_load_that_goes_on_is_not_learnt_from(make: Make) -> None:
    """It took a part of the time that its data need."""
    killed(make)
    (note,) = make().world.cache.glob("datasets/*/loading.json")
    (note.parent / "loaded").write_text("half of it")
    campaign = make()
    ensure(campaign, TakesAnHour)
    assert paces_of_loads(campaign) == []


@pytest.mark.parametrize("word", ["database up", "settle"])
def test_one_killed_before_or_after_its_loader_begins_anew(
    make: Make, word: str
) -> None:
    killed(make, word)
    assert not list(make().world.cache.glob("datasets/*/loading.json"))


def test_one_whose_loader_cannot_go_on_begins_anew(make: Make) -> None:
    killed(make, generator=FakeGenerator)
    assert not list(make().world.cache.glob("datasets/*/loading.json"))


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("database up", NodeError("it does not start")),
        ("load", UnfinishedError("sbtest1 has 9 rows instead of 10")),
        ("load", LoadError("condition 3 does not hold")),
    ],
)
def test_one_that_the_kill_damaged_begins_anew_and_says_so(
    make: Make, word: str, error: Exception
) -> None:
    killed(make)
    (note,) = make().world.cache.glob("datasets/*/loading.json")
    (note.parent / "loaded").write_text("damaged")
    campaign = make(Failing(word, error, (1,)))
    folder = ensure(campaign)
    assert f"is damaged, so it starts again: {error}" in said(campaign)
    assert not (folder / "loaded").exists()
    assert json.loads((folder / "dataset.json").read_text())["addresses"]


def test_both_own_loaders_go_on_and_no_other() -> None:
    can = {
        name for name, one in load_generators().items() if one.abilities.loading_goes_on
    }
    assert can == {"sysbench"}
