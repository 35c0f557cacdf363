"""Runs tests against mistakes, each in a forked process: the sources stay as they are.

A mistake in a function is made by giving the function other code, in a process that has imported
all tests already. One that is made while a module is imported needs an import of its own.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import os
import resource
import select
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import ROOT
from tests.bench import executed_blocks
from tests.bench.executed_blocks import FAST, PACKAGE
from tests.bench.mutant_sources import Mutant, tree_of

# A mistake may be slow before it is endless: a test has ten times its CPU time, and at least this.
LEAST_CPU_S = 15.0
# Without an answer for so long, it waits for what never comes.
MOST_SILENT_S = 300.0
OUTSIDE: tuple[str, ...] = (
    "cryptography.x509",
    "docker",
    "jinja2",
    "numpy",
    "pandas",
    "psycopg",
    "pyarrow.parquet",
    "pydantic",
    "rich.table",
    "scipy.stats",
    "typer",
    "yaml",
)


@dataclass(frozen=True)
class Trial:
    """A mistake, and the tests that may find it: those tried first stand first. `cpu_s`: what each
    took without it. `is_while_imported`: it acts while modules are imported."""

    mutant: Mutant
    tests: list[str]
    cpu_s: dict[str, float]
    is_while_imported: bool


@dataclass(frozen=True)
class Outcome:
    """`killer`: the test that failed; nothing if none did. `how`: as "fails" or "endless"."""

    killer: str = ""
    how: str = ""


@dataclass
class Verdicts:
    """What tests say, each in a process of its own. `unsound` fail without a mistake too."""

    sound: set[str] = field(default_factory=set)
    unsound: set[str] = field(default_factory=set)

    def of(
        self,
        trial: Trial,
        run: Callable[[Trial, list[str]], Outcome],
        run_without: Callable[[Trial, list[str]], Outcome],
    ) -> Outcome:
        """`run` tries tests with the mistake, `run_without` as the sources are."""
        while True:
            tests = [test for test in trial.tests if test not in self.unsound]
            if not tests:
                return Outcome()
            outcome = run(trial, tests)
            killer = outcome.killer
            if not killer:
                return outcome
            if killer not in trial.cpu_s:
                return self._of_import(trial, tests, outcome, run_without)
            # One that fails because of those before it must not count.
            if (
                self._is_sound(trial, killer, run_without)
                and run(trial, [killer]).killer
            ):
                return outcome
            self.unsound.add(killer)

    def _of_import(
        self,
        trial: Trial,
        tests: list[str],
        outcome: Outcome,
        run_without: Callable[[Trial, list[str]], Outcome],
    ) -> Outcome:
        """Nothing can be imported with the mistake. It is not found if without it neither can."""
        if run_without(trial, tests[:1]).killer:
            return Outcome()
        return outcome

    def _is_sound(
        self,
        trial: Trial,
        test: str,
        run_without: Callable[[Trial, list[str]], Outcome],
    ) -> bool:
        if test not in self.sound and not run_without(trial, [test]).killer:
            self.sound.add(test)
        return test in self.sound


class _Teller:
    """A plugin of the child: tells which test begins and which one fails."""

    def __init__(self, pipe: int, trial: Trial) -> None:
        self.pipe = pipe
        self.trial = trial
        self.failed = ""

    def tell(self, word: str, test: str) -> None:
        os.write(self.pipe, f"{word} {test}\n".encode())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tell("begin", nodeid)
        most_s = max(LEAST_CPU_S, 10 * self.trial.cpu_s.get(nodeid, 0.0))
        spent_s = time.process_time()
        limit = int(spent_s + most_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid
            self.tell("failed", report.nodeid)


def forked(trial: Trial, work: Callable[[_Teller], None]) -> Outcome:
    """`work` in a child, which ends with it."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _work_to_the_end(work, _Teller(writing, trial))
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        text = _told_by(child, pipe.fileno())
    _, status = os.waitpid(child, 0)
    return _outcome(text.decode(), status)


def _work_to_the_end(work: Callable[[_Teller], None], teller: _Teller) -> None:
    """Nothing of the parent's is closed or flushed by the child."""
    code = 1
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        work(teller)
        code = 0
    finally:
        os._exit(code)


def _told_by(child: int, pipe: int) -> bytes:
    text = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], MOST_SILENT_S)
        if not ready:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            return text
        part = os.read(pipe, 65536)
        if not part:
            return text
        text += part


def _outcome(text: str, status: int) -> Outcome:
    last = ""
    for line in text.splitlines():
        word, _, test = line.partition(" ")
        if word == "failed":
            return Outcome(test, "fails")
        last = test
    if os.WIFSIGNALED(status):
        return Outcome(last, "endless")
    if os.WEXITSTATUS(status):
        return Outcome(last or "while it is imported", "fails")
    return Outcome()


def functions_by_place() -> dict[tuple[str, int], list[types.FunctionType]]:
    """The package's functions, by file and first line."""
    functions: defaultdict[tuple[str, int], list[types.FunctionType]] = defaultdict(
        list
    )
    gc.unfreeze()
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType):
            code = found.__code__
            functions[code.co_filename, code.co_firstlineno].append(found)
    return functions


