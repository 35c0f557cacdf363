"""Which campaigns make `tierbench compare` fail, and each code that a command ends with."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import errors
from orchestrator.cli import main
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure import check
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    EXIT_WORSE,
)
from orchestrator.load_generators.common.consistency import Condition
from orchestrator.parts import Parts
from orchestrator.system import campaign_writing, files
from tests import ROOT
from tests.apps import an_app
from tests.campaigns import build_campaign, stored
from tests.forking import Forking

FAIL, ACCEPT = "--fail-if-worse", "--accept-inconclusive"
# The first profile is the baseline.
DECIDED: dict[str, Any] = {"profiles": ["premium", "ultra"], "repetitions": 5}
WORSE: dict[str, Any] = {"profiles": ["ultra", "premium"], "repetitions": 5}
OPEN: dict[str, Any] = {"profiles": ["premium", "ultra"], "repetitions": 1}
FAILED_RUN: dict[str, Any] = {"failed": [1]}


@pytest.mark.parametrize(
    ("shape", "options", "code"),
    [
        (DECIDED, (FAIL,), EXIT_DONE),
        (WORSE, (), EXIT_DONE),
        (WORSE, (FAIL,), EXIT_WORSE),
        (OPEN, (), EXIT_INCONCLUSIVE),
        (OPEN, (FAIL,), EXIT_INCONCLUSIVE),
        (OPEN, (FAIL, ACCEPT), EXIT_DONE),
        ({**DECIDED, **FAILED_RUN}, (ACCEPT,), EXIT_INCONCLUSIVE),
        ({**WORSE, **FAILED_RUN}, (FAIL, ACCEPT), EXIT_WORSE),
    ],
)
def test_compare_ends_with_the_code_of_what_was_found(
    shape: dict[str, Any], options: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """The running is left out: its records are all that is judged."""
    made = build_campaign(workloads=["point-select"], frames=False, **shape)

    class Judging(CampaignApp):
        def carry_out(self, *_: Any) -> Path:
            folder = campaign_writing.create(
                tmp_path, made.plan, made.fingerprint, 1_750_000_000.0
            )
            for run in made.runs:
                place = campaign_writing.run_folder(folder, run.record.run)
                files.write_json(place / "record.json", asdict(run.record))
            return folder

    words = ["compare", "--profiles", "premium ultra", "--workloads", "point-select"]
    words += ["--db", "postgresql", "--output=json", *options]
    assert exit_code(words, Judging(**vars(an_app(tmp_path)))) == code


@pytest.mark.parametrize(
    ("violations", "code"),
    [
        ((0, 0), EXIT_DONE),
        ((0, 3), EXIT_INCONCLUSIVE),
        # One that could not be evaluated is no "holds".
        ((None, 0), EXIT_INCONCLUSIVE),
    ],
)
def test_check_ends_with_whether_every_condition_holds(
    violations: tuple[int | None, ...], code: int
) -> None:
    conditions = []
    for rows in violations:
        conditions.append(Condition("c01", "it holds", "SELECT", rows))
    assert check.exit_code(conditions) == code


# ------------------------------------------------------------------ every code


def raising(error: BaseException) -> Callable[[object], Parts]:
    def parts(_platform: object) -> Parts:
        raise error

    return parts


def judging(folder: Path, shape: dict[str, Any]) -> CampaignApp:
    """A program whose `analyze` and campaigns are of this shape."""
    made = build_campaign(workloads=["point-select"], frames=False, **shape)
    stored(made, folder / "results")
    return an_app(folder)


CALLS: dict[int, tuple[str, ...]] = {
    EXIT_DONE: ("list",),
    EXIT_WORSE: ("verify", "latest"),
    EXIT_INCONCLUSIVE: ("compare-results", "earlier", "latest"),
    EXIT_USAGE: ("run", "--profile", "nothing-like-it", "--workload", "tpcc"),
    EXIT_UNAVAILABLE: ("check", "--port", "1"),
    EXIT_INTERNAL: ("run", "ultra", "insert", "--dry-run", "--offline"),
    EXIT_INTERRUPTED: ("run", "ultra", "insert", "--dry-run", "--offline"),
}


@pytest.mark.parametrize("code", CALLS)
def test_each_code_is_ended_with(code: int, tmp_path: Path) -> None:
    app, words = an_app(tmp_path), CALLS[code]
    if code in (EXIT_WORSE, EXIT_INCONCLUSIVE):
        app = judging(tmp_path, {"profiles": ["premium"], "repetitions": 2})
        results = tmp_path / "results"
        (latest,) = [folder for folder in results.iterdir() if not folder.is_symlink()]
        shutil.copytree(latest, results / "earlier")
        words = (*words, "--results", str(results))
    if code in (EXIT_INTERNAL, EXIT_INTERRUPTED):
        error = (
            KeyboardInterrupt() if code == EXIT_INTERRUPTED else RuntimeError("a fault")
        )
        app = replace(app, parts=raising(error))
    assert exit_code(words, app) == code


def test_all_codes_are_documented_and_no_other() -> None:
    text = (ROOT / "docs" / "OPTIONS.md").read_text().split("## Exit codes")[1]
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    known = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert documented == known == set(CALLS)
    assert {int(code) for code in re.findall(r"(\d+) \w", str(main.__doc__))} >= known


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["--help"],
            ["run", "--help"],
            ["list"],
            ["list", "--output=json"],
            ["admin", "schema", "profile"],
        ),
        *(
            ["--version"],
            ["compare", "--profiles", "ultra", "--workloads", "insert", "--dry-run"],
        ),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("also_errors", [False, True])
def test_a_reader_who_is_gone_is_no_verdict(
    words: list[str], also_errors: bool, all_imported: Forking
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stderr = writer if also_errors else None
    ended = all_imported.run(words, stdout=writer, stderr=stderr)
    os.close(writer)
    assert ended.returncode == EXIT_DONE
    assert "Error" not in ended.stderr
