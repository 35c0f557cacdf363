"""What renting costs: a campaign that reaches its limit while it runs ends, and what finished is
reported; one that may have left something rented says so first."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import campaign
from orchestrator.design import cost_limit
from orchestrator.errors import EXIT_UNAVAILABLE, LeftBehindError, UnavailableError
from orchestrator.platforms.dry import NobodyElse
from orchestrator.system import store
from orchestrator.tier import Price
from tests.apps import an_app, with_parts
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, Log
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
    assert cost_limit.affordable_s(plan, "0.20 USD") == pytest.approx(2 * 3600)
    assert cost_limit.affordable_s(plan, None) is None
    assert cost_limit.affordable_s(a_plan(), "0.20 USD") is None, "nothing is rented"


def test_at_the_limit_the_run_ends_and_what_finished_is_reported(
    tmp_path: Path,
) -> None:
    log = Alarmed()
    platform: Any = FakePlatform(log)
    app = with_parts(an_app(tmp_path, platform, clock=FakeClock()), fake_parts(log))
    price = Price(73.0, "USD", "eastus", "2026-09", "a list")
    plan = real(a_plan(("premium", "ultra"), repetitions=2), price=price)
    request = Request(
        profiles=["premium", "ultra"], workloads=["point-select"], max_cost="5 USD"
    )
    request = replace(request, database="postgresql", results=tmp_path / "results")
    with pytest.raises(UnavailableError, match="would cost more than 5 USD") as ended:
        campaign.carry_out(app, plan, request)
    assert ended.value.exit_code == EXIT_UNAVAILABLE
    assert log.words[-1] == "sweep"
    left = (tmp_path / "results" / "latest").resolve()
    assert str(left) in ended.value.advice
    outcomes = [data.record.outcome for data in store.load(left).runs]
    assert outcomes == ["done", "interrupted"]
    assert "because renting longer would cost more" in (left / "report.md").read_text()
    assert json.loads((left / "verdict.json").read_text())


class _Leaving(NobodyElse):
    """What was rented cannot be removed at the end."""

    @contextmanager
    def held(self) -> Iterator[None]:
        yield
        raise LeftBehindError("2 volumes may still be there", ("kubectl get pv",))


def test_what_may_be_left_is_said_first_and_kept_with_the_commands_to_look_for_it(
    tmp_path: Path,
) -> None:
    log = Log()
    platform: Any = FakePlatform(log)
    platform.guard = _Leaving()
    app = with_parts(an_app(tmp_path, platform, clock=FakeClock()), fake_parts(log))
    plan = real(a_plan(("premium",), repetitions=1))
    request = Request(
        profiles=["premium"],
        workloads=["point-select"],
        database="postgresql",
        results=tmp_path / "results",
    )
    with pytest.raises(LeftBehindError) as ended:
        campaign.carry_out(app, plan, request)
    assert ended.value.exit_code == EXIT_UNAVAILABLE
    folder = tmp_path / "results" / "latest"
    kept = {"what": "2 volumes may still be there", "look": ["kubectl get pv"]}
    assert json.loads((folder / "left-behind.json").read_text()) == kept
    assert [data.record.outcome for data in store.load(folder).runs] == ["done"]
    report = (folder / "report.md").read_text()
    assert report.index("maybe left behind") < 700 and "`kubectl get pv`" in report
