"""When gates of real disks are taken, what becomes of them, and what a window's two ends read."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import GateError
from orchestrator.model import (
    Node,
    Volume,
)
from orchestrator.parts import TierAbilities
from orchestrator.plan_parts import DiskChecks
from orchestrator.planning.durations import steps
from orchestrator.planning.paces import ONE_GATE, Span
from orchestrator.powers import World
from orchestrator.run.window import disk_counts
from orchestrator.tier import Burst, Gate, NodeDisks, Tier
from orchestrator.tiers.common.emulated import window_disks
from tests.fake_parts import FakeTier
from tests.fakes import FakePlatform, Log, fake_world
from tests.plans import a_plan, a_profile, a_workload, changed_plan, planned
from tests.tiers import changed
from tests.unit.run.conftest import Failing, Make, kept, real

GATE = "gate of premium"
BURST = Burst(200, None, 60.0, 50.0)


@pytest.mark.parametrize(
    ("every", "words"),
    [
        (None, [GATE, "run", "run", "run", GATE]),
        (2, [GATE, "run", "run", GATE, "run", GATE]),
        (1, [GATE, "run", GATE, "run", GATE, "run", GATE]),
        (3, [GATE, "run", "run", "run", GATE]),
    ],
)
def test_a_real_disk_is_checked_before_and_after_and_as_often_as_asked(
    make: Make, every: int | None, words: list[str]
) -> None:
    campaign = make(restores=False)
    campaign.execute(plan=changed_plan(real(a_plan(repetitions=3)), gate_every=every))
    said = [word.removesuffix(" point-select") for word in campaign.log.words]
    assert [word for word in said if word in (GATE, "run")] == words
    assert len(kept(campaign)) == words.count(GATE)


def test_an_emulated_disk_is_checked_once(make: Make) -> None:
    campaign = make()
    campaign.execute(plan=changed_plan(a_plan(repetitions=3), gate_every=1))
    assert campaign.log.words.count(GATE) == 1
    assert len(kept(campaign)) == 1


def test_a_record_has_the_gate_that_was_in_force(make: Make) -> None:
    campaign = make(restores=False)
    records = campaign.execute(
        plan=changed_plan(real(a_plan(repetitions=2)), gate_every=1)
    )
    first, second, _ = kept(campaign)
    assert [record.gate for record in records] == [first, second]
    assert first.taken_s < second.taken_s


@pytest.mark.parametrize("error", [GateError("fio could not run"), OSError("no space")])
def test_a_gate_that_cannot_be_taken_afterwards_loses_nothing(
    make: Make, error: Exception
) -> None:
    campaign = make(Failing(GATE, error, (2,)), restores=False)
    (record,) = campaign.execute(plan=real(a_plan()))
    assert record.outcome == "done" and len(kept(campaign)) == 1
    said = campaign.world.progress.said  # type: ignore[attr-defined]
    assert any("after run 1 could not be made" in line for line in said)


def test_a_gate_that_could_not_be_taken_between_is_taken_by_the_next_run(
    make: Make,
) -> None:
    campaign = make(Failing(GATE, OSError("busy"), (2,)), restores=False)
    campaign.execute(plan=changed_plan(real(a_plan(repetitions=2)), gate_every=1))
    assert campaign.outcomes() == ["done", "done"]
    assert campaign.log.words.count(GATE) == 4


def test_an_interrupt_in_the_last_gate_keeps_every_run(make: Make) -> None:
    campaign = make(Failing(GATE, KeyboardInterrupt(), (2,)), restores=False)
    with pytest.raises(KeyboardInterrupt):
        campaign.execute(plan=real(a_plan()))
    assert campaign.outcomes() == ["done"]


class Draining(FakeTier):
    """A tier that can use up credit."""

    @property
    def abilities(self) -> TierAbilities:
        return replace(super().abilities, drained_gate=self.drained_gate)

    def drained_gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        self._log.say("drained")
        return self.gate(tier, world, thorough)


def test_credit_is_used_up_before_each_gate_but_the_last(make: Make) -> None:
    campaign = make(restores=False)
    mechanism = Draining(campaign.log, False)
    campaign.parts = replace(campaign.parts, tiers={"emulated": mechanism})
    plan = changed_plan(
        real(a_plan(repetitions=2), burst=BURST), gate_every=1, drain=True
    )
    (record, _) = campaign.execute(plan=plan)
    gates = [word for word in campaign.log.words if word in ("drained", GATE)]
    assert gates == ["drained", GATE, "drained", GATE, GATE]
    assert record.outcome == "done"


def test_one_real_disk_under_two_names_is_one_disk(make: Make) -> None:
    campaign = make(restores=False)
    plan = real(a_plan(repetitions=2, aa=True))
    records = campaign.execute(plan=plan)
    assert [record.outcome for record in records] == ["done"] * 4
    assert {record.run.profile for record in records} == {"premium", "premium-again"}
    assert campaign.log.words.count(GATE) == 2  # before and after all


def test_the_estimate_counts_every_gate_and_draining() -> None:
    tier = changed(a_profile().tier, like="mounted", burst=BURST)

    def gates(tier: Tier, nodes: int = 1, platform: str = "", **checks: Any) -> Span:
        profile = replace(a_profile(nodes=nodes), tier=tier)
        plan = planned(
            [profile],
            [a_workload()],
            repetitions=5,
            platform=platform,
            disk_checks=DiskChecks(**checks),
        )
        return next(step.total for step in steps(plan) if step.what == "disk checks")

    least_s, most_s = ONE_GATE.span.least_s, ONE_GATE.span.most_s
    assert gates(a_profile().tier) == Span(0.0, most_s), "it may be kept from before"
    made = a_profile().tier
    assert gates(made, nodes=3) == Span(0.0, most_s), "all nodes are on one machine"
    assert gates(made, nodes=3, platform="kubernetes") == Span(0.0, 3 * most_s), (
        "on three"
    )
    assert gates(tier) == Span(2 * least_s, 2 * most_s), "before and after all runs"
    assert gates(tier, gate_every=2) == Span(4 * least_s, 4 * most_s)
    drained = gates(tier, gate_every=2, drain=True)
    assert drained == Span(
        4 * least_s, 4 * most_s + 3 * (1.5 * BURST.duration_s + 10.0)
    )
    disks = {"node-1": NodeDisks("/mnt/a", wal="/mnt/b"), "node-2": NodeDisks("/mnt/c")}
    assert gates(changed(tier, disks=disks)) == Span(3 * 2 * least_s, 3 * 2 * most_s)


# ------------------------------------------------------------------ the two ends of a window


class Server:
    """An emulated disk that serves 100 reads in each second, answering as `device` does."""

    def __init__(self, world_clock: Any) -> None:
        self.clock, self.credit, self.asked = world_clock, 0.9, [""]
        self.asked_twice = threading.Event()

    def __call__(self, _container: str, argv: Sequence[str]) -> str:
        self.asked.append(argv[1])
        if argv[1] == "set":
            self.credit = float(argv[2].removeprefix("burst_start=")) / 100
        ops = 100.0 * self.clock.now()
        own = {
            "ops": ops,
            "late_s": 0.0,
            "over": 0.0,
            "answered": ops,
            "took_s": ops * 4e-4,
        }
        answer = {
            "time_s": self.clock.now(),
            "iops_credit": self.credit,
            "bytes_credit": None,
        }
        if self.asked.count("stats") == 2:
            self.asked_twice.set()
        return json.dumps({**answer, "read": own, "write": dict.fromkeys(own, 0.0)})


TIER = changed(a_profile().tier, burst=BURST)
SERVER = Node("disk-node-1", "disk", "disk-1")


def watch(
    folder: Path, tier: Tier, announced: bool
) -> tuple[Mapping[str, Any], list[str], float]:
    """What was read of a load of 1 s of warm-up and a window of 4 s; and the asked verbs."""
    world = fake_world(cache=folder, platform=FakePlatform())
    server = Server(world.clock)
    world.platform.answer = server  # type: ignore[attr-defined]
    volume = Volume("v", "/dev/loop1", restored=True, server=SERVER)
    start_s = world.clock.now()
    disks = window_disks.of_run(tier, [volume], world)
    with disk_counts.disks_counted(disks, 4.0, world) as (telling, served):
        if announced:
            telling.window_begins(start_s)
            telling.window_begins(start_s + 50)  # only the first call counts
            assert server.asked_twice.wait(60), server.asked
        world.clock.sleep(5.0)
    return served, server.asked[1:], start_s


def test_credit_is_set_and_counters_are_read_when_the_window_begins(
    tmp_path: Path,
) -> None:
    served, asked, start_s = watch(tmp_path, TIER, announced=True)
    disk = served["disk-node-1"]
    assert asked == ["stats", "set", "stats", "stats"]
    assert disk["credit_set_pct"] == 50.0
    assert (
        disk["begin"]["iops_credit_pct"] == 50.0
        and "bytes_credit_pct" not in disk["begin"]
    )
    assert disk["begin"]["read"]["ops"] == 100 * start_s
    assert disk["end"]["read"]["ops"] - disk["begin"]["read"]["ops"] == 500


@pytest.mark.parametrize(
    "tier", [a_profile().tier, changed(TIER, burst=replace(BURST, start_pct=0.0))]
)
def test_a_disk_without_a_bucket_is_not_given_credit(
    tmp_path: Path, tier: Tier
) -> None:
    _, asked, _ = watch(tmp_path, tier, announced=True)
    assert "set" not in asked


def test_a_generator_that_does_not_say_when_is_read_around_its_load(
    tmp_path: Path,
) -> None:
    served, asked, start_s = watch(tmp_path, TIER, announced=False)
    disk = served["disk-node-1"]
    assert asked == ["stats", "stats"] and "credit_set_pct" not in disk
    assert (disk["begin"]["time_s"], disk["end"]["time_s"]) == (start_s, start_s + 5.0)


def test_disks_that_nobody_of_ours_serves_have_no_counters(tmp_path: Path) -> None:
    world = fake_world(Log(), tmp_path)
    volumes = [Volume("v", "", restored=False)]
    assert window_disks.of_run(TIER, volumes, world) == []
