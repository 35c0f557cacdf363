"""Which campaigns make `tierbench compare` fail, and what make asks of it."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import campaign
from orchestrator.cli.main import _guarded, app
from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_WORSE
from orchestrator.system import store
from tests import ROOT
from tests.campaigns import build_campaign

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
    shape: dict[str, Any],
    options: tuple[str, ...],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The running is left out: its records are all that is judged."""
    made = build_campaign(workloads=["point-select"], frames=False, **shape)

    def carried_out(*_: Any) -> Path:
        folder = store.create(tmp_path, made.plan, made.fingerprint, 1_750_000_000.0)
        for run in made.runs:
            place = store.run_folder(folder, run.record.run)
            store.write_json(place / "record.json", asdict(run.record))
        return folder

    monkeypatch.setattr(campaign, "carry_out", carried_out)
    words = ["compare", "--profiles", "premium ultra", "--workloads", "point-select"]
    words += ["--db", "postgresql", "--json", *options]
    assert _guarded(lambda: app(words, standalone_mode=False)) == code


@pytest.mark.parametrize(
    ("variables", "accepts", "fails"),
    [((), True, False), (("FAIL_IF_WORSE=1",), True, True), (("STRICT=1",), False, False)],
)
def test_make_compare_fails_only_where_asked(
    variables: tuple[str, ...], accepts: bool, fails: bool
) -> None:
    made = subprocess.run(
        ["make", "--dry-run", "compare", *variables],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (line,) = (line for line in made.stdout.splitlines() if "tierbench compare" in line)
    assert ("--accept-inconclusive" in line) == accepts
    assert ("--fail-if-worse" in line) == fails
