"""Which folders below `runs/` are runs of a campaign: those of its planned runs, by number and
name. A copy, a folder of another campaign, and one with links or pipes in it are named and left
out: whatever else lies there never counts as one more repetition."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.keys import plain_files
from orchestrator.model import Plan, Record, Run
from orchestrator.planning import stored_plan
from orchestrator.texts.foreign_text import short

RECORD = "record.json"
INTERVALS = "intervals.csv"
TRANSACTIONS = "latencies.parquet"
SAMPLES = "samples.parquet"
# All that a run is judged by, but its record.
TABLES = (INTERVALS, TRANSACTIONS, SAMPLES)


@dataclass(frozen=True)
class RunFolder:
    """A planned run, and its folder."""

    run: Run
    path: Path


def path_of(campaign: Path, run: Run) -> Path:
    """The folder of a run, whether it is there or not. UsageError if it would be elsewhere."""
    for name in (run.profile, run.workload):
        if not stored_plan.is_name(name):
            raise UsageError(
                f"{short(name)} cannot be a name: a folder is named by it",
                "take letters, digits, `.`, `_` and `-`",
            )
    return campaign / "runs" / run.slug


def present(campaign: Path, plan: Plan, left_out: list[str]) -> Iterator[RunFolder]:
    """The folders of planned runs that can be read, with a record or without, by their names; what
    is left out instead, in words. UsageError if `runs` is no folder."""
    runs = campaign / "runs"
    planned = {run.slug: run for run in plan.runs}
    for name in _names_in(runs):
        folder = runs / name
        # Other folders are worth a word only if they look like a run.
        has_record = os.path.lexists(folder / RECORD)
        run = planned.get(name)
        if run is not None:
            why = obstacle(folder)
        else:
            why = "is the folder of no planned run"
        if run is not None and not why:
            yield RunFolder(run, folder)
        elif run is not None or has_record:
            left_out.append(f"runs/{_shown(name)} {why}")


def recorded(folders: Path) -> Iterator[Path]:
    """The records below a folder of runs, planned or not, of which all files can be read."""
    for name in _names_in(folders):
        folder = folders / name
        if plain_files.is_file(folder / RECORD) and not obstacle(folder):
            yield folder / RECORD


def obstacle(folder: Path) -> str:
    """Why a run's folder cannot be read, or an empty text."""
    try:
        if not plain_files.is_folder(folder):
            return f"is {plain_files.kind_of(folder)}"
        # A link may lead to any file of the user, and a pipe waits for ever.
        for path in plain_files.others_below(folder):
            name = _shown(str(path.relative_to(folder)))
            return f"has {plain_files.kind_of(path)}, {name}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if plain_files.kind_of(folder / RECORD) == "a folder":
        return f"has a folder in place of {RECORD}"
    return ""


def unlike(record: Record, folder: RunFolder) -> str:
    """Why a record is not of the run whose folder it is in, or an empty text."""
    place = f"runs/{_shown(folder.path.name)}"
    if record.run != folder.run:
        return f"{place} has the record of {_shown(record.run.slug)}"
    if (record.profile.name, record.workload.name) != (
        folder.run.profile,
        folder.run.workload,
    ):
        cell = f"{record.profile.name} × {record.workload.name}"
        return f"{place} has the record of {_shown(cell)}"
    return ""


def _names_in(runs: Path) -> list[str]:
    kind = plain_files.kind_of(runs)
    if kind == "nothing":
        return []
    if kind != "a folder":
        raise plain_files.not_plain(runs)
    with plain_files.reading(runs):
        return sorted([path.name for path in runs.iterdir()])


def _shown(name: str) -> str:
    """A name as it is, or, if it cannot be printed, in a form that can."""
    if stored_plan.is_name(name.replace("/", "")) and len(name) < 200:
        return name
    return short(name)
