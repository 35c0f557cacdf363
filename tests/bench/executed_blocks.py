"""Which blocks of the package each fast test executes: a pytest plugin, and its records.

A block is a run of statements of a function that is left at its end only. While a module is
imported, a mark is put at the start of each of its blocks, which costs a tenth of what a tracer
costs. Each file of tests has one record; it holds until that file, or a module that it executes,
changes. What a test executes in a process that it starts is not seen.
"""

from __future__ import annotations

import ast
import functools
import gzip
import hashlib
import importlib.abc
import importlib.machinery
import json
import mmap
import os
import re
import sys
import types
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import CACHE, ROOT

PACKAGE = "orchestrator"
# In a copy of the sources they are those of the repository.
RECORDS_VARIABLE = "TIERBENCH_MUTANTS"
RECORDS = Path(os.environ.get(RECORDS_VARIABLE) or CACHE / "mutants")
FAST = "not docker and not kubernetes and not slow"
MARKS = "_executed_marks"
MOST_BLOCKS = 1 << 18
_SET = re.compile(rb"[^\0]")

# Lines at which blocks begin, by module: `orchestrator/units.py` → {12, 30}.
Blocks = dict[str, list[int]]


class Marking(ast.NodeTransformer):
    """Puts a mark at the start of each block of each function.

    `lines`: where the blocks begin; the first has the mark of number `first`. `block_of`: where the
    block of a statement begins.
    """

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.lines: list[int] = []
        self.block_of: dict[ast.stmt, int] = {}
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.depth += 1
        node.body = self._marked(node.body)
        self.depth -= 1
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for value in vars(node).values():
            if not isinstance(value, list) or not value:
                continue
            if isinstance(value[0], ast.stmt) and self.depth:
                value[:] = self._marked(value)
            else:
                for child in value:
                    if isinstance(child, ast.AST):
                        self.visit(child)
        return node

    def _marked(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """What follows a compound statement is a block of its own: that may leave the function."""
        marked: list[ast.stmt] = []
        block = 0
        is_first = True
        for statement in statements:
            if is_first and not _is_text(statement):
                marked.append(self._mark(statement))
                block = statement.lineno
                is_first = False
            if block:
                self.block_of[statement] = block
            self.visit(statement)
            marked.append(statement)
            if not is_first:
                is_first = hasattr(statement, "body")
        return marked

    def _mark(self, statement: ast.stmt) -> ast.stmt:
        number = self.first + len(self.lines)
        self.lines.append(statement.lineno)
        mark = ast.parse(f"{MARKS}[{number}] = 1").body[0]
        for node in ast.walk(mark):
            ast.copy_location(node, statement)
        return mark


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


class Marks:
    """Which blocks were executed since the marks were taken the last time."""

    def __init__(self) -> None:
        # Shared, so that forked children set them too.
        self.set = mmap.mmap(-1, MOST_BLOCKS)
        self.places: list[tuple[str, int]] = []

    def source(self, module: str, text: bytes) -> ast.Module:
        """The module with marks."""
        tree = ast.parse(text)
        marking = Marking(len(self.places))
        marking.visit(tree)
        self.places += [(module, line) for line in marking.lines]
        return tree

    def take(self) -> list[int]:
        """The numbers of those set, which are cleared."""
        text = self.set[: len(self.places)]
        self.set[: len(self.places)] = bytes(len(self.places))
        return [match.start() for match in _SET.finditer(text)]

    def give(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.set[number] = 1

    def blocks(self, numbers: Iterable[int]) -> Blocks:
        blocks: Blocks = defaultdict(list)
        for number in numbers:
            module, line = self.places[number]
            blocks[module].append(line)
        return dict(blocks)


class MarkingLoader(importlib.machinery.SourceFileLoader):
    marks: Marks

    def get_code(self, fullname: str) -> types.CodeType:
        """Compiled anew: what Python keeps beside the sources has no marks."""
        file = Path(self.get_filename(fullname))
        tree = self.marks.source(str(file.relative_to(ROOT)), file.read_bytes())
        return compile(tree, str(file), "exec", dont_inherit=True)

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module)[MARKS] = self.marks.set
        super().exec_module(module)


class MarkingFinder(importlib.abc.MetaPathFinder):
    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return spec
        loader = MarkingLoader(fullname, spec.origin)
        loader.marks = self.marks
        spec.loader = loader
        return spec


@dataclass
class TestRecord:
    """`cpu_s` counts its children too; `passed` is false of one that was skipped."""

    __test__ = False
    cpu_s: float
    passed: bool
    blocks: Blocks


@dataclass
class FileRecord:
    """What the tests of a file execute.

    `sources`: checksums of that file and of the modules that it executes; `shared`: the blocks of
    fixtures that several of its tests share; `collected`: those that run while files are imported.
    """

    tests: dict[str, TestRecord] = field(default_factory=dict)
    shared: Blocks = field(default_factory=dict)
    collected: Blocks = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)


