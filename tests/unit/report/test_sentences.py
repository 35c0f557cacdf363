"""How long sentences are that a user may see: about 18 words, as a reader takes them at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT, sources

MOST_WORDS = 18
# Longer ones that there are. A figure may only fall. The one of YugabyteDB's flags is of a shell.
LONGER = {"databases/yugabytedb/flags.py": 1}
_END = re.compile(r"(?<=[.!?:;])\s+")
_WORD = re.compile(r"[\w'`–-]+")


def _texts(file: Path) -> Iterator[str]:
    """All strings of a module but its docstrings; a value in one counts as a word."""
    nodes = sources.nodes(file)
    skipped: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Expr):
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part is not node}
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(_part(part) for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "X"


def _longer(file: Path) -> list[str]:
    found: list[str] = []
    for text in _texts(file):
        if "<svg" in text:
            continue
        for sentence in _END.split(text):
            if len(_WORD.findall(sentence)) > MOST_WORDS:
                found.append(sentence)
    return found


def test_a_sentence_has_18_words_at_most_or_is_one_of_those_that_are_left() -> None:
    longer: dict[str, list[str]] = {}
    for file in sources.MODULES:
        sentences = _longer(file)
        if sentences:
            longer[file.relative_to(sources.PACKAGE).as_posix()] = sentences
    counts = {name: len(sentences) for name, sentences in longer.items()}
    assert counts == LONGER, longer


def test_no_rate_of_a_report_leaves_open_what_is_counted() -> None:
    """What users wrote themselves, such as an SLO, stands as they wrote it."""
    for file in (ROOT / "tests/golden/report").glob("*.md"):
        text = re.sub(r"`[^`]*`", "", file.read_text(encoding="utf-8"))
        assert re.findall(r"\d/s\b.*", text) == [], file.name
