"""Writing a results folder (docs/FILES.md); `store` reads it.

Plan and fingerprint are saved before anything starts, each run's record when it ends, verdict and
report last, so that a crash loses one run at most. JSON files are written atomically. All functions
raise NotWrittenError.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.analysis.answers.record import NO_BRIEF, Brief
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Verified
from orchestrator.errors import UnavailableError
from orchestrator.model import Plan, Record, Run
from orchestrator.planning import stored_plan
from orchestrator.registry.references import ExtensionOrigin
from orchestrator.system import clock, files, run_folders, stored_json
from orchestrator.system.campaign_folders import (
    GATES,
    LATEST,
    PLAN,
    PREDICTIONS,
    VERDICT,
    VERIFIED,
    fingerprint_name,
)
from orchestrator.system.file_checksums import checksums
from orchestrator.system.files import write_json
from orchestrator.system.stored_json import SCHEMA_VERSION
from orchestrator.tier import Gate, as_written

if TYPE_CHECKING:
    import pandas as pd


def create(
    results: Path, plan: Plan, fingerprint: Mapping[str, Any], now_s: float
) -> Path:
    """Makes `results/<UTC time>-<name>/` with the plan and points `results/latest` at it."""
    folder = fresh_folder(results, f"{clock.stamp(now_s)}-{plan.name}")
    files.make_folder(folder, "runs")
    save_plan(folder, plan)
    save_fingerprint(folder, 1, fingerprint)
    # Some file systems have no symbolic links (exFAT, drvfs): `newest` works without.
    with contextlib.suppress(OSError):
        _point_latest_at(folder)
    return folder


def fresh_folder(results: Path, name: str) -> Path:
    """Makes a new folder, although another program may choose the same name in that second."""
    files.make_folder(results)
    # Whoever makes the folder has it: to look first would leave a moment for another program.
    for number in range(1, 1000):
        folder = results / name
        if number > 1:
            folder = results / f"{name}-{number}"
        with contextlib.suppress(FileExistsError):
            files.make_new_folder(folder)
            return folder
    raise UnavailableError(
        f"{results} has a thousand folders named {name}", advice="give --results"
    )


def _point_latest_at(folder: Path) -> None:
    """OSError if that is not possible, also where `latest` is a folder; then no link stays."""
    # Made under another name first: a rename replaces the old link without a moment between.
    link = folder.with_name(f".latest-{folder.name[-40:]}")
    link.unlink(missing_ok=True)
    link.symlink_to(folder.name)
    try:
        link.replace(folder.with_name(LATEST))
    finally:
        link.unlink(missing_ok=True)


def save_plan(campaign: Path, plan: Plan) -> None:
    """Keeps the plan, as it is or as it has grown (see `run/runs_ahead/schedule.py`)."""
    stored_json.write(campaign / PLAN, stored_plan.flat(plan))


def save_fingerprint(campaign: Path, part: int, facts: Mapping[str, Any]) -> None:
    """Keeps what measures a part of a campaign, and where.

    A campaign has one more part each time that it is resumed.
    """
    stored_json.write(campaign / fingerprint_name(part), facts)


def save_left_behind(campaign: Path, what: str, look: Sequence[str]) -> None:
    """Keeps what may be left of the campaign, and the commands that show it."""
    write_json(campaign / "left-behind.json", {"what": what, "look": list(look)})


def save_gates(campaign: Path, gates: Sequence[Gate]) -> None:
    """Saves the truth gates of a campaign in the order in which they were taken."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "gates": [asdict(gate) for gate in gates],
    }
    stored_json.write(campaign / GATES, content)


def save_predictions(
    campaign: Path,
    predictions: Sequence[Prediction],
    made_by: ExtensionOrigin,
    answer: Brief = NO_BRIEF,
) -> None:
    """Saves what was predicted of other tiers, over what was before. `made_by`: the extension,
    which shows it too."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "made_by": asdict(made_by),
        "answer": asdict(answer),
        "predictions": [asdict(prediction) for prediction in predictions],
    }
    stored_json.write(campaign / PREDICTIONS, content)


def save_verified(campaign: Path, verified: Verified) -> None:
    """Keeps that the figures were counted again, over what was before."""
    content = {"schema_version": SCHEMA_VERSION, "verified": asdict(verified)}
    stored_json.write(campaign / VERIFIED, content)


def run_folder(campaign: Path, run: Run) -> Path:
    """Returns the folder of a run, and makes it with its `raw/`. UsageError if it would be
    elsewhere than in the campaign's; NotWrittenError."""
    folder = run_folders.path_of(campaign, run)
    names = folder.relative_to(campaign).parts
    return files.make_folder(campaign, *names, "raw").parent


def save_run(
    folder: Path,
    record: Record,
    intervals: pd.DataFrame | None,
    latencies: Iterable[pd.DataFrame] | None,
    samples: Iterable[pd.DataFrame] | None,
) -> None:
    """Saves tables, which may be None or come in parts, then the record: the run is complete."""
    from orchestrator.system import run_tables

    run_tables.save(folder, intervals, latencies, samples)
    save_record(folder, record)


def save_record(folder: Path, record: Record) -> None:
    """Saves the record with the checksums of all files of the run, which are then on the disk."""
    file = folder / run_folders.RECORD
    content = as_written(record)
    # The record is the last of all files of the run: one that is there vouches for them.
    stored_json.write(file, {**content, "files": checksums(folder, file)})


def save_verdict(campaign: Path, verdict: Verdict) -> str:
    """Writes verdict.json; returns what it is."""
    text = verdict_text(verdict)
    files.write_text(campaign / VERDICT, text)
    return text


def verdict_text(verdict: Verdict) -> str:
    """What verdict.json is."""
    return stored_json.text_of(Path(VERDICT), asdict(verdict))
