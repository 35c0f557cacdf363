"""Results on disk: the only module that knows the layout of a campaign folder (docs/RESULTS.md).

Saved in three phases, so that a crash loses one run at most: plan and fingerprint before anything
starts, each run's record when it ends, verdict and report last. JSON files are written atomically.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from orchestrator.analysis.results import Results, RunData
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.metrics import INTERVAL_COLUMNS, SAMPLE_COLUMNS
from orchestrator.model import Plan, Record, Run, Verdict
from orchestrator.system import version_1
from orchestrator.system.clock import stamp

SCHEMA_VERSION = 1

_Noun = TypeVar("_Noun", Plan, Record)


def create(results: Path, plan: Plan, fingerprint: Mapping[str, Any], now_s: float) -> Path:
    """Phase 0: makes `results/<UTC time>-<name>/` and points `results/latest` at it."""
    folder = _fresh_folder(results, f"{stamp(now_s)}-{plan.name}")
    (folder / "runs").mkdir()
    write_json(folder / "plan.json", asdict(plan))
    write_json(folder / "fingerprint.json", fingerprint)
    # Some file systems have no symbolic links (exFAT, drvfs): `newest` does without.
    with contextlib.suppress(OSError):
        fresh = results / f".latest-{folder.name[-40:]}"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(folder.name)
        fresh.replace(results / "latest")
    return folder


def _fresh_folder(results: Path, name: str) -> Path:
    """Made here and now: another program may take the same name in the same second."""
    results.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, 1000):
        folder = results / (name if attempt == 1 else f"{name}-{attempt}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise UnavailableError(f"{results} has a thousand folders named {name}")


def newest(results: Path) -> Path | None:
    """The folder of the newest campaign: what `latest` points at, else the last by its time."""
    if (results / "latest" / "plan.json").is_file():
        return results / "latest"
    folders = sorted(file.parent for file in results.glob("*/plan.json"))
    return folders[-1] if folders else None


def run_folder(campaign: Path, run: Run) -> Path:
    """The folder of a run, with its `raw/` made."""
    folder = campaign / "runs" / run.slug
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    return folder


_CHANGES = "limit-changes.jsonl"


def unfinished_run(results: Path, name: str) -> Path:
    """The folder of the newest campaign's run that is going on; `name` is its slug or "latest".

    UsageError where it is another one, or none.
    """
    campaign = newest(results) or results / "latest"
    open_runs = sorted(
        (
            folder
            for folder in (campaign / "runs").glob("*/")
            if not (folder / "record.json").exists()
        ),
        key=lambda folder: folder.name,
    )
    if not open_runs:
        raise UsageError(f"no run is going on in {campaign}")
    if name not in ("latest", open_runs[-1].name):
        raise UsageError(f"{name} is not going on; {open_runs[-1].name} is")
    return open_runs[-1]


def keep_limit_change(run: Path, change: Mapping[str, Any]) -> None:
    """Adds a change of a running disk's limits to the run's raw files."""
    with (run / "raw" / _CHANGES).open("a") as file:
        file.write(json.dumps(change) + "\n")


def limit_changes(run: Path) -> list[Any]:
    """All changes of limits during the run, in order; empty where its tier was left alone. What the
    disk refused was never in force."""
    file = run / "raw" / _CHANGES
    found: list[Any] = []
    for line in file.read_text().splitlines() if file.exists() else ():
        change = json.loads(line)
        if "refused" in change:
            found.pop()
        else:
            found.append(change)
    return found


def save_run(folder: Path, record: Record, intervals: Any, latencies: Any, samples: Any) -> None:
    """Phase 1: the tables first, the record last: a record present means a run complete."""
    if intervals is not None:
        intervals.to_csv(folder / "intervals.csv", index=False, float_format="%.14g")
    if latencies is not None:
        latencies.to_parquet(folder / "latencies.parquet", index=False)
    if samples is not None:
        samples.to_parquet(folder / "samples.parquet", index=False)
    save_record(folder, record)


def save_record(folder: Path, record: Record) -> None:
    """The record alone, whose tables are there already."""
    write_json(folder / "record.json", asdict(record))


def save_verdict(campaign: Path, verdict: Verdict) -> None:
    """Phase 2."""
    write_json(campaign / "verdict.json", asdict(verdict))


def load(campaign: Path) -> Results:
    """Reads a campaign back from its files alone. UsageError where it is not one."""
    if not (campaign / "plan.json").is_file():
        raise UsageError(
            f"{campaign} is not a results folder: it has no plan.json",
            advice="name a folder under results/, or results/latest",
        )
    plan = _read(campaign / "plan.json", Plan, version_1.plan)
    fingerprint_file = campaign / "fingerprint.json"
    fingerprint = json.loads(fingerprint_file.read_text()) if fingerprint_file.is_file() else {}
    records = sorted((campaign / "runs").glob("*/record.json"))
    return Results(
        name=campaign.resolve().name,
        plan=plan,
        fingerprint=fingerprint,
        runs=tuple(_load_run(file) for file in records),
    )


def _load_run(file: Path) -> RunData:
    intervals, samples = file.with_name("intervals.csv"), file.with_name("samples.parquet")
    return RunData(
        record=_read(file, Record, version_1.record),
        intervals=pd.read_csv(intervals)
        if intervals.is_file()
        else pd.DataFrame(columns=list(INTERVAL_COLUMNS)),
        samples=pd.read_parquet(samples)
        if samples.is_file()
        else pd.DataFrame(columns=list(SAMPLE_COLUMNS)),
    )


def _read(
    file: Path, noun: type[_Noun], upgraded: Callable[[dict[str, Any]], dict[str, Any]]
) -> _Noun:
    try:
        form: TypeAdapter[_Noun] = _form(cast(Hashable, noun))
        return form.validate_python(upgraded(json.loads(file.read_bytes())))
    except ValidationError as error:
        first = error.errors()[0]
        why = f"({error.error_count()} mistakes): {first['loc']}: {first['msg']}"
        raise _other_form(file, why) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _other_form(file, f"({type(error).__name__}: {error})") from error


@cache
def _form(noun: Any) -> TypeAdapter[Any]:
    """Made once: it takes longer than reading a record."""
    return TypeAdapter(noun)


def _other_form(file: Path, why: str) -> UsageError:
    return UsageError(
        f"{file} does not have the form this version reads {why}",
        advice="was it written by another version, or edited by hand?",
    )


def write_json(file: Path, content: Any) -> None:
    """Atomically: a reader sees the old file or the new one, never half of one."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.write_text(json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n")
    fresh.replace(file)