def code_of(mutant: Mutant) -> types.CodeType:
    """The code of the outermost function that has the mistake."""
    file = str(ROOT / mutant.module)
    name = mutant.within.split(".")
    for code in _codes(compile(tree_of(mutant), file, "exec", dont_inherit=True)):
        if code.co_firstlineno == mutant.function and code.co_name in name:
            return code
    raise LookupError(f"{mutant.module}:{mutant.function}")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


class InFunctions:
    """A plugin: instead of running what is collected, tries each mistake, and tells the outcome."""

    def __init__(
        self, trials: list[Trial], tell: Callable[[Trial, Outcome], None]
    ) -> None:
        self.trials = trials
        self.tell = tell
        self.verdicts = Verdicts()
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[tuple[str, int], list[types.FunctionType]] = {}
        self.listener: _Teller | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        executed_blocks.same_each_time(config)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.listener is not None:
            self.listener.pytest_runtest_logstart(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.listener is not None:
            self.listener.pytest_runtest_logreport(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self.items[item.nodeid] = item
        for trial in self.trials:
            module = Path(trial.mutant.module).with_suffix("")
            importlib.import_module(".".join(module.parts))
        self.functions = functions_by_place()
        gc.collect()
        gc.freeze()
        for trial in self.trials:
            outcome = self.verdicts.of(trial, self.run, self.run_without)
            self.tell(trial, outcome)
        return True

    def run(self, trial: Trial, tests: list[str]) -> Outcome:
        code = code_of(trial.mutant)
        file = str(ROOT / trial.mutant.module)
        functions = self.functions.get((file, trial.mutant.function), [])
        names = [one for one in functions if one.__code__.co_name == code.co_name]
        if not names:
            raise LookupError(f"nobody has loaded {trial.mutant}")

        def work(teller: _Teller) -> None:
            for function in names:
                function.__code__ = code
            self._run_tests(teller, tests)

        return forked(trial, work)

    def run_without(self, trial: Trial, tests: list[str]) -> Outcome:
        return forked(trial, lambda teller: self._run_tests(teller, tests))

    def _run_tests(self, teller: _Teller, tests: list[str]) -> None:
        self.listener = teller
        # It writes where the parent's goes.
        plugins = next(iter(self.items.values())).config.pluginmanager
        plugins.unregister(name="terminalreporter")
        executed_blocks.clear_caches()
        items = [self.items[test] for test in tests if test in self.items]
        following: list[pytest.Item | None] = [*items[1:], None]
        for item, next_item in zip(items, following, strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            if teller.failed:
                return


class MistakenLoader(importlib.machinery.SourceFileLoader):
    tree: ast.Module

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(
            self.tree, self.get_filename(fullname), "exec", dont_inherit=True
        )


class MistakenFinder(importlib.abc.MetaPathFinder):
    """Finds the module with the mistake instead of the one in the repository."""

    def __init__(self, mutant: Mutant) -> None:
        parts = Path(mutant.module).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        self.name = ".".join(parts)
        self.tree = tree_of(mutant)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return spec
        loader = MistakenLoader(fullname, spec.origin)
        loader.tree = self.tree
        spec.loader = loader
        return spec


WORDS = [
    "-q",
    "-x",
    "-p",
    "no:xdist",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:rerunfailures",
]
WORDS += ["-m", FAST]


def _words(folder: Path) -> list[str]:
    """`folder`: for what tests write; each child begins with an empty one."""
    return [*WORDS, f"--basetemp={folder}"]


def _run_by_import(
    trial: Trial, tests: list[str], folder: Path, *, mistaken: bool
) -> Outcome:
    def work(teller: _Teller) -> None:
        if mistaken:
            sys.meta_path.insert(0, MistakenFinder(trial.mutant))
        plugins = [teller, _Steady()]
        code = pytest.main([*_words(folder), *tests], plugins)
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise SystemExit(1)

    return forked(trial, work)


class _Steady:
    def pytest_configure(self, config: pytest.Config) -> None:
        executed_blocks.same_each_time(config)


def try_while_imported(
    trials: list[Trial], folder: Path, tell: Callable[[Trial, Outcome], None]
) -> None:
    """Mistakes that are made while a module is imported."""
    for name in OUTSIDE:
        importlib.import_module(name)
    if PACKAGE in sys.modules:
        raise RuntimeError("the package must be imported by each child anew")
    verdicts = Verdicts()
    for trial in trials:
        outcome = verdicts.of(
            trial,
            lambda trial, tests: _run_by_import(trial, tests, folder, mistaken=True),
            lambda trial, tests: _run_by_import(trial, tests, folder, mistaken=False),
        )
        tell(trial, outcome)


def try_in_functions(
    trials: list[Trial], folder: Path, tell: Callable[[Trial, Outcome], None]
) -> None:
    """Mistakes in functions: all tests are imported once."""
    files: list[str] = []
    for trial in trials:
        for test in trial.tests:
            file = test.partition("::")[0]
            if file not in files:
                files.append(file)
    if files:
        pytest.main([*_words(folder), *files], [InFunctions(trials, tell)])
