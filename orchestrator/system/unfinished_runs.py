"""Runs without a record: the one in progress, what a person changed in it, and what one that was
interrupted left."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.keys import plain_files
from orchestrator.model import Run
from orchestrator.system import campaign_folders, files, run_folders, store

_CHANGES = "limit-changes.jsonl"


def unfinished_run(results: Path, name: str) -> Path:
    """Returns the run in progress, by its slug or "latest". UsageError if there is no such run."""
    campaign = campaign_folders.newest(results) or results / "latest"
    unfinished = in_progress(campaign)
    if unfinished is None:
        raise UsageError(
            f"no run is going on in {campaign}",
            "`tierbench status` says how a campaign stands",
        )
    if name not in ("latest", unfinished.name):
        raise UsageError(
            f"{name} is not going on", advice=f"name {unfinished.name}, which is"
        )
    return unfinished


def in_progress(campaign: Path) -> Path | None:
    """Returns the folder of the planned run without a record, if there is one. UsageError if the
    plan cannot be read."""
    if plain_files.kind_of(campaign / "plan.json") == "nothing":
        return None
    unfinished: list[Path] = []
    for folder in run_folders.present(campaign, store.plan_of(campaign), []):
        if not plain_files.is_file(folder.path / run_folders.RECORD):
            unfinished.append(folder.path)
    return max(unfinished, default=None)


def keep_limit_change(run: Path, change: Mapping[str, Any]) -> None:
    """Adds a change of a running disk's limits to the run's raw files."""
    line = json.dumps(change) + "\n"
    files.keep(run / "raw" / _CHANGES, line, adds=True)


def limit_changes(run: Path) -> list[Any]:
    """Returns all changes of limits during the run, in order, without those that the disk refused,
    which never took effect. A line that was cut counts as one: it may have taken effect."""
    file = run / "raw" / _CHANGES
    changes: list[Any] = []
    if plain_files.kind_of(file) == "nothing":
        return changes
    for line in plain_files.read(file).decode(errors="replace").splitlines():
        try:
            change = dict(json.loads(line))
        except (ValueError, TypeError):
            change = {"cut": line}
        if "refused" not in change:
            changes.append(change)
        elif changes:  # the refused change was noted just before
            changes.pop()
    return changes


def put_aside(campaign: Path, run: Run) -> Path | None:
    """Moves what an unfinished run left to `interrupted/<run>-<n>`, which it returns; None if it
    left nothing. UsageError if there is no such folder, but something else of its name."""
    folder = run_folders.path_of(campaign, run)
    aside = campaign / "interrupted"
    if not os.path.lexists(folder):
        return None
    if plain_files.kind_of(aside) not in ("nothing", "a folder"):
        raise plain_files.not_plain(aside)
    files.make_folder(campaign, aside.name)
    # A run may be interrupted several times, and what each attempt left is kept.
    number = 1 + max(_numbers_aside(aside, run), default=0)
    return folder.rename(aside / f"{run.slug}-{number}")


def _numbers_aside(aside: Path, run: Run) -> Iterator[int]:
    """The numbers in the names of what was put aside of a run before."""
    pattern = re.compile(re.escape(run.slug) + r"-(\d{1,9})")
    for path in aside.iterdir():
        match = pattern.fullmatch(path.name)
        if match:
            yield int(match[1])
