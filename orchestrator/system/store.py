"""Reading a results folder (docs/FILES.md); `campaign_writing` writes it.

What a disk or a person has cut is passed over when a campaign is read, and a note of its plan names
it. Only a campaign without a plan cannot be read. The tables of runs are those of `run_tables.py`,
which is imported where one is asked for: most commands look at plan and records alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Results, RunData, Verified
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.errors import (
    CutError,
    NotReadableError,
    UsageError,
)
from orchestrator.keys import plain_files
from orchestrator.model import RESULTS_FORMAT, Note, Plan, Record
from orchestrator.planning import stored_plan
from orchestrator.planning.plan import interruptions
from orchestrator.system import (
    disk_metric_files,
    extension_files,
    results_formats,
    run_folders,
    runs_read_before,
    stored_json,
)
from orchestrator.system.campaign_folders import (
    GATES,
    PLAN,
    PREDICTIONS,
    VERDICT,
    VERIFIED,
    fingerprint_name,
)
from orchestrator.system.stored_json import in_form
from orchestrator.tier import Gate

if TYPE_CHECKING:
    import pandas as pd

_Read = TypeVar("_Read")


def load(campaign: Path) -> Results:
    """Reads a campaign from its files, with intervals, samples and transactions. UsageError if it
    is none."""
    return _load(campaign, partial(_run_in, with_tables=True))


def load_without_tables(campaign: Path) -> Results:
    """Reads the plan and the records of a campaign, which is fast. UsageError if it is none."""
    return _load(campaign, partial(_run_in, with_tables=False))


def load_again(campaign: Path, before: runs_read_before.RunsReadBefore) -> Results:
    """Reads a campaign as `load` does without tables.

    Runs whose records have not changed are taken from `before`, which keeps those that are read
    now.
    """
    return _load(campaign, partial(_run_unless_read, before))


def _load(campaign: Path, read_run: _ReadRun) -> Results:
    remarks = _Remarks()
    read = _without_runs(campaign, remarks)
    runs = tuple(_runs(campaign, read.plan, read_run, remarks))
    return replace(
        read,
        plan=_with_notes(read.plan, remarks.notes(campaign)),
        runs=runs,
        changed_files=frozenset(remarks.changed_files(campaign)),
    )


def load_without_runs(campaign: Path) -> Results:
    """Reads a campaign as `load` does, but no run, and says nothing of what is passed over."""
    return _without_runs(campaign, _Remarks())


def plan_of(campaign: Path) -> Plan:
    """The plan alone. UsageError or CutError if it cannot be read."""
    return _plan(campaign, [])


def record_in(folder: run_folders.RunFolder) -> Record | None:
    """The record of a planned run; None if there is none, or `load` would leave it out."""
    return _record_in(folder, _Remarks())


def load_run(folder: Path) -> RunData:
    """One run with its tables. CutError if its record was cut; cut tables are none."""
    return _run_data(_record(folder, []), folder, _Remarks(), with_tables=True)


def verdict(campaign: Path) -> Verdict:
    """verdict.json as it stands. UsageError or CutError if it is not one of this version."""
    return stored_json.read_json(campaign / VERDICT, Verdict, RESULTS_FORMAT)


def has_samples(folder: Path) -> bool:
    """Whether a run has its telemetry, whole."""
    from orchestrator.system import run_tables

    file = folder / run_folders.SAMPLES
    return _whole(partial(run_tables.is_table, file), _Remarks(), otherwise=False)


# The order stays, because the checksum depends on it.
_CHECKED = (
    "plan.json",
    "fingerprint.json",
    "fingerprint-*.json",
    "runs/*/record.json",
)


def checksum(campaign: Path) -> str:
    """SHA-256 of plan, fingerprints and records, which hold the checksums of the raw files."""
    digest = hashlib.sha256()
    for pattern in _CHECKED:
        for file in sorted(campaign.glob(pattern)):
            # Files that cannot be read are left out of the campaign, too.
            with contextlib.suppress(CutError, NotReadableError):
                digest.update(plain_files.read(file))
    return digest.hexdigest()


def _without_runs(campaign: Path, remarks: _Remarks) -> Results:
    if plain_files.kind_of(campaign / PLAN) == "nothing":
        raise UsageError(
            f"{campaign} is not a results folder: it has no {PLAN}",
            advice="name a folder under results/, or results/latest",
        )
    plan = _plan(campaign, remarks.changed)
    fingerprints = list(_fingerprints(campaign, plan, remarks))
    gates = _kept_tuple(campaign / GATES, tuple[Gate, ...], "gates", remarks)
    predictions = _kept_tuple(
        campaign / PREDICTIONS, tuple[Prediction, ...], "predictions", remarks
    )
    remarks.left_out.extend(extension_files.not_shown(campaign / PREDICTIONS))
    verified = _whole(
        partial(_verified, campaign, remarks.changed), remarks, otherwise=None
    )
    return Results(
        name=campaign.resolve().name,
        plan=plan,
        fingerprint=fingerprints[0],
        runs=(),
        gates=gates,
        predictions=predictions,
        later_fingerprints=tuple(fingerprints[1:]),
        verified=verified,
    )


def _fingerprints(
    campaign: Path, plan: Plan, remarks: _Remarks
) -> Iterator[dict[str, Any]]:
    """The fingerprint of each part, in their order; empty where it is missing or cut."""
    # The first part has one fingerprint, and so has each time that it was resumed.
    for part in range(1, 2 + interruptions(plan)):
        file = campaign / fingerprint_name(part)
        read = partial(stored_json.facts, file, remarks.changed)
        yield _whole(read, remarks, otherwise=dict[str, Any]())


def _verified(campaign: Path, changed: list[str]) -> Verified | None:
    file = campaign / VERIFIED
    if plain_files.kind_of(file) == "nothing":
        return None
    return stored_json.read_json(file, Verified, part="verified", changed=changed)


def _plan(campaign: Path, changed: list[str]) -> Plan:
    file = campaign / PLAN
    with in_form(file):
        plan = stored_json.read_json(
            file, Plan, RESULTS_FORMAT, older=results_formats.PLANS, changed=changed
        )
        stored_plan.require_possible(plan)
        return results_formats.with_kinds_of_notes(plan)


def _runs(
    campaign: Path, plan: Plan, read_run: _ReadRun, remarks: _Remarks
) -> Iterator[RunData]:
    for folder in run_folders.present(campaign, plan, remarks.left_out):
        run = read_run(folder, remarks)
        if run is not None:
            yield run


def _run_in(
    folder: run_folders.RunFolder, remarks: _Remarks, *, with_tables: bool
) -> RunData | None:
    record = _record_in(folder, remarks)
    if record is None:
        return None
    return _run_data(record, folder.path, remarks, with_tables=with_tables)


def _run_unless_read(
    before: runs_read_before.RunsReadBefore,
    folder: run_folders.RunFolder,
    remarks: _Remarks,
) -> RunData | None:
    file = folder.path / run_folders.RECORD
    try:
        content = plain_files.read(file)
    except (OSError, CutError, NotReadableError):
        # It says what is to be said of a record that cannot be read.
        return _run_in(folder, remarks, with_tables=False)
    digest = runs_read_before.digest(content)
    run = before.found(file, digest)
    # The plan says which run belongs there, and may have changed although the record has not.
    if run is not None and not run_folders.unlike(run.record, folder):
        return run
    changed_before = len(remarks.changed)
    record = _record_in(folder, remarks, content)
    if record is None:
        return None
    run = _run_data(record, folder.path, remarks, with_tables=False)
    # Of a record that somebody changed it must be said each time.
    if len(remarks.changed) == changed_before:
        before.keep(file, digest, run)
    return run


def _record_in(
    folder: run_folders.RunFolder,
    remarks: _Remarks,
    already_read: bytes | None = None,
) -> Record | None:
    if not plain_files.is_file(folder.path / run_folders.RECORD):
        return None
    read = partial(_record, folder.path, remarks.changed, already_read)
    record = _whole(read, remarks, otherwise=None)
    if record is None:
        return None
    unlike = run_folders.unlike(record, folder)
    if unlike:
        remarks.left_out.append(unlike)
        return None
    return record


def _kept_tuple(
    file: Path, noun: type[tuple[_Read, ...]], part: str, remarks: _Remarks
) -> tuple[_Read, ...]:
    """The `part` of a file that a campaign may have; none if it has no such file."""
    read = partial(
        stored_json.read_json, file, noun, part=part, changed=remarks.changed
    )
    return _whole(read, remarks, otherwise=())


def _with_notes(plan: Plan, about_files: Iterable[Note]) -> Plan:
    """The plan with a note of each file that was passed over or changed, unless it has it
    already."""
    notes = list(plan.notes)
    for note in about_files:
        if note not in plan.notes:
            notes.append(note)
    return replace(plan, notes=tuple(notes))


def _record(
    folder: Path, changed: list[str], already_read: bytes | None = None
) -> Record:
    return stored_json.read_json(
        folder / run_folders.RECORD,
        Record,
        RESULTS_FORMAT,
        older=results_formats.RECORDS,
        changed=changed,
        already_read=already_read,
    )


# How notes on files begin.
LEFT_OUT = "left out: "
CHANGED = "changed since it was written: "


@dataclass(frozen=True)
class _Remarks:
    """What is to be said of a folder: what is passed over, and which files were changed."""

    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def notes(self, campaign: Path) -> Iterator[Note]:
        for what in self.left_out:
            yield Note("left out", f"{LEFT_OUT}{_in_folder(what, campaign)}")
        for file in self.changed_files(campaign):
            yield Note("changed file", f"{CHANGED}{file}")

    def changed_files(self, campaign: Path) -> list[str]:
        """Their paths in the folder."""
        paths: list[str] = []
        for file in self.changed:
            paths.append(_in_folder(file, campaign))
        return paths


def _in_folder(text: str, campaign: Path) -> str:
    """The text with paths as they are in the folder, wherever that lies."""
    return text.replace(f"{campaign}/", "")


# A run's folder → the run, or None if it left no record that can be read.
_ReadRun = Callable[[run_folders.RunFolder, _Remarks], RunData | None]


def _whole(read: Callable[[], _Read], remarks: _Remarks, *, otherwise: _Read) -> _Read:
    """What is read; `otherwise` if its file was cut or may not be read, which is then said in
    `remarks`."""
    try:
        return read()
    except (CutError, NotReadableError) as error:
        remarks.left_out.append(error.what)
        return otherwise


def _run_data(
    record: Record, folder: Path, remarks: _Remarks, *, with_tables: bool
) -> RunData:
    """Its transactions and samples are read when they are asked for; its seconds now, because they
    may have been cut."""
    if not with_tables:
        return RunData(record, _no_intervals, Samples(tuple), _no_parts)
    from orchestrator.system import run_tables

    intervals = run_tables.no_intervals()
    file = folder / run_folders.INTERVALS
    if plain_files.is_file(file):
        # Small, and read whole: whether it was cut is seen at its end alone.
        intervals = _whole(
            partial(run_tables.intervals, file), remarks, otherwise=intervals
        )
    texts = run_tables.SAMPLED_TEXTS
    own_samples = _parts_of(folder / run_folders.SAMPLES, remarks, texts)
    metrics = disk_metric_files.of_run(folder.parent.parent, folder.name)
    metric_samples = _parts_of(metrics, remarks, texts)
    transactions = _parts_of(folder / run_folders.TRANSACTIONS, remarks)

    def read_intervals() -> pd.DataFrame:
        return intervals

    def samples() -> Iterator[pd.DataFrame]:
        return itertools.chain(own_samples(), metric_samples())

    return RunData(record, read_intervals, Samples(samples), transactions)


def _parts_of(
    file: Path, remarks: _Remarks, columns: Sequence[str] = ()
) -> Callable[[], Iterator[pd.DataFrame]]:
    """What reads the table of a file in parts; of one that is not there, or cut, none."""
    from orchestrator.system import run_tables

    if _whole(partial(run_tables.is_table, file), remarks, otherwise=False):
        return partial(run_tables.parts, file, columns)
    return _no_parts


def _no_parts() -> Iterator[pd.DataFrame]:
    return iter(())


def _no_intervals() -> pd.DataFrame:
    from orchestrator.system import run_tables

    return run_tables.no_intervals()
