"""The written rules of the code in Lua, C and shell, kept by their lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests import ROOT
from tests.sources import MODULES, nodes, tracked_files

MAX_COLUMNS = 100
# How a file of each language begins: by saying what it is for.
C = r"/\*"
LUA = r"-- "
SHELL = r"#!(/usr/bin/env bash|/bin/sh)\n# "
HEADERS = {".c": C, ".h": C, ".lua": LUA, ".sh": SHELL}


def header_of(file: Path) -> str | None:
    """By the ending; a file without one is shell if its first line says so."""
    if file.suffix or not file.is_file():
        return HEADERS.get(file.suffix)
    first, *_ = file.read_text(errors="replace").splitlines() or [""]
    return SHELL if re.match(r"#!.*sh\b", first) else None


# Function of the package → where the file lies whose name it is given.
FILES = {"script": "scripts/{}.sh", "query": "sql/{}.sql"}
OTHERS = [file for file in tracked_files() if header_of(file)]


def test_files_say_above_what_they_are_for() -> None:
    silent: list[str] = []
    for file in OTHERS:
        header = header_of(file)
        if not header or not re.match(header, file.read_text()):
            silent.append(str(file.relative_to(ROOT)))
    assert silent == []


def test_lines_fit_in_100_columns() -> None:
    wide: list[str] = []
    for file in OTHERS:
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if len(line) > MAX_COLUMNS:
                place = f"{file.relative_to(ROOT)}:{number}"
                wide.append(f"{place} has {len(line)} columns")
    assert wide == [], "wrap them"


def scripts_and_queries() -> Iterator[tuple[Path, str]]:
    """Each file that a module names, with the folder of the module's package."""
    for file in MODULES:
        # Most modules name no file of their package.
        if "__package__" not in file.read_text():
            continue
        for node in nodes(file):
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            kind = ast.unparse(node.func).rpartition(".")[2]
            if kind not in FILES or ast.unparse(node.args[0]) != "__package__":
                continue
            if isinstance(node.args[1], ast.Constant):
                yield file.parent / FILES[kind].format(node.args[1].value), file.name


def test_scripts_and_queries_that_are_named_are_there() -> None:
    """A file that is read by name is found out only where it is needed, in a container."""
    named = list(scripts_and_queries())
    assert len(named) > 25
    assert [str(path) for path, _ in named if not path.is_file()] == []
