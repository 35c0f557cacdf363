"""Campaigns on fake parts, in a folder of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.model import Plan, Record
from orchestrator.run import experiment
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.run.runs_ahead.schedule import Following
from orchestrator.system import store
from orchestrator.tier import Gate
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, Log, fake_world
from tests.plans import a_plan
from tests.tiers import changed

GONE = UnavailableError("looking at node-1: the Docker engine does not answer (reset)")


# What measures a campaign here, and where.
HERE = {"hostname": "here", "cpu_model": "fast", "cpus": 2, "kernel": "6.1"}
FACTS: dict[str, Any] = {"tierbench": "1", "revision": "a" * 40, "host": HERE}


PLAN = a_plan(("premium", "ultra"), repetitions=2)  # four runs


class Failing(Log):
    """A log of which a word raises only the times that are listed, counted from 1."""

    def __init__(self, word: str, error: BaseException, times: tuple[int, ...]) -> None:
        super().__init__()
        self._word, self._error, self._times = word, error, times

    def say(self, word: str) -> None:
        super().say(word)
        if word == self._word and self.words.count(word) in self._times:
            raise self._error


class Campaign:
    """The parts and the world of a campaign, whose words go to one log."""

    def __init__(
        self,
        folder: Path,
        log: Log | None = None,
        clock: FakeClock | None = None,
        **parts: Any,
    ) -> None:
        self.log, self.results = log or Log(), folder / "results"
        self.world = fake_world(self.log, folder / "cache", clock)
        self.parts = fake_parts(self.log, **parts)

    def execute(
        self,
        repetitions: int = 1,
        plan: Plan | None = None,
        following: Following | None = None,
    ) -> list[Record]:
        """Carries out `plan`, or one of so many runs; the records that it left."""
        plan = plan or a_plan(repetitions=repetitions)
        experiment.execute(
            plan,
            self.parts,
            self.world,
            self.results,
            FACTS,
            [following] if following else [],
        )
        return self.records()

    def records(self) -> list[Record]:
        stored = store.load_without_tables(self.results / "latest")
        return [data.record for data in stored.runs]

    def outcomes(self) -> list[str]:
        return [record.outcome for record in self.records()]


Make = Callable[..., Campaign]


class Killed(BaseException):
    """Ends this program as SIGKILL does: nothing of it has anything to say any more."""


def begun(campaign: Campaign, plan: Plan = PLAN) -> Path:
    """Carries out `plan` until it is killed; returns its folder, without what a program that is
    killed would not have written."""
    with pytest.raises((Killed, KeyboardInterrupt)):
        experiment.execute(
            plan, campaign.parts, campaign.world, campaign.results, FACTS
        )
    return campaign.results / "latest"


def go_on(
    campaign: Campaign,
    facts: Mapping[str, Any] = FACTS,
    despite: tuple[str, ...] = (),
    following: Sequence[Following] = (),
) -> Path:
    folder = (campaign.results / "latest").resolve()
    begun = Resumption(folder, despite)
    world, parts = campaign.world, campaign.parts
    return experiment.execute(
        begun.plan, parts, world, campaign.results, facts, following, begun
    )


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a campaign of a log, a clock and arguments of `fake_parts`."""
    return lambda *log_and_clock, **parts: Campaign(tmp_path, *log_and_clock, **parts)


def real(plan: Plan, **tier: Any) -> Plan:
    """The plan on a real disk."""
    profiles = tuple(
        replace(one, tier=changed(one.tier, like="mounted", **tier))
        for one in plan.profiles
    )
    return replace(plan, profiles=profiles)


def kept(campaign: Campaign) -> tuple[Gate, ...]:
    """The gates that its newest campaign left."""
    return store.load(campaign.results / "latest").gates
