"""How many small mistakes the tests of their module find: operators changed by lot, by folder.

One mutant at a time in a copy of the sources: a border, a sign, a constant, `not`, `and` or a
returned value. The tests are those of the folder of the same name whose text names the module. What
no test can see, because it changes nothing, has to be told by reading, and is among those alive.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import ROOT

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NOT_COPIED = shutil.ignore_patterns(".*", "results", "__pycache__")


@dataclass(frozen=True)
class Mutant:
    """`node`: its place among all nodes of the module."""

    module: Path
    node: int


def changed(node: ast.AST) -> bool:
    """Changes a node in place, if it is of a kind that is changed here."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        node.ops[0] = OPERATORS[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        node.op = OPERATORS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value = node.value + 1  # type: ignore[operator]
    elif isinstance(node, ast.Return) and node.value is not None:
        node.value = ast.Constant(None)
    else:
        return False
    return True


def mutants(module: Path) -> Iterator[Mutant]:
    for place, node in enumerate(ast.walk(ast.parse(module.read_text()))):
        if changed(node):
            yield Mutant(module, place)


def text_of(mutant: Mutant) -> tuple[str, int]:
    """The module with its mistake, and the line that has it."""
    tree = ast.parse(mutant.module.read_text())
    node = list(ast.walk(tree))[mutant.node]
    changed(node)
    return ast.unparse(ast.fix_missing_locations(tree)), getattr(node, "lineno", 0)


def tests_of(module: Path) -> list[str]:
    """The unit tests that name it or its package; those of its name first, which most likely find a
    mistake, and those of the package alone last."""
    name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
    package, _, stem = name.rpartition(".")
    ranks: dict[str, int] = {}
    for file in sorted((ROOT / "tests" / "unit").rglob("test_*.py")):
        text = file.read_text()
        if file.stem == f"test_{stem}" and package in text:
            rank = 0
        elif name in text or (package in text and f" {stem}" in text):
            rank = 1
        elif "." in package and package in text:
            rank = 2
        else:
            continue
        ranks[str(file.relative_to(ROOT))] = rank
    return sorted(ranks, key=lambda file: ranks[file])


@dataclass(frozen=True)
class Copy:
    """A copy of the sources in which mistakes are made.

    `most_s`: CPU time of a mutant's tests, so that an endless loop fails on a busy machine too;
    `unsound`: tests that fail without a mistake too, as those that need the repository: left out.
    """

    folder: Path
    most_s: float
    unsound: list[str] = field(default_factory=list)

    def finds(self, mutant: Mutant) -> bool:
        """Whether a test fails with it that passes without it."""
        target = self.folder / mutant.module.relative_to(ROOT)
        sound = target.read_text()
        text, _ = text_of(mutant)
        tests = tests_of(mutant.module)
        while True:
            target.write_text(text)
            failure = self.first_failure(tests)
            target.write_text(sound)
            if not failure or not self.first_failure([failure]):
                return bool(failure)
            if failure in self.unsound:
                raise SystemExit(f"they do not pass as they are: {' '.join(tests)}")
            self.unsound.append(failure)

    def first_failure(self, tests: list[str]) -> str:
        """The first test that fails in the copy; nothing if all of them pass."""
        marks = "not docker and not kubernetes and not slow"
        words = ["prlimit", f"--cpu={self.most_s:.0f}", sys.executable, "-m", "pytest"]
        words += ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", marks]
        words += [f"--deselect={test}" for test in self.unsound]
        done = subprocess.run(
            [*words, *tests],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
        )
        if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return ""
        failed = re.search(
            r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE
        )
        if failed is None:
            return tests[0]
        return failed[1]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folders", nargs="*", default=["orchestrator/planning"])
    asked.add_argument("--count", type=int, default=5, help="mutants of each folder")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument(
        "--most-s", type=float, default=300.0, help="CPU time of a mutant's tests"
    )
    options = asked.parse_args()
    dice = random.Random(options.seed)
    drawn: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="tierbench-mutants-") as folder:
        copy = Copy(Path(folder), options.most_s)
        shutil.copytree(ROOT, folder, ignore=NOT_COPIED, dirs_exist_ok=True)
        for name in options.folders:
            possible: list[Mutant] = []
            for module in sorted((ROOT / name).rglob("*.py")):
                if tests_of(module):
                    possible += mutants(module)
            for mutant in dice.sample(possible, min(options.count, len(possible))):
                drawn[name] += 1
                _, line = text_of(mutant)
                word = "alive"
                if copy.finds(mutant):
                    killed[name] += 1
                    word = "found"
                place = f"{mutant.module.relative_to(ROOT)}:{line}"
                print(f"{word}: {place} (node {mutant.node})", flush=True)
    for name, count in drawn.items():
        print(f"{name}: {killed[name]} of {count} found")


if __name__ == "__main__":
    main()
