"""What the report explains beside its figures, and how it calls things: the texts of prose.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from orchestrator.keys.strict_yaml import parse


def said(name: str, **values: object) -> str:
    """The text `name` (section, then what it is about), with these values in its braces."""
    return str(_texts()[name]).format(**values)


def words(name: str) -> Mapping[str, str]:
    """Of a table of words: what the program calls something → what a reader does."""
    return dict(_texts()[name])


@cache
def _texts() -> dict[str, Any]:
    file = resources.files(__package__) / "prose.yaml"
    return parse(file.name, file.read_text(encoding="utf-8"))
