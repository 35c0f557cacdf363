"""What was seen of a node as a record: its parts, what is unknown, and quotients of rates."""

from __future__ import annotations

from dataclasses import fields
from statistics import median
from typing import Any

import pytest

from orchestrator.analysis.telemetry.counters import rates
from orchestrator.analysis.telemetry.use import node_values
from orchestrator.analysis.telemetry.use.disk_cap_use import CapUse
from orchestrator.analysis.telemetry.use.load_and_sessions import LoadUse
from orchestrator.analysis.telemetry.use.network_links import LinkUse
from orchestrator.analysis.telemetry.use.node_values import Evidence


def test_what_was_sampled_stands_in_the_order_of_the_record() -> None:
    values = Evidence(cpu_pct=60.0, disk_iops=100.0, sessions=0.0)
    assert list(values.sampled().items()) == [
        ("disk_iops", 100.0),
        ("cpu_pct", 60.0),
        ("sessions", 0.0),
    ]


@pytest.mark.parametrize("part", [CapUse, LinkUse, LoadUse])
def test_a_part_names_its_values_as_the_whole_does(part: Any) -> None:
    assert {value.name for value in fields(part)} <= node_values.NAMES


def test_a_value_of_several_runs_is_that_of_those_that_know_it() -> None:
    runs = [Evidence(cpu_pct=10.0), Evidence(), Evidence(cpu_pct=30.0, disk_iops=0.0)]
    assert node_values.of_several(runs, median) == Evidence(cpu_pct=20.0, disk_iops=0.0)


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
