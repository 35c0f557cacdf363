"""Which fast tests may find a mistake: those that execute its block, by what was recorded."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests import ROOT
from tests.bench import executed_blocks, mutant_sources
from tests.bench.executed_blocks import Blocks, FileRecord
from tests.bench.mutant_runs import Trial
from tests.bench.mutant_sources import Mutant

# They read the text of the sources, which has no mistake.
OF_FORM = (
    "adding",
    "audit",
    "ci",
    "documents",
    "other_languages",
    "security",
    "tidy",
    "type_checker",
    "writing",
)
NOT_FAST = ("bench", "docker", "integration", "kubernetes")
# Those of a mistake in an import have to import all that they need.
MOST_FILES_IMPORTED = 8


def files() -> list[str]:
    """The files with fast tests of behaviour."""
    found: list[str] = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        name = file.relative_to(ROOT)
        is_of_form = name.parent == Path("tests/unit") and file.stem[5:] in OF_FORM
        if name.parts[1] not in NOT_FAST and not is_of_form:
            found.append(str(name))
    return found


@dataclass
class Candidates:
    """Tests of one file that may find a mistake, with CPU time. `others`: those that execute other
    blocks of the module."""

    file: str
    tests: dict[str, float] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)

    def is_named_for(self, mutant: Mutant) -> bool:
        """Whether it has the name of the module, or of its folder."""
        module = Path(mutant.module)
        return any(
            name in Path(self.file).stem for name in (module.stem, module.parent.name)
        )

    def is_beside(self, mutant: Mutant) -> bool:
        """Whether it is in the folder of tests that has the name of the module's."""
        return Path(self.file).parts[2] == Path(mutant.module).parts[1]


def trials(mutants: list[Mutant], most_s: float) -> list[Trial]:
    """Each mistake with its tests, of at most `most_s` of CPU time; none if nothing executes it."""
    candidates: defaultdict[Mutant, list[Candidates]] = defaultdict(list)
    is_collected: set[Mutant] = set()
    for file in files():
        record = executed_blocks.read(file)
        if record is None:
            continue
        for mutant in mutants:
            if _has(record.collected, mutant):
                is_collected.add(mutant)
            found = _candidates(file, record, mutant)
            if found.tests or found.others:
                candidates[mutant].append(found)
    chosen: list[Trial] = []
    for mutant in mutants:
        in_files = candidates[mutant]
        is_executed = any(found.tests for found in in_files)
        is_while_imported = not mutant.function
        if not is_executed and mutant in is_collected:
            is_while_imported = True
        if is_while_imported:
            in_files = _as_imported(mutant, in_files)
        chosen.append(_trial(mutant, in_files, most_s, is_while_imported))
    return chosen


def _has(blocks: Blocks, mutant: Mutant) -> bool:
    return mutant.block in blocks.get(mutant.module, ())


def _candidates(file: str, record: FileRecord, mutant: Mutant) -> Candidates:
    """What a fixture executes that several tests share is tried with each of them. So is what a
    single test executes: it may be remembered, and the others do without."""
    found = Candidates(file)
    is_shared = _has(record.shared, mutant)
    used_in = set(mutant.used_in)
    for name, test in record.tests.items():
        if not test.passed:
            continue
        executed = test.blocks.get(mutant.module, ())
        is_user = not used_in.isdisjoint(executed)
        if is_shared or is_user or _has(test.blocks, mutant):
            found.tests[name] = test.cpu_s
        elif mutant.module in test.blocks:
            found.others[name] = test.cpu_s
    if len(found.tests) == 1:
        found.tests.update(found.others)
    return found


def _as_imported(mutant: Mutant, in_files: list[Candidates]) -> list[Candidates]:
    """The tests that use what is mistaken first, then all that execute something of the module;
    those of files that name it, if none does."""
    users = [Candidates(found.file, found.tests) for found in in_files if found.tests]
    found_already = {found.file for found in users}
    users += [
        found for found in _that_speak_of(mutant) if found.file not in found_already
    ]
    users.sort(key=lambda found: _order_of_files(mutant, found))
    others: list[Candidates] = []
    for found in in_files:
        if not found.tests:
            others.append(Candidates(found.file, found.others))
    if not users and not others:
        others = _that_name(mutant)
    others.sort(key=lambda found: _order_of_files(mutant, found))
    return [*users, *others][:MOST_FILES_IMPORTED]


def _that_speak_of(mutant: Mutant) -> list[Candidates]:
    """All tests of the files that name the class of a default, and the default: making an object
    executes nothing that could be marked."""
    owner = mutant.within.rpartition(".")[2]
    speaking: list[Candidates] = []
    if not owner[:1].isupper():
        return speaking
    for file in files():
        text = _text_of_file(file)
        if owner not in text or not any(name in text for name in mutant.names):
            continue
        record = executed_blocks.read(file)
        if record is not None:
            passed = {
                name: test.cpu_s for name, test in record.tests.items() if test.passed
            }
            speaking.append(Candidates(file, passed))
    return speaking


