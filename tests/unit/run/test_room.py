"""Room for results: little is required, and what a plan's set rates will write is warned of.

Method: the room that this machine has is compared with plans that need less and more.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.model import Plan
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.run.beforehand import room
from tests.fakes import this_machine_has
from tests.plans import a_plan


def writing(bytes_in_all: float, repetitions: int = 2) -> Plan:
    """Runs that write so much at their rate: 43 bytes a transaction, 24 of one run twice."""
    plan = a_plan(repetitions=repetitions)
    (workload,) = plan.workloads
    transactions = bytes_in_all / (43 * repetitions + 24)
    workload = replace(
        workload,
        warmup_s=60.0,
        warmup_most_s=None,
        measure_s=60.0,
        options={**workload.options, "arrival_rate": transactions / 120.0},
    )
    return replace(plan, workloads=(workload,))


@pytest.mark.parametrize(("share", "warned"), [(0.0, 0), (0.5, 0), (1.5, 1)])
def test_rates_that_will_fill_the_disk_are_said(
    tmp_path: Path, share: float, warned: int
) -> None:
    free_bytes = LocalMachine().free_bytes(str(tmp_path))
    results = tmp_path / "not" / "there yet"
    texts = list(room.warnings(writing(share * free_bytes), results))
    assert len(texts) == warned
    assert all(f"in {results}. Only " in text for text in texts)


def test_a_campaign_needs_half_a_gib_for_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, free_bytes=2**29)
    room.require(tmp_path)
    this_machine_has(monkeypatch, free_bytes=2**29 - 1)
    with pytest.raises(UnavailableError, match="a campaign needs"):
        room.require(tmp_path)


def test_runs_that_are_finished_write_nothing_more(tmp_path: Path) -> None:
    plan = writing(3.0 * LocalMachine().free_bytes(str(tmp_path)))
    assert list(room.warnings(plan, tmp_path, {1}))
    assert list(room.warnings(plan, tmp_path, {1, 2})) == []


def test_the_longest_warm_up_counts(tmp_path: Path) -> None:
    plan = writing(0.6 * LocalMachine().free_bytes(str(tmp_path)))
    (workload,) = plan.workloads
    longer = replace(workload, warmup_most_s=180.0)
    assert list(room.warnings(replace(plan, workloads=(longer,)), tmp_path))
