"""What sessions waited for is asked when the window is over; why it is not known is recorded."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunError, StatementError
from orchestrator.model import Cluster, Node
from orchestrator.parts import ClientLoad
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.window.window_questions import statements_counted, waits_sampled
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, Log, fake_world
from tests.plans import a_plan

CLUSTER = Cluster("postgresql", "17", (), (), "net")
OTHER_FORM = "the answer has an unknown form: KeyError: 'kept_s'"
LOCKED = {"samples": 240, "locked_pct": 78.0, "events": []}


def a_run(folder: Path, **parts: Any) -> Any:
    """A run's context, of which `parts` are those that matter here."""
    plan = a_plan()
    world = fake_world(clock=FakeClock())
    of_run = replace(fake_parts(Log()), **parts)
    draft = Draft(facts={})
    here: Any = RunContext(plan, plan.runs[0], of_run, Any, folder, world, draft, {})  # type: ignore[arg-type]
    return here


def the_load(here: RunContext) -> ClientLoad:
    client = Node("client", "client")
    return ClientLoad(here.workload, CLUSTER, client, here.raw, here.world)


def recorded(folder: Path, answer: Mapping[str, Any] | Exception) -> dict[str, Any]:
    """The facts of a run whose load ends 30 s after its window began."""
    asked: list[float] = []

    def waits(_: Cluster, window_s: float) -> Mapping[str, Any]:
        asked.append(window_s)
        if isinstance(answer, Exception):
            raise answer
        return answer

    here = a_run(folder, waits=waits)
    began_s = here.world.clock.now() - 30.0
    with waits_sampled(here, CLUSTER, the_load(here)) as accompanied:
        accompanied.world.window_begins(began_s)
    assert asked == [30.0], "of the time since the window began"
    facts: dict[str, Any] = here.draft.facts
    return facts


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (LOCKED, {"waits": {"window_s": 30.0, **LOCKED}}),
        ({}, {}),
        (
            StatementError("no history LINE 1: SELECT", message="no history"),
            {"waits": {"not_read": "no history"}},
        ),
        (RunError("an odd LINE 1"), {"waits": {"not_read": "an odd LINE 1"}}),
        (
            KeyError("kept_s"),
            {"waits": {"not_read": OTHER_FORM}},
        ),
    ],
)
def test_what_was_sampled_or_why_not_is_recorded(
    answer: Mapping[str, Any] | Exception, facts: dict[str, Any], tmp_path: Path
) -> None:
    assert recorded(tmp_path, answer) == facts


@pytest.mark.parametrize("name", ["waits", "statements"])
def test_what_comes_late_is_not_written_to_a_record_that_is_complete(
    name: str, tmp_path: Path
) -> None:
    answering = threading.Event()

    def late(*_: object) -> Any:
        answering.wait(10)
        return LOCKED

    here = a_run(tmp_path, **{name: late})
    facts = here.draft.facts
    follow = {"waits": waits_sampled, "statements": statements_counted}[name]
    began_s = here.world.clock.now() - 30.0
    with follow(here, CLUSTER, the_load(here), late_s=0.01) as accompanied:
        accompanied.world.window_begins(began_s)
    (thread,) = [t for t in threading.enumerate() if t.name == name]
    told = {name: {"not_read": "servers had not answered 0.01 s after the load ended"}}
    assert facts == told
    answering.set()
    thread.join(10)
    assert facts == told
