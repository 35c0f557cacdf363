"""A campaign that reaches its cost limit while it runs: it ends, and what finished is reported."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import campaign, outside
from orchestrator.cli.options import Request
from orchestrator.errors import EXIT_UNAVAILABLE, UnavailableError
from orchestrator.planning import costs
from orchestrator.powers import World
from orchestrator.system import store
from orchestrator.system.shell import SystemShell
from orchestrator.tier import Price
from tests import ROOT
from tests.fakes import FakePlatform, Log, QuietProgress, fake_parts, fake_world
from tests.plans import a_plan
from tests.unit.run.conftest import real


class Alarmed(Log):
    """Lets the time be up when a word is said for the second time."""

    def say(self, word: str) -> None:
        super().say(word)
        if word == "warm" and self.words.count(word) == 2:
            signal.raise_signal(signal.SIGALRM)


def test_how_long_a_limit_lasts() -> None:
    plan = real(a_plan(), price=Price(73.0, "USD", "eastus", "2026-09", "a list"))
    assert costs.affordable_s(plan, "0.20 USD") == pytest.approx(2 * 3600)
    assert costs.affordable_s(plan, None) is None
    assert costs.affordable_s(a_plan(), "0.20 USD") is None, "nothing is rented"


def test_at_the_limit_the_run_ends_and_what_finished_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, progress = Alarmed(), QuietProgress()
    parts = fake_parts(log)
    platform: Any = FakePlatform(log)

    @contextmanager
    def powers(root: Path, cache: Path, *_: Any) -> Iterator[tuple[World, Any]]:
        world = fake_world(log, cache, shell=SystemShell())
        yield replace(world, root=root, progress=progress, platform=platform), platform

    monkeypatch.setattr(outside, "powers", powers)
    monkeypatch.setattr(outside, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(campaign, "databases", lambda: parts.databases)
    monkeypatch.setattr(campaign, "load_generators", lambda: parts.load_generators)
    monkeypatch.setattr(campaign, "tier_mechanisms", lambda: parts.tiers)
    monkeypatch.setattr(campaign, "collectors", lambda _machine: parts.collectors)
    price = Price(73.0, "USD", "eastus", "2026-09", "a list")
    plan = real(a_plan(("premium", "ultra"), repetitions=2), price=price)
    request = Request(profiles=["premium", "ultra"], workloads=["point-select"], max_cost="5 USD")
    request = replace(request, database="postgresql")
    with pytest.raises(UnavailableError, match="would cost more than 5 USD") as ended:
        campaign.carry_out(plan, request, ROOT, tmp_path, tmp_path / "results", progress)
    assert ended.value.exit_code == EXIT_UNAVAILABLE
    assert log.words[-1] == "sweep"
    left = (tmp_path / "results" / "latest").resolve()
    assert str(left) in ended.value.advice
    outcomes = [data.record.outcome for data in store.load(left).runs]
    assert outcomes == ["done", "interrupted"]
    assert "because renting longer would cost more" in (left / "report.md").read_text()
    assert json.loads((left / "verdict.json").read_text())
