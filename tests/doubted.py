"""Campaigns with something to doubt, and the doubts that are found in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from orchestrator.analysis import differences, run_values
from orchestrator.analysis.differences import Difference
from orchestrator.analysis.doubts.kinds import find
from orchestrator.analysis.results import Results
from orchestrator.model import Doubt, Measurement, Record
from tests.campaigns import build_campaign, with_tier

Change = Callable[[Record], Record]


def small(
    load: str = "point-select", change: Change | None = None, **more: Any
) -> Results:
    """One real disk, two repetitions, nothing to doubt but what `more` brings."""
    asked = {"profiles": ["premium"], "repetitions": 2, **more}
    campaign = build_campaign(workloads=[load], nodes=1, change=change, **asked)
    return with_tier(campaign, enforcement="mounted")


def kinds(campaign: Results) -> set[str]:
    return {doubt.kind for doubt in find(campaign)}


def the(kind: str, campaign: Results) -> Doubt:
    found = [doubt for doubt in find(campaign) if doubt.kind == kind]
    assert found, f"{kind} is not among {kinds(campaign)}"
    return found[0]


def between(left: Record, right: Record) -> tuple[Difference, ...]:
    """What two runs differ in besides their tier."""
    return differences.between(run_values.of_record(left), run_values.of_record(right))


def phrases(left: Record, right: Record) -> tuple[str, ...]:
    """The same, as a person reads it."""
    return differences.in_words(between(left, right))


def facts(**of_database: Any) -> Change:
    def change(record: Record) -> Record:
        database = {**record.facts["database"], **of_database}
        return replace(record, facts={**record.facts, "database": database})

    return change


def figures(*figures: Measurement) -> Change:
    """Later figures of a record win over earlier ones of the same name."""

    def change(record: Record) -> Record:
        new = {(m.metric, m.scope) for m in figures}
        kept = tuple(m for m in record.measurements if (m.metric, m.scope) not in new)
        return replace(record, measurements=(*kept, *figures))

    return change
