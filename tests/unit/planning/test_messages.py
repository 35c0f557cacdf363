"""The words of failures (messages.yaml): each is raised, with the values in its braces."""

from __future__ import annotations

import ast
from string import Formatter

import pytest

from orchestrator.errors import LoadError, UnavailableError, UsageError
from orchestrator.keys.messages import failure
from orchestrator.keys.strict_yaml import shipped
from tests.sources import MODULES, nodes

WORDS = shipped("orchestrator", "messages.yaml")
CALLS = [
    node
    for file in MODULES
    for node in nodes(file)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "failure"
]


def name_of(call: ast.Call) -> str:
    (_, name) = call.args
    assert isinstance(name, ast.Constant), f"line {call.lineno}: name a failure by a literal"
    return str(name.value)


def braces(name: str) -> set[str]:
    """The names that the words of a failure have in braces."""
    said = WORDS[name]
    texts = [said] if isinstance(said, str) else [said["what"], said["advice"]]
    fields = [field for text in texts for _, field, _, _ in Formatter().parse(text) if field]
    return {field.split(".")[0] for field in fields}


def test_each_says_what_was_wrong() -> None:
    told = [tuple(said) for said in WORDS.values() if not isinstance(said, str)]
    assert set(told) == {("what", "advice")}


def test_each_is_raised_somewhere() -> None:
    assert {name_of(call) for call in CALLS} == set(WORDS)


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_each_is_given_what_stands_in_its_braces(call: ast.Call) -> None:
    given = {keyword.arg for keyword in call.keywords} - {"evidence"}
    assert given == braces(name_of(call))


def test_the_error_has_words_advice_and_evidence() -> None:
    error = failure(UsageError, "no directory", path="/data")
    assert type(error) is UsageError
    assert error.what == str(error) == "/data is not a directory"
    assert error.advice == "mount the disk there first, or correct the path in the profile"
    assert failure(LoadError, "connection lost", evidence="a line").evidence == "a line"


def test_advice_may_be_missing() -> None:
    error = failure(LoadError, "not all ready", within_s=60.0)
    assert (error.what, error.advice) == ("not all clients were ready to begin within 60 s", "")


def test_values_may_be_asked_for_their_parts() -> None:
    reason = PermissionError(13, "Permission denied")
    error = failure(UnavailableError, "password file not read", path="/p", error=reason)
    assert error.what == "the password file /p cannot be read: Permission denied"
