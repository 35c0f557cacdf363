"""How many small mistakes the fast tests find: drawn by a seed, by folder of the package.

A mistake is a border, an operator, a number, `not`, `True`, `min`, a result or a call that is left
out. Nothing is written into the sources. The first time all fast tests are run once, to record what
each of them executes (.cache/mutants); a mistake is then tried with those that execute its line,
the cheapest first. What no test executes has survived. What changes nothing that anybody could see
stands in equivalent_mutants.tsv, with the reason.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass
from multiprocessing.context import ForkProcess
from multiprocessing.queues import Queue
from pathlib import Path

from tests import ROOT
from tests.bench import executed_blocks, mutant_runs, mutant_sources, mutant_tests
from tests.bench.mutant_runs import Outcome, Trial
from tests.bench.mutant_sources import Mistake, Mutant

PACKAGE = ROOT / "orchestrator"
LAST = executed_blocks.RECORDS / "last.jsonl"
# More are drawn where a mistake would be a wrong answer.
MORE = (
    "orchestrator/analysis/decisions",
    "orchestrator/analysis/doubts",
    "orchestrator/analysis/telemetry",
    "orchestrator/run",
    "orchestrator/tiers",
)
KILLED = "killed"
EQUIVALENT = "equivalent"
SURVIVED = "survived"
NOT_EXECUTED = "not executed"


@dataclass(frozen=True)
class Result:
    """What became of a mutant; `tests`: how many were tried at most."""

    mutant: Mutant
    word: str
    killer: str = ""
    tests: int = 0


def folder_of(module: Path) -> str:
    """The folder in whose row it counts: those of `analysis` have their own."""
    parts = module.relative_to(ROOT).parts[:-1]
    if parts[:2] == ("orchestrator", "analysis"):
        return "/".join(parts[:3])
    return "/".join(parts[:2])


def drawn(folders: list[str], kinds: list[str], count: int, seed: int) -> list[Mutant]:
    """`count` of each folder, two and a half times as many of those with answers; of these kinds,
    or of all if there are none."""
    by_folder: defaultdict[str, list[Mistake]] = defaultdict(list)
    for module in sorted(PACKAGE.rglob("*.py")):
        for mistake in mutant_sources.possible(module):
            if not kinds or mistake.kind in kinds:
                by_folder[folder_of(module)].append(mistake)
    mutants: list[Mutant] = []
    for folder in folders or sorted(by_folder):
        dice = random.Random(f"{seed} {folder}")
        wanted = count
        if folder in MORE:
            wanted = count * 5 // 2
        mutants += _described(mutant_sources.drawn(by_folder[folder], wanted, dice))
    return mutants


def _described(mistakes: list[Mistake]) -> list[Mutant]:
    by_module: defaultdict[Path, list[Mistake]] = defaultdict(list)
    for mistake in mistakes:
        by_module[mistake.module].append(mistake)
    mutants: list[Mutant] = []
    for module, same in by_module.items():
        mutants += mutant_sources.mutants(module, same)
    return mutants


def survivors() -> list[Mutant]:
    """Those of the last time that no test found, where they are now."""
    wanted: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for line in LAST.read_text().splitlines():
        result = json.loads(line)
        if result["word"] in (SURVIVED, NOT_EXECUTED):
            content = [result[name] for name in ("module", "within", "before", "after")]
            wanted[result["module"]].add(tuple(content))
    mutants: list[Mutant] = []
    for module, contents in sorted(wanted.items()):
        file = ROOT / module
        for mutant in mutant_sources.mutants(file, mutant_sources.possible(file)):
            if mutant.content in contents:
                mutants.append(mutant)
    return mutants


def record(processes: int) -> None:
    """Runs the files of tests whose records are missing or old."""
    files = [file for file in mutant_tests.files() if not executed_blocks.read(file)]
    if not files:
        return
    print(f"{len(files)} files of tests are run once, to see what they execute")
    started: list[subprocess.Popen[bytes]] = []
    for share in range(processes):
        words = [sys.executable, "-m", "tests.bench.executed_blocks"]
        if part := files[share::processes]:
            process = subprocess.Popen([*words, *part], stdout=subprocess.DEVNULL)
            started.append(process)
    for process in started:
        process.wait()


def tried(trials: list[Trial], processes: int) -> list[Result]:
    """Each with its tests, in so many processes at once; tells them as they come."""
    forking = multiprocessing.get_context("fork")
    queue: Queue[Result] = forking.Queue()
    workers: list[ForkProcess] = []
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    for share in range(processes):
        worker = forking.Process(
            target=_try, args=(trials[share::processes], folder / str(share), queue)
        )
        worker.start()
        workers.append(worker)
    results: list[Result] = []
    while len(results) < len(trials):
        result = queue.get()
        results.append(result)
        _tell(result)
    for worker in workers:
        worker.join()
    shutil.rmtree(folder, ignore_errors=True)
    return results


def _try(trials: list[Trial], folder: Path, queue: Queue[Result]) -> None:
    folder.mkdir()

    def tell(trial: Trial, outcome: Outcome) -> None:
        word = SURVIVED
        if outcome.killer:
            word = KILLED
        killer = f"{outcome.killer} {outcome.how}".strip()
        queue.put(Result(trial.mutant, word, killer, len(trial.tests)))

    while_imported = [trial for trial in trials if trial.is_while_imported]
    in_functions = [trial for trial in trials if not trial.is_while_imported]
    # In a process of its own, because it imports the package, which the others import anew.
    other = multiprocessing.get_context("fork").Process(
        target=mutant_runs.try_in_functions,
        args=(in_functions, folder / "collected", tell),
    )
    other.start()
    other.join()
    mutant_runs.try_while_imported(while_imported, folder / "imported", tell)


def _tell(result: Result) -> None:
    mutant = result.mutant
    place = f"{mutant.module}:{mutant.line} {mutant.within}"
    change = f"{mutant.before[:60]} → {mutant.after[:60]}"
    by = ""
    if result.killer:
        by = f" by {result.killer}"
    print(f"{result.word}: {place}: {change}{by}", flush=True)


def table(results: list[Result]) -> list[str]:
    """Killed ÷ not equivalent, by folder."""
    by_folder: defaultdict[str, list[str]] = defaultdict(list)
    for result in results:
        by_folder[folder_of(ROOT / result.mutant.module)].append(result.word)
        by_folder["all"].append(result.word)
    head = f"{'folder':36} drawn killed equivalent survived not executed   rate"
    lines = [head]
    for folder in [*sorted(set(by_folder) - {"all"}), "all"]:
        words = by_folder[folder]
        killed = words.count(KILLED)
        equivalent = words.count(EQUIVALENT)
        alike = len(words) - equivalent
        rate = "-"
        if alike:
            rate = f"{100 * killed / alike:.0f} %"
        line = f"{folder:36} {len(words):5} {killed:6} {equivalent:10}"
        line += f" {words.count(SURVIVED):8} {words.count(NOT_EXECUTED):12} {rate:>6}"
        lines.append(line)
    return lines


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folders", nargs="*", help="only these; all of the package")
    asked.add_argument("--count", type=int, default=8, help="mutants of each folder")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument(
        "--kind",
        action="append",
        default=[],
        choices=sorted(mutant_sources.CHANGES),
        help="only of this kind; can be repeated",
    )
    asked.add_argument("--processes", type=int, default=2)
    asked.add_argument(
        "--most-s", type=float, default=60.0, help="CPU time of a mutant's tests"
    )
    asked.add_argument(
        "--again", action="store_true", help="those that survived the last time"
    )
    asked.add_argument(
        "--as-recorded", action="store_true", help="with the records there are"
    )
    options = asked.parse_args()
    if executed_blocks.RECORDS_VARIABLE in os.environ:
        measure(options)
        return
    if not options.as_recorded:
        record(options.processes)
    in_a_copy()


def in_a_copy() -> None:
    """What tests do with a mistake, as writing or removing files, does not meet the repository."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        for file in _sources():
            copied = copy / file
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, copied, follow_symlinks=False)
        (copy / ".venv").symlink_to(ROOT / ".venv")
        words = [sys.executable, "-m", "tests.bench.bench_mutants", *sys.argv[1:]]
        variables = {
            **os.environ,
            "PYTHONPATH": str(copy),
            executed_blocks.RECORDS_VARIABLE: str(executed_blocks.RECORDS),
        }
        subprocess.run(words, cwd=copy, env=variables, check=True)


def _sources() -> list[str]:
    """All files that git tracks, or would."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    names = listed.stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def measure(options: argparse.Namespace) -> None:
    if options.again:
        mutants = survivors()
    else:
        mutants = drawn(options.folders, options.kind, options.count, options.seed)
    known = mutant_sources.equivalent()
    results: list[Result] = []
    rest: list[Mutant] = []
    for mutant in mutants:
        if mutant.content in known:
            results.append(Result(mutant, EQUIVALENT))
        else:
            rest.append(mutant)
    trials: list[Trial] = []
    for trial in mutant_tests.trials(rest, options.most_s):
        if trial.tests:
            trials.append(trial)
        else:
            results.append(Result(trial.mutant, NOT_EXECUTED))
            _tell(results[-1])
    results += tried(trials, options.processes)
    lines = []
    for result in results:
        of_one = {**asdict(result.mutant), "word": result.word}
        lines.append(json.dumps({**of_one, "killer": result.killer}))
    LAST.write_text("\n".join(lines) + "\n")
    for line in table(results):
        print(line)


if __name__ == "__main__":
    main()
