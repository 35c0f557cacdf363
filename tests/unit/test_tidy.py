"""The written rules of the code, kept by a test: import levels, owners of outside things, sizes.

Goal: a newcomer may rely on them. Method: the syntax tree of every module. Each message says what
to do about it.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "orchestrator"
MODULES = sorted(PACKAGE.rglob("*.py"))

WORDS, THOUGHT, HANDS, PARTS, FLOW, PAGE, TOP = range(7)
LEVELS = {
    "errors": WORDS,
    "model": WORDS,
    "metrics": WORDS,
    "protocols": WORDS,
    "units": WORDS,
    "strict_yaml": THOUGHT,
    "profiles": THOUGHT,
    "tier_catalog": THOUGHT,
    "plan": THOUGHT,
    "matrix": THOUGHT,
    "frames": THOUGHT,
    "stats": THOUGHT,
    "verdicts": THOUGHT,
    "attribution": THOUGHT,
    "decision": THOUGHT,
    "doubts": THOUGHT,
    "doubts_of_runs": THOUGHT,
    "evidence": THOUGHT,
    "likeness": THOUGHT,
    "transactions": THOUGHT,
    "clock": HANDS,
    "shell": HANDS,
    "sql": HANDS,
    "web": HANDS,
    "containers": HANDS,
    "store": HANDS,
    "host": HANDS,
    "console": HANDS,
    "catalogue": HANDS,
    "consistency": PARTS,
    "images": PARTS,
    "provision": PARTS,
    "doctor": PARTS,
    "telemetry": PARTS,
    "tiers": PARTS,
    "databases": PARTS,
    "loadgens": PARTS,
    "collectors": PARTS,
    "datasets": FLOW,
    "experiment": FLOW,
    "gates": FLOW,
    "report": PAGE,
    "campaign": TOP,
    "cli": TOP,
    "cli_check": TOP,
    "cli_tiers": TOP,
    "__main__": TOP,
    "__init__": TOP,
}
OWNERS = {
    "subprocess": {"shell"},
    "docker": {"containers"},
    "psycopg": {"sql"},
    "urllib": {"web"},
    "time": {"clock", "shell", "console"},
    "yaml": {"strict_yaml"},
    "altair": {"report"},
    "jinja2": {"report", "loadgens"},
    "typer": {"cli", "cli_tiers", "cli_check"},
}
MAX_FUNCTION_LINES, MAX_MODULE_LINES = 70, 350
LONGER = {"model.py": 430}  # all nouns in one file is the point of it
BANNED_NAMES = re.compile(r"manager|helper|util|handler", re.IGNORECASE)


def top_name(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> list[tuple[str, int]]:
    """Every imported module (dotted) with its line."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "orchestrator":
            found += [(f"orchestrator.{alias.name}", node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, node.lineno))
    return found


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_point_down(file: Path) -> None:
    level = LEVELS[top_name(file)]
    for name, line in imports(file):
        parts = name.split(".")
        if parts[0] != "orchestrator" or len(parts) < 2 or parts[1] not in LEVELS:
            continue
        below = LEVELS[parts[1]]
        here = f"{file.name}:{line} imports {name}"
        if parts[1] == top_name(file):
            continue
        assert below <= level, f"{here}, which is above it: move what it needs down, or pass it in"
        if level == PAGE:
            assert below <= THOUGHT, f"{here}: the page is made from words and thought alone"
        if level == THOUGHT:
            assert below <= THOUGHT, f"{here}: thought is pure"


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_outside_things_have_one_owner(file: Path) -> None:
    for name, line in imports(file):
        owners = OWNERS.get(name.split(".")[0])
        assert owners is None or top_name(file) in owners, (
            f"{file.name}:{line} imports {name}, which only {', '.join(sorted(owners or ()))} may: "
            "ask its owner for what you need"
        )


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_sizes_docstrings_and_names(file: Path) -> None:
    text = file.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), f"{file.name}: say in a docstring what the module is for"
    lines = len(text.splitlines())
    most = LONGER.get(file.name, MAX_MODULE_LINES)
    assert lines <= most, f"{file.name} has {lines} lines: is it still one idea?"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert not BANNED_NAMES.search(node.name), f"{file.name}: {node.name}: say what it does"
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, (
                f"{file.name}:{node.lineno} {node.name} has {length} lines: split it"
            )


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_docker_folder_holds_no_python() -> None:
    found = list((ROOT / "docker").rglob("*.py"))
    assert not found, f"{found}: a Python file in docker/ shadows docker-py"


def test_protected_names_are_not_used() -> None:
    """The benchmark's mark is for audited results; "tpmC" may only be named to say that."""
    for file in tracked_files():
        inside = file.relative_to(ROOT).parts[0]
        if inside in {"orchestrator", "workloads", "profiles", "docker"} and file.is_file():
            text = file.read_text(errors="replace")
            assert "tpmC" not in text, f"{file}: the metric is NOPM"
            assert "TPC-C result" not in text, f"{file}: say TPC-C-derived"


def test_makefile_targets_are_documented() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    for target in phony[1].split():
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), f"{target} has no comment"
