"""The written rules of the code in Lua, C and shell, kept by their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ROOT
from tests.sources import tracked_files

MAX_FILE_LINES = 350


@dataclass(frozen=True)
class Language:
    """How a file begins, and how functions begin and end: with lines that are indented alike."""

    header: str
    begin: str
    end: str


C = Language(r"/\*", r"\{$", r"\}$")
LUA = Language(r"-- ", r"(local function|function|return function|\w+\.main\(function).*\)$", "end")
SHELL = Language(r"#!/usr/bin/env bash\n# ", r"\w+\(\) \{( #.*)?$", r"\}$")
LANGUAGES = {".c": C, ".h": C, ".lua": LUA, ".sh": SHELL}
MAX_LINE, MAX_OTHER_FUNCTION_LINES = 100, 60


def language_of(file: Path) -> Language | None:
    """By the ending; a file without one is shell if its first line says so."""
    if file.suffix or not file.is_file():
        return LANGUAGES.get(file.suffix)
    first, *_ = file.read_text(errors="replace").splitlines() or [""]
    return SHELL if re.match(r"#!.*sh\b", first) else None


def functions(language: Language, lines: list[str]) -> Iterator[tuple[int, int]]:
    """(line number, lines) of every function; those inside of another are parts of it only."""
    begun, indent = None, ""
    for number, line in enumerate(lines, 1):
        if begun is None and (found := re.match(f"( *){language.begin}", line)):
            begun, indent = number, found[1]
        elif begun is not None and re.match(f"{indent}{language.end}", line):
            yield begun, number - begun + 1
            begun = None


OTHERS = [file for file in tracked_files() if language_of(file)]


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: str(file.relative_to(ROOT)))
def test_other_languages_keep_the_same_law(file: Path) -> None:
    language, text = language_of(file), file.read_text()
    lines = text.splitlines()
    assert language and re.match(language.header, text), f"{file}: say above what the file is for"
    assert len(lines) <= MAX_FILE_LINES, f"{file} has {len(lines)} lines: is it still one idea?"
    for number, line in enumerate(lines, 1):
        assert len(line) <= MAX_LINE, f"{file}:{number} has {len(line)} columns: wrap it"
    for number, length in functions(language, lines):
        assert length <= MAX_OTHER_FUNCTION_LINES, f"{file}:{number} has {length} lines: split it"


def test_functions_of_other_languages_are_seen() -> None:
    lua = ["local function one()", "   return 1", "end", "function a.b(c) return c end", "end"]
    assert list(functions(LUA, lua)) == [(1, 3)]
    assert list(functions(C, ["int main(void)", "{", "    if (1) {", "    }", "}"])) == [(2, 4)]
    assert list(functions(SHELL, ["one() { # A", "    true", "}", "two"])) == [(1, 3)]
