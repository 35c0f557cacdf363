"""Who is faster, in a line: literal changes in, words out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.metrics import METRICS
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import summary
from tests import report_verdicts
from tests.campaigns import build_campaign

CAMPAIGN = build_campaign(
    profiles=["premium", "ultra"], workloads=["insert"], frames=False
)
RATE, AVERAGE, P99 = "throughput_per_s", "latency_avg_s", "latency_p99_s"


def change(
    metric: str, word: VerdictWord, change_pct: float, low_pct: float, high_pct: float
) -> Delta:
    direction, unit = METRICS[metric].direction, METRICS[metric].unit
    of = ("premium", "ultra", "insert", metric, "all", unit)
    return Delta(*of, direction, 3, 3, change_pct, low_pct, high_pct, word, "")


def said(*changes: Delta) -> list[str]:
    verdict = replace(report_verdicts.verdict(), baseline="premium", deltas=changes)
    return [line.text for line in summary.faster(ReportIndex(CAMPAIGN, verdict))]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            [change(RATE, "better", 25.0, 20.0, 30.0)],
            "ultra was 1.25 times as fast as premium (1.20 to 1.30)",
        ),
        (
            [change(RATE, "worse", -50.0, -60.0, -37.5)],
            "premium was 2 times as fast as ultra (1.60 to 2.50)",
        ),
        (  # a shorter latency is better; throughput, which comes first, is the same
            [
                change(AVERAGE, "better", -50.0, -60.0, -20.0),
                change(RATE, "same", 0.0, -1.0, 1.0),
            ],
            "ultra was 2 times as fast as premium in average latency (1.25 to 2.50)",
        ),
        (
            [
                change(P99, "worse", 900.0, 800.0, 1000.0),
                change(RATE, "same", 0.0, -1.0, 1.0),
            ],
            "premium was 10 times as fast as ultra in p99 latency (9 to 11)",
        ),
        (
            [
                change(RATE, "better", 25.0, 20.0, 30.0),
                change(AVERAGE, "worse", 9.0, 8.0, 10.0),
            ],
            "ultra was 1.25 times as fast as premium (1.20 to 1.30)",
        ),
        (
            [change(RATE, "inconclusive", 25.0, -20.0, 90.0)],
            "no proven difference between premium and ultra",
        ),
        (
            [
                replace(
                    change(RATE, "inconclusive", 37.0, 22.0, 54.0), reason="one of six"
                )
            ],
            "no proven difference between premium and ultra: one of six",
        ),
        (
            [
                change(RATE, "same", 0.2, -1.0, 1.0),
                change(AVERAGE, "same", 0.1, -1.0, 1.0),
            ],
            "premium and ultra are as fast as each other",
        ),
        (
            [replace(change(RATE, "better", 25.0, 0.0, 0.0), overloaded=("premium",))],
            "ultra serves the rate asked for, premium does not",
        ),
    ],
)
def test_it_is_said_as_it_was_judged(changes: list[Delta], line: str) -> None:
    assert said(*changes) == [line]


def test_nothing_is_said_without_a_comparison() -> None:
    assert said() == []