def _that_name(mutant: Mutant) -> list[Candidates]:
    """All tests of the files that import it, or import what imports it."""
    names = {_import_name(mutant.module)}
    for module in sorted((ROOT / "orchestrator").rglob("*.py")):
        if _imports(module.read_text(), names):
            names = names | {_import_name(str(module.relative_to(ROOT)))}
    named: list[Candidates] = []
    for file in files():
        record = executed_blocks.read(file)
        if record is None or not _imports((ROOT / file).read_text(), names):
            continue
        tests = {name: test.cpu_s for name, test in record.tests.items() if test.passed}
        named.append(Candidates(file, tests))
    return named


def _import_name(module: str) -> str:
    return ".".join(Path(module).with_suffix("").parts).removesuffix(".__init__")


def _imports(text: str, names: set[str]) -> bool:
    for name in names:
        package, _, stem = name.rpartition(".")
        if name in text or f"from {package} import {stem}" in text:
            return True
    return False


def _order_of_files(mutant: Mutant, found: Candidates) -> tuple[int, bool, float]:
    """Those first that name most of what the mistaken statement names, then those of the module's
    name, then the cheap ones."""
    text = _text_of_file(found.file)
    named = sum(name in text for name in mutant.names)
    return -named, not found.is_named_for(mutant), sum(found.tests.values())


@cache
def _text_of_file(file: str) -> str:
    return (ROOT / file).read_text()


def _trial(
    mutant: Mutant, in_files: list[Candidates], most_s: float, is_while_imported: bool
) -> Trial:
    """Those that speak of it first, and then the cheap ones: these ask for little else. One beside
    the module may cost three times as much."""
    cpu_s: dict[str, float] = {}
    cost: dict[str, float] = {}
    for found in in_files:
        cpu_s.update(found.tests)
        for name, test_s in found.tests.items():
            cost[name] = test_s
            if found.is_beside(mutant):
                cost[name] = test_s / 3
    cheap = sorted(cost, key=cost.__getitem__)
    spoken_of = _spoken_of(mutant, cheap)
    speaking = [name for name in cheap if spoken_of[name]]
    speaking.sort(key=lambda name: -spoken_of[name])
    tests = _within(speaking, cpu_s, most_s / 2)
    spoken = set(tests)
    others = [name for name in cheap if name not in spoken]
    tests += _within(others, cpu_s, most_s / 2)
    return Trial(mutant, tests, cpu_s, is_while_imported)


def _spoken_of(mutant: Mutant, tests: Sequence[str]) -> dict[str, float]:
    """How much each test speaks of a mistake: by the words of its own name, and by the names of
    the mistaken statement that stand in it, of which the rare ones count most."""
    counts: defaultdict[str, int] = defaultdict(int)
    found: dict[str, list[str]] = {}
    for test in tests:
        text = _text_of(test)
        found[test] = [name for name in mutant.names if name in text]
        for name in found[test]:
            counts[name] += 1
    spoken_of: dict[str, float] = {}
    for test in tests:
        rare = sum(len(tests) / counts[name] for name in found[test])
        spoken_of[test] = math.log1p(rare) + _in_common(mutant, test)
    return spoken_of


def _text_of(test: str) -> str:
    """The function of a test, as it is written, with its parameters."""
    file, _, name = test.partition("::")
    return _functions(file).get(name.partition("[")[0].rpartition("::")[2], "")


@cache
def _functions(file: str) -> dict[str, str]:
    text = _text_of_file(file)
    lines = text.splitlines()
    functions: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            begin = mutant_sources.first_line(node) - 1
            functions[node.name] = "\n".join(lines[begin : node.end_lineno])
    return functions


def _in_common(mutant: Mutant, test: str) -> int:
    """How many words the names of the mistaken function and of a test have in common."""
    return len(_words(mutant.within) & _words(test.partition("::")[2]))


def _words(name: str) -> set[str]:
    """The words of a function's name; of a test's without its parameters."""
    words = re.findall("[a-z]+", name.partition("[")[0])
    return {word for word in words if len(word) > 3 and word != "test"}


def _within(tests: list[str], cpu_s: dict[str, float], most_s: float) -> list[str]:
    """The first of them that take so long together, and one at least."""
    chosen: list[str] = []
    spent_s = 0.0
    for name in tests:
        spent_s += cpu_s[name]
        if chosen and spent_s > most_s:
            break
        chosen.append(name)
    return chosen
