"""The words of doubts (doubts.yaml): each is of a kind that there is, and said somewhere."""

from __future__ import annotations

import ast
import re
from typing import get_args

from orchestrator.analysis.doubts.validity import doubt
from orchestrator.facts import DoubtKind
from orchestrator.keys.strict_yaml import shipped
from tests.sources import MODULES, PACKAGE, nodes

WORDS = shipped("orchestrator.analysis.doubts", "doubts.yaml")
NAME = re.compile(r"(?P<kind>[^(]+?)(?: \((?P<case>.+)\))?")


def named_in_code() -> set[str]:
    """Every text in the modules that find doubts."""
    return {
        node.value
        for file in MODULES
        if file.parent in (PACKAGE / "analysis/doubts", PACKAGE / "run")
        for node in nodes(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_each_has_a_text_and_an_advice() -> None:
    assert {tuple(said) for said in WORDS.values()} == {("text", "advice")}


def test_each_is_of_a_kind_of_doubt() -> None:
    kinds = {match["kind"] for name in WORDS if (match := NAME.fullmatch(name))}
    assert kinds <= set(get_args(DoubtKind))


def test_each_is_said_somewhere() -> None:
    said = named_in_code()
    for name in WORDS:
        match = NAME.fullmatch(name)
        assert match
        assert name in said or {match["kind"], match["case"]} <= said, name


def test_values_are_filled_in() -> None:
    copied = doubt("copied volume", way="claim")
    assert copied.text.startswith("the volumes were copies of a claim: all data")
    assert (
        "`burst: {start: empty}`"
        in doubt("burst credit left", above=1.0, left=2.0).advice
    )
    assert "{" not in copied.advice