def checksum(file: Path) -> str:
    if not file.is_file():
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def record_file(test_file: str) -> Path:
    return RECORDS / (test_file.replace("/", "+") + ".json.gz")


def read(test_file: str) -> FileRecord | None:
    """The record of a file of tests; None if there is none, or it holds no longer."""
    file = record_file(test_file)
    if not file.is_file():
        return None
    stored = json.loads(gzip.decompress(file.read_bytes()))
    for source, value in stored["sources"].items():
        if checksum(ROOT / source) != value:
            return None
    tests: dict[str, TestRecord] = {}
    for name, (cpu_s, passed, number) in stored["tests"].items():
        tests[name] = TestRecord(cpu_s, passed, stored["blocks"][number])
    return FileRecord(tests, stored["shared"], stored["collected"], stored["sources"])


def write(test_file: str, record: FileRecord) -> None:
    """Tests that execute the same, as those of several parameters do, share what is stored."""
    numbers: dict[str, int] = {}
    blocks: list[Blocks] = []
    tests: dict[str, tuple[float, bool, int]] = {}
    modules = {test_file, *record.shared}
    for name, test in record.tests.items():
        text = json.dumps(test.blocks)
        if text not in numbers:
            numbers[text] = len(blocks)
            blocks.append(test.blocks)
        tests[name] = (round(test.cpu_s, 3), test.passed, numbers[text])
        modules.update(test.blocks)
    stored = {
        "sources": {module: checksum(ROOT / module) for module in sorted(modules)},
        "blocks": blocks,
        "tests": tests,
        "shared": record.shared,
        "collected": record.collected,
    }
    file = record_file(test_file)
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_suffix(f".{os.getpid()}")
    half.write_bytes(gzip.compress(json.dumps(stored).encode(), 5))
    half.rename(file)


def cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def clear_caches() -> None:
    """What functions of the package remember: a test that comes first would hide from the others
    what it needed."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in (PACKAGE, "tests"):
            continue
        for value in list(vars(module).values()):
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()


class Recorder:
    """The plugin: one record for each file of tests that has run to its end."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks
        self.collected: Blocks = {}
        self.record = FileRecord()
        self.shared: set[int] = set()
        self.has_failed = False

    def pytest_configure(self, config: pytest.Config) -> None:
        same_each_time(config)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = self.marks.blocks(self.marks.take())
        with_tests = {str(item.path) for item in session.items}
        for name in session.config.args:
            if str(ROOT / name) not in with_tests:
                write(name, FileRecord())

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before = self.marks.take()
        try:
            return (yield)
        finally:
            executed = self.marks.take()
            self.shared.update(executed)
            self.marks.give(before)
            self.marks.give(executed)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        if not self.record.tests:
            clear_caches()
        self.marks.take()
        self.has_failed = False
        began = cpu_s()
        result = yield
        spent = cpu_s() - began
        blocks = self.marks.blocks(self.marks.take())
        self.record.tests[item.nodeid] = TestRecord(spent, not self.has_failed, blocks)
        if nextitem is None or nextitem.path != item.path:
            self.record.shared = self.marks.blocks(sorted(self.shared))
            self.record.collected = self.collected
            write(str(item.path.relative_to(ROOT)), self.record)
            self.record = FileRecord()
            self.shared = set()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.has_failed = True


def same_each_time(config: pytest.Config) -> None:
    """Hypothesis tries the same values each time, and keeps none in the repository. No test is
    tried again: a mark of the plugin that would is read all the same."""
    import hypothesis  # pytest wants to be the first who loads it

    config.addinivalue_line("markers", "flaky: tried again by pytest-rerunfailures")
    hypothesis.settings.register_profile(
        "mutants", database=None, derandomize=True, deadline=None
    )
    hypothesis.settings.load_profile("mutants")


def main(files: list[str]) -> int:
    """Records files of tests, in this process."""
    marks = Marks()
    sys.meta_path.insert(0, MarkingFinder(marks))
    words = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:rerunfailures"]
    return pytest.main([*words, "-m", FAST, *files], [Recorder(marks)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
