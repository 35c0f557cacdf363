"""The words of causes (causes.yaml): each is said somewhere, and its braces are filled in."""

from __future__ import annotations

import ast

from orchestrator.analysis.telemetry import cause_words
from orchestrator.keys.strict_yaml import shipped
from tests.sources import MODULES, PACKAGE, nodes


def test_each_is_said_somewhere() -> None:
    texts = {
        node.value
        for file in MODULES
        if file.is_relative_to(PACKAGE / "analysis/telemetry")
        for node in nodes(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert shipped("orchestrator.analysis.telemetry", "causes.yaml").keys() <= texts


def test_values_are_filled_in() -> None:
    said = cause_words.said("contention (retried)", {"retried_pct": 7.4}, node="node-2")
    assert said.startswith("No resource was full, and 7 % of the transactions on node-2 failed")
