"""What a person is told (messages.yaml): each is said somewhere, with the values in its braces."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from string import Formatter

import pytest

from orchestrator.errors import LoadError, UnavailableError, UsageError
from orchestrator.keys.messages import failure, message
from orchestrator.keys.strict_yaml import shipped
from tests.sources import MODULES, nodes

WORDS = shipped("orchestrator", "messages.yaml")


def called(call: ast.Call) -> str:
    """`message`, also where it is called as `messages.message`."""
    return ast.unparse(call.func).removeprefix("messages.")


def calls_of(*names: str) -> list[ast.Call]:
    every = [
        node for file in MODULES for node in nodes(file) if isinstance(node, ast.Call)
    ]
    return [call for call in every if called(call) in names]


CALLS = calls_of("failure", "message")


def names_of(call: ast.Call) -> list[str]:
    """The names that a call may say: several where a condition chooses."""
    name = call.args[-1]
    chosen = [name.body, name.orelse] if isinstance(name, ast.IfExp) else [name]
    assert all(isinstance(each, ast.Constant) for each in chosen), f"line {call.lineno}"
    return [str(each.value) for each in chosen if isinstance(each, ast.Constant)]


def braces(name: str) -> set[str]:
    """The names that the words of a message have in braces."""
    said = WORDS[name]
    texts = [said] if isinstance(said, str) else list(said.values())
    return {field.split(".")[0] for text in texts for field in fields(text)}


def fields(text: str) -> Iterator[str]:
    """All of them, those in what is said of another too (`units.Words`)."""
    for _, field, spec, _ in Formatter().parse(text):
        if field:
            yield field
            yield from fields(spec or "")


def test_errors_say_what_was_wrong_and_what_to_do() -> None:
    of_errors = [tuple(said) for said in WORDS.values() if not isinstance(said, str)]
    assert set(of_errors) == {("what", "advice")}


def test_each_is_said_somewhere() -> None:
    assert {name for call in CALLS for name in names_of(call)} <= set(WORDS)


def test_a_text_is_no_error_with_advice() -> None:
    of_errors = {name for name, said in WORDS.items() if not isinstance(said, str)}
    texts = [call for call in CALLS if called(call) == "message"]
    assert not of_errors & {name for call in texts for name in names_of(call)}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: ", ".join(names_of(call)))
def test_each_is_given_what_stands_in_its_braces(call: ast.Call) -> None:
    given = {keyword.arg for keyword in call.keywords} - {"evidence"}
    for name in names_of(call):
        if None in given:  # a mapping has the others
            assert given - {None} <= braces(name)
        else:
            assert given == braces(name)


def test_the_error_has_words_advice_and_evidence() -> None:
    error = failure(UsageError, "no directory", path="/data")
    assert type(error) is UsageError
    assert error.what == str(error) == "/data is not a directory"
    assert (
        error.advice == "mount the disk there first, or correct the path in the profile"
    )
    assert failure(LoadError, "connection lost", evidence="a line").evidence == "a line"


def test_advice_may_be_missing() -> None:
    error = failure(LoadError, "not all ready", within_s=60.0)
    assert (error.what, error.advice) == (
        "not all clients were ready to begin within 60 s",
        "",
    )


def test_values_may_be_asked_for_their_parts() -> None:
    reason = PermissionError(13, "Permission denied")
    error = failure(UnavailableError, "password file not read", path="/p", error=reason)
    assert error.what == "the password file /p cannot be read: Permission denied"


def test_a_text_is_filled_in() -> None:
    said = message("low limits of processes", short="nofile 1024")
    assert "YugabyteDB's processes (nofile 1024): many" in said
