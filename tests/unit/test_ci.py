"""What CI runs: nothing is left out for long, and a build that failed is told.

The script runs against a `make` that writes down what it was asked; git is the real one.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ROOT, left_out, turns

MAKE = """#!/usr/bin/env bash
case " $BROKEN " in *" $1 "*) echo "no Go here"; exit 2;; esac
echo "$*" >>"$ASKED"
"""
FOLDERS = ("tests/faults", "tests/integration", "tests/kubernetes")
Ran = tuple[subprocess.CompletedProcess[str], list[str]]
Run = Callable[[str], Ran]


@pytest.fixture(name="run")
def ci_run(tmp_path: Path) -> Run:
    """Runs `.ci/run` where the named targets of make fail; its output, and the targets made."""
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o755)
    asked = tmp_path / "asked"

    def ran(broken: str) -> Ran:
        environment = {
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "ASKED": str(asked),
            "BROKEN": broken,
        }
        done = subprocess.run(
            [ROOT / ".ci/run"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        return done, asked.read_text().splitlines()

    return ran


def test_processes_that_test_share_what_one_of_them_has_compiled() -> None:
    """An environment may forbid it, as that of many images of containers does."""
    target = "probe: ; @echo $${PYTHONDONTWRITEBYTECODE-may be kept}"
    done = subprocess.run(
        ["make", "-s", "--eval", target, "probe"],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout == "may be kept\n", done.stderr


def test_all_steps_are_made_and_kubernetes_is_built_before_it_is_used(run: Run) -> None:
    done, made = run("")
    turn = int((ROOT / "tests/slow_turn").read_text())
    assert done.returncode == 0, done.stderr
    assert [target for target in made if target != "cluster-programs"] == [
        ".venv/.ready",
        "test-programs",
        "check",
        "test-fast",
        "test PART=docker or program",
        f"test-kubernetes TURN={turn}",
        f"test-slow PART=not kubernetes TURN={turn}",
    ]
    assert made.index("cluster-programs") < made.index("test PART=docker or program")


@pytest.mark.parametrize(
    ("broken", "said", "never"),
    [
        ("cluster-programs", "no Go here", "test PART"),
        ("check", "no Go here", "test-fast"),
        ("test-slow", "no Go here", "test-slow"),
    ],
)
def test_what_fails_is_told_and_ends_it(
    run: Run, broken: str, said: str, never: str
) -> None:
    done, made = run(broken)
    assert done.returncode != 0
    assert said in done.stdout
    assert not [target for target in made if target.startswith(never)]


MARKS = ("docker", "kubernetes", "program", "slow")


def chosen_by(step: str) -> str:
    """The `-m` of the tests that a step of CI makes, by a target and its variables."""
    target, _, given = step.partition(" ")
    variables = re.findall(r"[A-Z]+=.*?(?= [A-Z]+=|$)", given)
    printed = subprocess.run(
        ["make", "--dry-run", target, *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (expression,) = re.findall(r'pytest .*-m "([^"]+)"', printed)
    return str(expression)


def test_each_test_is_run_by_one_step_whatever_it_is_marked_with(run: Run) -> None:
    _, made = run("")
    steps = [
        step for step in made if step.startswith("test") and "programs" not in step
    ]
    assert len(steps) == 4
    chosen = [chosen_by(step) for step in steps]
    for values in itertools.product((False, True), repeat=len(MARKS)):
        marked = dict(zip(MARKS, values, strict=True))
        runs = [expression for expression in chosen if eval(expression, {}, marked)]
        assert len(runs) == 1, marked


def with_slow_tests() -> list[str]:
    """Where some may be: to import all unit tests for the few would take as long as they do."""
    places = list(FOLDERS)
    for file in sorted((ROOT / "tests/unit").rglob("test_*.py")):
        if "@pytest.mark.slow" in file.read_text() and str(file) != __file__:
            places.append(str(file.relative_to(ROOT)))
    return places


@dataclass(frozen=True)
class SlowTests:
    """Names of all slow tests, as pytest tells them apart by a turn."""

    taken: list[str]
    left_out: list[str]


@pytest.fixture(scope="module")
def slow_tests() -> SlowTests:
    """Those of the third turn, in the fourth round; they are looked for once, which takes long."""
    turn = 2 + 3 * turns.TURNS
    told = ("-p", left_out.__name__, "--capture=no", "--turn", str(turn))
    listed = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "slow"),
            *told,
            *with_slow_tests(),
        ],
        cwd=ROOT,
        env={**os.environ, "CI": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )
    slow = SlowTests([], [])
    for line in listed.stdout.splitlines():
        if line.startswith(left_out.LEFT_OUT):
            slow.left_out.append(line.removeprefix(left_out.LEFT_OUT))
        elif "::" in line:
            slow.taken.append(line)
    return slow


@pytest.mark.program
def test_every_slow_test_has_a_turn_and_turns_take_about_the_same_time(
    slow_tests: SlowTests,
) -> None:
    every = [*slow_tests.taken, *slow_tests.left_out]
    assert sorted(every) == sorted(turns.kept()), f"give each a line in {turns.FILE}"
    shares_s = Counter[int]()
    for slow in turns.kept().values():
        shares_s[slow.turn] += slow.seconds
    assert sorted(shares_s) == list(range(turns.TURNS))
    assert max(shares_s.values()) < 1.25 * min(shares_s.values()), shares_s


@pytest.mark.program
def test_a_turn_is_taken_by_its_number_from_landing_to_landing(
    slow_tests: SlowTests,
) -> None:
    own = [test for test, slow in turns.kept().items() if slow.turn == 2]
    assert sorted(slow_tests.taken) == sorted(own)
