"""A machine that was the limit is a doubt wherever its figures are used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.extensions.over_time import comparing
from orchestrator.report.exports import FORMATS
from tests.campaigns import build_campaign

KIND = "limited by this machine"


def on_a_host_of(cpus: float) -> Results:
    """One node of eight CPUs at 92 %, on a host of so many."""
    return build_campaign(
        profiles=["ultra"],
        workloads=["point-select"],
        nodes=1,
        repetitions=2,
        host_cpus=cpus,
    )


@pytest.fixture(scope="module")
def busy() -> Results:
    return on_a_host_of(8.0)


@pytest.fixture(scope="module")
def verdict(busy: Results) -> Verdict:
    return judge(busy)


def test_each_of_its_runs_is_doubted(verdict: Verdict) -> None:
    (cell,) = verdict.bottlenecks
    assert cell.cause == "machine_bound"
    doubts = [doubt for doubt in verdict.doubts if doubt.kind == KIND]
    assert [(doubt.run, doubt.effect) for doubt in doubts] == [
        (1, "limits"),
        (2, "limits"),
    ]


def test_a_machine_with_room_is_not_doubted() -> None:
    roomy = judge(on_a_host_of(32.0))
    assert KIND not in [doubt.kind for doubt in roomy.doubts]


@pytest.mark.parametrize("form", ["csv", "junit", "openmetrics"])
def test_exports_have_it_beside_the_runs(
    busy: Results, verdict: Verdict, form: str
) -> None:
    assert KIND in FORMATS[form](busy, verdict)


def test_campaigns_are_compared_with_it(busy: Results) -> None:
    later = replace(busy, name="later")
    doubts = comparing.compare(busy, later).doubts
    said = f"in {busy.name} the machine was the limit, not the disk, of ultra × point-select"
    assert said in doubts
