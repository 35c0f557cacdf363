"""What sessions waited for is asked when the window is over; why it is not known is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunError
from orchestrator.model import Cluster
from orchestrator.run.recording import Draft, RunContext
from orchestrator.run.window import waits_sampled
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, Log, fake_world
from tests.plans import a_plan

LOCKED = {"samples": 240, "locked_pct": 78.0, "events": []}


def recorded(folder: Path, answer: Mapping[str, Any] | Exception) -> dict[str, Any]:
    """The facts of a run whose load ends 30 s after its window began."""
    clock = FakeClock()
    asked: list[float] = []

    def waits(_: Cluster, window_s: float) -> Mapping[str, Any]:
        asked.append(window_s)
        if isinstance(answer, Exception):
            raise answer
        return answer

    plan = a_plan()
    world = fake_world(clock=clock)
    parts = replace(fake_parts(Log()), waits=waits)
    draft = Draft(facts={})
    here: Any = RunContext(plan, plan.runs[0], parts, Any, folder, world, draft, {})  # type: ignore[arg-type]
    cluster: Any = object()
    began_s = clock.now() - 30.0
    with waits_sampled(here, cluster, draft.facts, world) as telling:
        telling.window_begins(began_s)
    assert asked == [30.0], "of the time since the window began"
    return draft.facts


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (LOCKED, {"waits": {"window_s": 30.0, **LOCKED}}),
        ({}, {}),
        (RunError("no history LINE 1: SELECT"), {"waits": {"not_read": "no history"}}),
    ],
)
def test_what_was_sampled_or_why_not_is_recorded(
    answer: Mapping[str, Any] | Exception, facts: dict[str, Any], tmp_path: Path
) -> None:
    assert recorded(tmp_path, answer) == facts
