"""The words of decisions (decisions.yaml): each is said somewhere, and its braces are filled in."""

from __future__ import annotations

import ast

from orchestrator.analysis.decisions.reasons import said
from orchestrator.keys.strict_yaml import shipped
from tests.sources import MODULES, PACKAGE, nodes


def test_each_is_said_somewhere() -> None:
    texts = {
        node.value
        for file in MODULES
        if file.is_relative_to(PACKAGE / "analysis/decisions")
        for node in nodes(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert shipped("orchestrator.analysis.decisions", "decisions.yaml").keys() <= texts


def test_values_are_filled_in() -> None:
    assert said("absent", of="ultra") == "Not considered, having no figures: ultra"
