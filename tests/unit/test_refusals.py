"""Refusals in words (refusals.yaml): each is made somewhere, with the values in its braces."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest

from orchestrator.keys.strict_yaml import refusal, shipped
from tests.sources import MODULES, PACKAGE, nodes

FOLDERS = sorted(file.parent.relative_to(PACKAGE.parent) for file in PACKAGE.rglob("refusals.yaml"))


def made(folder: Path) -> dict[str, set[str]]:
    """Case → the names of the values that the modules of a package give it; `**`: of a mapping."""
    values: dict[str, set[str]] = {}
    for file in (file for file in MODULES if file.parent == PACKAGE.parent / folder):
        for node in nodes(file):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "refusal":
                case = ast.literal_eval(node.args[1])
                values.setdefault(case, set()).update(kw.arg or "**" for kw in node.keywords)
    return values


def wanted(texts: dict[str, str]) -> set[str]:
    """The values in the braces of one case."""
    fields = (field for text in texts.values() for _, field, _, _ in Formatter().parse(text))
    return {field.partition(".")[0] for field in fields if field is not None}


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_each_is_made_with_its_values(folder: Path) -> None:
    cases, given = shipped(".".join(folder.parts), "refusals.yaml"), made(folder)
    assert cases.keys() == given.keys()
    for case, texts in cases.items():
        assert {"what"} <= texts.keys() <= {"what", "advice"}, case
        if "**" in given[case]:
            assert given[case] - {"**"} <= wanted(texts), case
        else:
            assert given[case] == wanted(texts), case


def test_one_without_advice() -> None:
    what, advice = refusal("orchestrator.tiers.common.real", "no path", tier="premium")
    assert what.startswith("premium: give `disks`")
    assert advice == ""
