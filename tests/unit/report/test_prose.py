"""The texts that the report takes from prose.yaml: each is there, and each is shown somewhere."""

from __future__ import annotations

import ast
from typing import get_args

from orchestrator.analysis.answers.record import SurenessWord
from orchestrator.analysis.conclusions import VerdictWord
from orchestrator.keys.strict_yaml import parse
from orchestrator.report.prose import said, words
from tests.sources import MODULES, PACKAGE, nodes

PROSE = PACKAGE / "report" / "prose.yaml"


def named_in_code() -> set[str]:
    """Every text that stands in a call of `said`, `words` or `measures`, also as one of two."""
    return {
        text.value
        for file in MODULES
        if file.is_relative_to(PACKAGE / "report")
        for call in nodes(file)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).removeprefix("prose.")
        in ("said", "words", "measures")
        for text in ast.walk(call.args[0])
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    }


def test_each_text_is_there_and_shown() -> None:
    texts = parse("prose.yaml", PROSE.read_text(encoding="utf-8"))
    assert named_in_code() == set(texts)


def test_values_are_filled_in() -> None:
    assert said("over_time.nodes", points="second by second").endswith(
        "runs, second by second."
    )


def test_words_are_of_kinds_that_there_are() -> None:
    """A misspelt kind would go without its label, and nobody would see it."""
    assert words("status.styles").keys() == set(get_args(SurenessWord))
    assert words("junit.outcomes").keys() == set(get_args(VerdictWord))
    assert words("verdict.styles").keys() == set(get_args(VerdictWord))
