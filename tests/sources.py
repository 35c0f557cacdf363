"""The package's own source, for tests that read it: every file is read and parsed once."""

from __future__ import annotations

import ast
import gc
import subprocess
from functools import cache
from pathlib import Path

from tests import ROOT

PACKAGE = ROOT / "orchestrator"
MODULES = tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree(file: Path) -> ast.Module:
    """The syntax tree of `file`. Not to be changed."""
    text = file.read_text()
    was_on = gc.isenabled()
    # Trees stay. Looking for garbage in all of them again and again took two fifths of the time.
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Every node of that tree."""
    return tuple(ast.walk(tree(file)))


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]
