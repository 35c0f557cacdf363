"""What is said of a factor: each law by its interval, each change of cause, each stage."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.analysis.answers import factor_sentences
from orchestrator.analysis.conclusions import Delta, Law, TierValues, VariedWorkload
from tests import loads

LAW = Law("throughput_per_s", "all", False, 0.5, 0.3, 0.7, 4)
VALUES = ("10", "20", "40")
AT_VALUES = ("a-10", "a-20", "a-40")


def of_tier(tier: TierValues) -> list[str]:
    """What is said where three values of a size were measured on one tier."""
    varied = VariedWorkload("a", "data_size", VALUES, (10, 20, 40), AT_VALUES, (tier,))
    asked: Any = SimpleNamespace(verdict=SimpleNamespace(sweeps=()))
    return list(factor_sentences.sentences(varied, asked))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "grows as data size^0.50 (0.30 to 0.70)"),
        (
            {"exponent": -0.5, "low": -0.7, "high": -0.3},
            "falls as data size^-0.50 (-0.70 to -0.30)",
        ),
        (
            {"exponent": 0.1, "low": -0.1, "high": 0.3},
            "is not proven to change: as data size^0.10 (-0.10 to 0.30)",
        ),
        # 0.05 to either side changes a figure by 12 % at most where the value is ten times.
        (
            {"exponent": 0.0, "low": -0.05, "high": 0.05},
            "hardly depends on data size: as data size^0.00 (-0.05 to 0.05)",
        ),
        (
            {"exponent": 0.0, "low": -0.06, "high": 0.05},
            "is not proven to change: as data size^0.00 (-0.06 to 0.05)",
        ),
        (
            {"exponent": 0.02, "low": 0.01, "high": 0.06},
            "grows as data size^0.02 (0.01 to 0.06)",
        ),
        # What ends at no change proves none.
        (
            {"exponent": 0.1, "low": 0.0, "high": 0.2},
            "is not proven to change: as data size^0.10 (0.00 to 0.20)",
        ),
        (
            {"exponent": -0.1, "low": -0.2, "high": 0.0},
            "is not proven to change: as data size^-0.10 (-0.20 to 0.00)",
        ),
        # A whole number has a name, if the interval is narrower than 0.2.
        (
            {"exponent": 1.0, "low": 0.95, "high": 1.1},
            "grows as data size^1.00 (0.95 to 1.10): linear",
        ),
        (
            {"exponent": -1.0, "low": -1.1, "high": -0.95},
            "falls as data size^-1.00 (-1.10 to -0.95): inverse",
        ),
        (
            {"exponent": -0.95, "low": -1.0, "high": -0.9},
            "falls as data size^-0.95 (-1.00 to -0.90): inverse",
        ),
        (
            {"exponent": 1.0, "low": 0.9, "high": 1.15},
            "grows as data size^1.00 (0.90 to 1.15)",
        ),
        (
            {"exponent": 0.9, "low": 0.85, "high": 0.95},
            "grows as data size^0.90 (0.85 to 0.95)",
        ),
        (
            {"values": 2},
            "grows as data size^0.50 (0.30 to 0.70); two values do not prove a law",
        ),
        (
            {"knee": 1, "bends": True},
            "does not follow a single power of data size: it bends between 20 and 40",
        ),
        (
            {"bends": True},
            "does not follow a single power of data size: it bends gently, without a knee; on "
            "the whole it goes as data size^0.50 (0.30 to 0.70)",
        ),
    ],
)
def test_a_law_is_told_by_its_interval(changes: dict[str, Any], words: str) -> None:
    tier = TierValues("premium", (), {}, laws=(replace(LAW, **changes),))
    assert of_tier(tier) == [f"premium: transactions/s {words}"]


def test_a_law_of_each_node_is_told_as_such() -> None:
    tier = TierValues("premium", (), {}, laws=(replace(LAW, per_node=True),))
    (text,) = of_tier(tier)
    assert text.startswith("premium: transactions/s per node grows")


@pytest.mark.parametrize(
    ("causes", "changes"),
    [
        (("cpu_bound", "cpu_bound", "cpu_bound"), []),
        (("cpu_bound", "cpu_bound", "iops_cap"), ["CPU bound at 20 to IOPS cap at 40"]),
        (
            ("iops_cap", "cpu_bound", "iops_cap"),
            ["IOPS cap at 10 to CPU bound at 20", "CPU bound at 20 to IOPS cap at 40"],
        ),
        # What is not known at one value has not changed.
        (("iops_cap", None, "cpu_bound"), []),
    ],
)
def test_a_change_of_what_limits_a_tier_is_told(
    causes: tuple[Any, ...], changes: list[str]
) -> None:
    found: dict[str, Any] = {}
    for workload, cause in zip(AT_VALUES, causes, strict=True):
        if cause is not None:
            found[workload] = cause
    texts = [f"premium: what limits it changes from {text}" for text in changes]
    assert of_tier(TierValues("premium", (), found)) == texts


def step(metric: str, verdict: Any, change_pct: float = 100.0) -> Delta:
    unit, scope = "1/s", "all"
    return Delta(
        "full", "without", "a", metric, scope, unit, "higher", 3, 3, change_pct,
        90.0, 110.0, verdict, "",
    )  # fmt: skip


RATE = "throughput_per_s"
AVERAGE = "latency_avg_s"


@pytest.mark.parametrize(
    ("steps", "cause", "words"),
    [
        ([step(RATE, "better")], None, "the network was the limit"),
        (
            [step(RATE, "better")],
            "iops_cap",
            "the network was the limit; with all stages IOPS cap was named",
        ),
        ([step(RATE, "better")], "unattributed", "the network was the limit"),
        ([step(RATE, "same")], None, "the network was not the limit"),
        ([step(RATE, "worse")], None, "the network was not the limit"),
        (
            [step(RATE, "inconclusive")],
            None,
            "no difference is proven, so whether the network was the limit is open",
        ),
        # Where a rate is served anyway, the latency alone may be better.
        (
            [step(RATE, "same"), step(AVERAGE, "better")],
            None,
            "the network took the time that was saved",
        ),
        (
            [step(RATE, "better"), step(AVERAGE, "better")],
            None,
            "the network was the limit",
        ),
        ([step(AVERAGE, "same")], None, "the network was not the limit"),
        ([], None, None),
    ],
)
def test_what_a_stage_that_was_taken_away_was(
    steps: list[Delta], cause: Any, words: str | None
) -> None:
    full, without = loads.varied("without=network")
    measured_steps = []
    for change in steps:
        measured_steps.append(replace(change, contender=without.name))
    causes: dict[str, Any] = {}
    if cause:
        causes[full.name] = cause
    tier = TierValues("premium", tuple(measured_steps), causes)
    names = (full.name, without.name)
    varied = VariedWorkload("a", "without", ("nothing", "network"), (), names, (tier,))
    figures = SimpleNamespace(
        throughput_metric=lambda _: RATE,
        latency_scope=lambda _: "all",
        cell=lambda *_: None,
    )
    plan = SimpleNamespace(workload={load.name: load for load in (full, without)}.get)
    asked: Any = SimpleNamespace(figures=figures, campaign=SimpleNamespace(plan=plan))
    texts = list(factor_sentences.sentences(varied, asked))
    if words is None:
        assert not texts
        return
    (text,) = texts
    assert text.startswith("premium: with the network out of the path not measured ")
    assert text.partition("): ")[2] == words
