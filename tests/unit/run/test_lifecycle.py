"""The order of everything a campaign does, word for word, also on failure and interrupt.

Method: fake parts write what happens to one log; the log is compared whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import LoadError, NodeError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Volume
from orchestrator.powers import World
from tests.fake_parts import DOWN, FakeDatabase
from tests.fakes import Log, QuietProgress
from tests.plans import a_plan
from tests.unit.run.conftest import Campaign, Failing, Make

CHECKS = ["sweep", "check premium", "check database", "check point-select"]
LOADING = [
    "unlimited disks up",
    "network up",
    "database up",
    "client up",
    "load",
    "settle",
    "client down",
    "database down",
    "network down",
    "unlimited disks down",
]
GATE = ["gate of premium"]
LIFTED = ["limits lifted"]
UP = ["disks of premium up", *LIFTED, "network up", "database up", "client up"]
IN_FORCE = ["limits set", "run point-select", "limits read back"]
MEASURED = ["warm", "begin measuring", *IN_FORCE, *LIFTED, "verify"]
READ = ["read"]


def steps_shown(campaign: Campaign) -> list[str]:
    """What a console would have shown of its runs."""
    progress = campaign.world.progress
    assert isinstance(progress, QuietProgress)
    return progress.steps


def test_a_run_in_order(make: Make) -> None:
    campaign = make()
    (record,) = campaign.execute()
    assert campaign.log.words == CHECKS + LOADING + GATE + UP + MEASURED + READ + DOWN
    assert record.outcome == "done"
    assert [phase.name for phase in record.phases][2:4] == ["warm-up", "measure"]
    assert record.measurements[0].value == 42.0
    assert "warming the cache" in steps_shown(campaign)


class Counting(FakeDatabase):
    """Says how often its counters began anew."""

    begun = 0

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        super().begin_measuring(cluster, world)
        self.begun += 1

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        return DatabaseFacts(since_reset={"begun": float(self.begun)})


def test_cold_caches_are_not_warmed_and_debts_are_waited_for(make: Make) -> None:
    plan = a_plan(repetitions=1)
    loads = tuple(replace(load, warm=False, settle=True) for load in plan.workloads)
    campaign = make()
    counting = {"postgresql": Counting(campaign.log)}
    campaign.parts = replace(campaign.parts, databases=counting)
    (record,) = campaign.execute(plan=replace(plan, workloads=loads))
    assert record.facts["database"]["since_reset"] == {"begun": 1.0}, (
        "those of the window"
    )
    settled = [
        *IN_FORCE[:2],
        "begin measuring",
        *IN_FORCE[2:],
    ]  # under the tier's limits
    measured = ["begin measuring", *settled, *LIFTED, "verify"]
    assert campaign.log.words == CHECKS + LOADING + GATE + UP + measured + READ + DOWN
    names = [phase.name for phase in record.phases]
    assert names[2:6] == ["warm-up", "measure", "settle", "check"]
    assert "warming the cache" not in steps_shown(campaign)


def test_a_data_set_is_loaded_once_and_the_gate_taken_once(make: Make) -> None:
    campaign = make()
    campaign.execute(repetitions=3)
    words = ("load", "gate of premium", "run point-select")
    assert [campaign.log.words.count(word) for word in words] == [1, 1, 3]


def test_without_snapshots_every_run_loads_on_the_tier(make: Make) -> None:
    campaign = make(restores=False)
    campaign.execute()
    loaded = ["load", "settle"]
    assert campaign.log.words == CHECKS + GATE + UP + loaded + MEASURED + READ + DOWN


@pytest.mark.parametrize(
    ("word", "error"),
    [("run point-select", NodeError("node-1 died")), ("warm", LoadError("no table"))],
)
def test_a_failing_run_is_recorded_and_taken_down(
    make: Make, word: str, error: Exception
) -> None:
    campaign = make(Log(broken={word: error}))
    (record,) = campaign.execute()
    assert campaign.log.words[-len(DOWN) :] == DOWN
    assert (record.outcome, record.failure) == ("failed", str(error))
    assert record.measurements == ()


def test_the_next_run_goes_on_after_a_failure(make: Make) -> None:
    campaign = make(Log(broken={"warm": NodeError("died")}))
    campaign.execute(repetitions=2)
    assert campaign.outcomes() == ["failed", "failed"]
    assert campaign.log.words.count("database up") == 3


def test_a_lying_disk_is_never_measured(make: Make) -> None:
    campaign = make(gate="slow")
    (record,) = campaign.execute()
    assert campaign.log.words == [*CHECKS, *LOADING, *3 * GATE]
    assert record.outcome == "failed"
    assert "not what the tier declares" in str(record.failure)
    assert record.gate is not None and not record.gate.passed


@pytest.mark.parametrize("word", [*UP, *MEASURED])
def test_an_interrupt_anywhere_takes_everything_down(make: Make, word: str) -> None:
    campaign = make(Log(broken={word: KeyboardInterrupt()}))
    with pytest.raises(KeyboardInterrupt):
        campaign.execute()
    words = campaign.log.words
    ups = [w.removesuffix(" up") for w in words if w.endswith(" up") and w != word]
    downs = [w.removesuffix(" down") for w in words if w.endswith(" down")]
    assert sorted(ups) == sorted(downs)
    assert campaign.outcomes() == ["interrupted"]


def test_an_interrupted_load_leaves_no_half_data_set(
    make: Make, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        make(Log(broken={"load": KeyboardInterrupt()})).execute()
    assert not list((tmp_path / "cache").glob("datasets/*"))


def test_finished_runs_survive_an_interrupt(make: Make) -> None:
    campaign = make(Failing("warm", KeyboardInterrupt(), (2,)))
    with pytest.raises(KeyboardInterrupt):
        campaign.execute(repetitions=3)
    assert campaign.outcomes() == ["done", "interrupted"]


def test_the_database_is_told_what_its_disks_declare(make: Make) -> None:
    """Restored nodes of YugabyteDB may take as long as their log takes to read on such disks."""
    campaign, told = make(), []

    class Noting(FakeDatabase):
        def running(
            self, spec: ClusterSpec, volumes: Sequence[Volume], *rest: Any
        ) -> Any:
            told.append([volume.bytes_per_s for volume in volumes])
            return super().running(spec, volumes, *rest)

    noting = {"postgresql": Noting(campaign.log)}
    campaign.parts = replace(campaign.parts, databases=noting)
    campaign.execute()
    assert told == [[None], [10_000_000]], "loading is not limited"
