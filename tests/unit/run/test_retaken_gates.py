"""A gate that failed costs one run: it is taken again before the next of its tier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.model import Plan
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import MachineFacts, World
from orchestrator.run.beforehand import resource_needs
from orchestrator.tier import Gate, Tier
from orchestrator.tiers.emulated import EmulatedTier
from tests.fake_parts import FakeTier
from tests.fakes import FakePlatform, Log, fake_world
from tests.plans import a_plan
from tests.unit.run.conftest import Make, kept

VERDICTS = (
    "slow",
    "slow",
    "slow",
    "ok",
)  # three attempts of the first gate, then the second


class BusyAtFirst(FakeTier):
    """Its first gate fails in each attempt."""

    def __init__(self, log: Log) -> None:
        super().__init__(log, restores=True)
        self._verdicts: Iterator[str] = iter(VERDICTS)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        self.verdict = next(self._verdicts)
        return super().gate(tier, world, thorough)


def test_a_gate_that_failed_is_taken_again_before_the_next_run_of_its_tier(
    make: Make,
) -> None:
    campaign = make()
    campaign.parts = replace(
        campaign.parts, tiers={"emulated": BusyAtFirst(campaign.log)}
    )
    campaign.execute(repetitions=3)
    assert campaign.outcomes() == ["failed", "done", "done"]
    assert [gate.passed for gate in kept(campaign)] == [False, True]


# ------------------------------------------------------------------ memory


class Sized(LocalMachine):
    """A machine of so much memory, in GiB, as Linux tells it."""

    def __init__(self, installed: float, available: float) -> None:
        super().__init__()
        self._installed, self._available = installed, available

    def facts(self) -> MachineFacts:
        return replace(super().facts(), memory_bytes=int(self._installed * 2**30))

    def read(self, path: str) -> str:
        assert path == "/proc/meminfo"
        return f"MemTotal: 1 kB\nMemAvailable: {int(self._available * 2**20)} kB\n"


class On(FakePlatform):
    def __init__(self, machine: LocalMachine) -> None:
        super().__init__()
        self._here = machine


def of_nodes(gibibytes: int) -> Plan:
    plan = a_plan()
    (profile,) = plan.profiles
    size = replace(profile.cluster.size, memory_bytes=gibibytes * 2**30)
    cluster = replace(profile.cluster, node=size)
    return replace(plan, profiles=(replace(profile, cluster=cluster),))


@pytest.mark.parametrize(("installed", "is_met"), [(31.2, True), (29.0, False)])
def test_a_node_of_32_gib_is_planned_on_a_machine_of_nominally_32(
    installed: float, is_met: bool
) -> None:
    need = resource_needs.Need(
        "premium", "of memory", None, 32 * 2**30, int(installed * 2**30)
    )
    assert need.is_met == is_met


@pytest.mark.parametrize(
    ("needed_bytes", "is_met"), [(2**30, True), (2**30 + 1, False)]
)
def test_a_disk_may_be_filled_to_its_last_byte(needed_bytes: int, is_met: bool) -> None:
    need = resource_needs.Need("premium", "of disk", "/", needed_bytes, 2**30)
    assert need.is_met is is_met


@pytest.mark.parametrize(("installed", "asked"), [(0, 0), (8, 1)])
def test_a_machine_that_does_not_say_its_memory_is_asked_for_none(
    tmp_path: Path, installed: int, asked: int
) -> None:
    machine = LocalMachine()
    said = replace(machine.facts(), memory_bytes=installed * 2**30)

    class Says(LocalMachine):
        def facts(self) -> MachineFacts:
            return said

    world = fake_world(cache=tmp_path, platform=On(Says()))
    tiers = {"emulated": EmulatedTier()}
    needs = list(resource_needs.needs(of_nodes(4), tiers, world))
    assert len([need for need in needs if "of memory" in need.what]) == asked


@pytest.mark.parametrize(("available", "said"), [(6.0, 0), (5.0, 0), (4.5, 1)])
def test_memory_that_others_use_is_said(
    tmp_path: Path, available: float, said: int
) -> None:
    """Beside 4 GiB of nodes, 1 GiB is for what runs with them."""
    world = fake_world(cache=tmp_path, platform=On(Sized(8, available)))
    texts = list(resource_needs.short_memory(of_nodes(4), world))
    assert len(texts) == said
    assert all("Only 4.50 GiB is available" in text for text in texts), texts
