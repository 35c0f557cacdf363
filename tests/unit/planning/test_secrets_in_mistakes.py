"""What is wrong with the value of a key that is named as a secret is said without the value.

Method: values of a wrong kind, in a profile and in options, as the console would show the mistake.
"""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BeforeValidator

from orchestrator import units
from orchestrator.errors import KeyPlace, UsageError
from orchestrator.keys import strict_records, yaml_text
from orchestrator.planning import overrides, project_files
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.system.redaction import hidden
from tests import ROOT
from tests.plans import CLUSTER

CATALOG = project_files.catalog(ROOT)
PROFILE = """
question: why?
title: theirs
SECRET
tier: {enforcement: existing}
cluster:
  database: existing
  replication_factor: 1
  existing:
    hosts: a.example
    SECRET
"""
PARTS = ("Hunter", "2Xy", "98765", "13-45")


def shown(error: UsageError) -> str:
    """As the console has it."""
    lines: list[str] = []
    for mistake in error.mistakes:
        lines.append(hidden(f"{mistake.where}: {mistake.what}"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "value",
    [
        "{a: Hunter 2Xy}",
        "[Hunter, 98765]",
        "2026-13-45",
        "!Hunter2Xy",
        "!!int Hunter2Xy",
        "*Hunter2Xy",
        "Hunter 2Xy",
        ".inf",
    ],
)
@pytest.mark.parametrize("key", ["password", "api_key", "db-passwd"])
def test_a_secret_in_a_profile(key: str, value: str) -> None:
    text = PROFILE.replace("SECRET", f"{key}: {value}")
    with pytest.raises(UsageError) as raised:
        read_profile("x", text, Nameable({"small": CLUSTER}, CATALOG), "smoke")
    assert not [part for part in PARTS if part in shown(raised.value)]


class _Secrets(strict_records.Strict):
    password: Annotated[int, BeforeValidator(units.parse_bytes)] = 0
    token: Annotated[str, BeforeValidator(units.as_text)] = ""


@pytest.mark.parametrize(
    ("content", "remains"),
    [
        # The unit that is not known is a part of the value, whatever word stands before it.
        ({"password": "7 Hunter"}, "password: this value cannot be taken"),
        ({"password": "2Xy,"}, "password: expected a quantity such as 10GiB"),
        ({"token": ["Hunter"]}, "token: expected text"),
    ],
)
def test_a_secret_is_not_in_what_is_expected(
    content: dict[str, object], remains: str
) -> None:
    with pytest.raises(UsageError) as raised:
        strict_records.validate(_Secrets, KeyPlace("x.yaml"), content)
    (mistake,) = raised.value.mistakes
    assert f"{mistake.where}: {mistake.what}" == f"x.yaml: {remains}"


@pytest.mark.parametrize(
    ("mistake", "stays"),
    [
        ("cluster.existing.password: expected text", "expected text"),
        ("tierbench.yaml:1: token: unknown option 'token'", "unknown option"),
        ("cluster.token: unknown key: did you mean user?", "unknown key"),
    ],
)
def test_what_is_wrong_is_said(mistake: str, stays: str) -> None:
    assert stays in hidden(mistake)


@pytest.mark.parametrize(
    "text",
    [
        "password=Hunter 2Xy 98765",
        "insert.token=Hunter 2Xy",
        "password='Hunter",
        "api_key=2026-13-45",
        "threads={password: Hunter 2Xy}",
        "threads=[{token: Hunter 2Xy}, 12]",
    ],
)
def test_a_secret_that_was_set(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        project_files.read(
            ROOT,
            ["premium"],
            ["insert"],
            "smoke",
            given=overrides.read([text], ["insert"], "smoke", lambda *_: {}),
        )
    assert not [part for part in PARTS if part in shown(raised.value)]
    assert text.partition("=")[0] in shown(raised.value)


def test_a_password_of_digits_is_read_as_it_was_written() -> None:
    text = "password: 0123\ntoken: 2026-11-29\nthreads: 0x10"
    read = yaml_text.parse("x.yaml", text)
    assert read == {"password": "0123", "token": "2026-11-29", "threads": 16}


def test_whether_there_is_a_secret_is_no_secret() -> None:
    text = "automountServiceAccountToken: false\npassword: null"
    read = yaml_text.parse("x.yaml", text)
    assert read == {"automountServiceAccountToken": False, "password": None}
