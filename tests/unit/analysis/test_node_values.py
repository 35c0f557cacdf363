"""What was seen of a node as a record: its parts, what is unknown, and quotients of rates."""

from __future__ import annotations

from dataclasses import fields
from statistics import median

import pytest

from orchestrator.analysis.telemetry.counters import rates
from orchestrator.analysis.telemetry.use import node_values
from orchestrator.analysis.telemetry.use.node_values import Evidence, of_figures


def test_what_was_sampled_stands_in_the_order_of_the_record() -> None:
    values = of_figures({"cpu_pct": 60.0, "disk_iops": 100.0, "sessions": 0.0})
    assert list(values.sampled().items()) == [
        ("disk_iops", 100.0),
        ("cpu_pct", 60.0),
        ("sessions", 0.0),
    ]


def test_each_value_has_one_place_and_is_found_by_its_name() -> None:
    names: list[str] = []
    for part in fields(Evidence):
        names += vars(getattr(Evidence(), part.name))
    assert sorted(names) == sorted(set(names)) == sorted(node_values.NAMES)
    figures = {name: float(place) for place, name in enumerate(names)}
    assert of_figures(figures).sampled() == figures


def test_a_value_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no evidence is called cpu_use_pct"):
        of_figures({"cpu_use_pct": 3.0})


def test_a_value_of_several_runs_is_that_of_those_that_know_it() -> None:
    runs = [
        of_figures({"cpu_pct": 10.0}),
        Evidence(),
        of_figures({"cpu_pct": 30.0, "disk_iops": 0.0}),
    ]
    assert node_values.of_several(runs, median) == of_figures(
        {"cpu_pct": 20.0, "disk_iops": 0.0}
    )


def test_what_is_unknown_is_no_zero_unless_a_rule_says_so() -> None:
    assert node_values.highest([None, None]) is None
    assert node_values.highest([None, 0.0]) == 0.0
    assert node_values.largest(None, None) == 0.0
    assert node_values.assumed(None, if_unknown=100.0) == 100.0
    assert node_values.assumed(0.0, if_unknown=100.0) == 0.0


def test_nothing_is_divided_by_what_is_unknown_or_nothing() -> None:
    assert rates.share_pct(1.0, 4) == 25.0
    assert rates.share_pct(0.0, 4) == 0.0
    assert rates.share_pct(None, 4) is None
    assert rates.quotient(1.0, 0.0) is None
    assert rates.quotient(1.0, None) is None
