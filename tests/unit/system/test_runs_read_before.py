"""A campaign that is read again is the campaign as it stands, whatever happened to its files.

Method: one that was read already is changed, and read both ways: with and without what was read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.results import Results
from orchestrator.model import Record
from orchestrator.system import campaign_writing, runs_read_before, store
from orchestrator.system.runs_read_before import RunsReadBefore
from tests.calls import calls_of
from tests.campaigns import build_campaign, stored

RUNS = 4
Change = Callable[[Path], object]  # of the first run's folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["point-select"], repetitions=2
    )
    return stored(made, tmp_path)


@pytest.fixture
def before(folder: Path) -> RunsReadBefore:
    """Has read all runs."""
    before = RunsReadBefore()
    store.load_again(folder, before)
    return before


def records_parsed(folder: Path, before: RunsReadBefore) -> int:
    calls = calls_of(
        {"records": store._record}, lambda: store.load_again(folder, before)
    )
    return calls.get("records", 0)


def first_run(folder: Path) -> Path:
    return min((folder / "runs").iterdir())


def record_of(run: Path) -> Record:
    return store.load_run(run).record


def test_a_record_that_did_not_change_is_parsed_once(
    folder: Path, before: RunsReadBefore
) -> None:
    assert records_parsed(folder, RunsReadBefore()) == RUNS
    assert records_parsed(folder, before) == 0
    assert store.load_again(folder, before) == store.load_without_tables(folder)


def test_a_record_that_changed_is_hashed_once(
    folder: Path, before: RunsReadBefore
) -> None:
    measured_again(first_run(folder))
    calls = calls_of(
        {"digests": runs_read_before.digest}, lambda: store.load_again(folder, before)
    )
    assert calls == {"digests": RUNS}


# ------------------------------------------------------------------ what happens to its files


def measured_again(run: Path) -> None:
    failed = replace(record_of(run), outcome="failed", failure="it was gone")
    campaign_writing.save_record(run, failed)


def changed_by_hand(run: Path) -> None:
    """Of the same length, in place, and with the same time of change."""
    file = run / "record.json"
    status = file.stat()
    content = file.read_bytes()
    changed = content.replace(b'"node-1"', b'"node-9"')
    assert len(changed) == len(content) and changed != content
    with file.open("r+b") as opened:
        opened.write(changed)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def cut(run: Path) -> None:
    file = run / "record.json"
    file.write_bytes(file.read_bytes()[:100])


def removed(run: Path) -> None:
    (run / "record.json").unlink()


def replaced_by_a_link(run: Path) -> None:
    elsewhere = run.parent.parent / "elsewhere.json"
    (run / "record.json").rename(elsewhere)
    (run / "record.json").symlink_to(elsewhere)


def given_a_link(run: Path) -> None:
    """Its record is as it was, but the folder is one that is left out."""
    (run / "link").symlink_to("/etc/hostname")


def exchanged_with_the_last(run: Path) -> None:
    last = max(run.parent.iterdir())
    kept = run.with_name("kept")
    run.rename(kept)
    last.rename(run)
    kept.rename(last)


def planned_otherwise(run: Path) -> None:
    """The record is as it was, but the plan has another run by its folder's name."""
    campaign = run.parent.parent
    plan = store.plan_of(campaign)
    profile = replace(plan.profiles[0], name="premium-point")
    workload = replace(plan.workloads[0], name="select")
    other = replace(plan.runs[0], profile=profile.name, workload=workload.name)
    assert other.slug == plan.runs[0].slug
    changed = replace(
        plan,
        profiles=(*plan.profiles, profile),
        workloads=(*plan.workloads, workload),
        runs=(other, *plan.runs[1:]),
    )
    campaign_writing.save_plan(campaign, changed)


def removed_with_its_folder(run: Path) -> None:
    shutil.rmtree(run)


@pytest.mark.parametrize(
    "change",
    [
        measured_again,
        changed_by_hand,
        cut,
        removed,
        removed_with_its_folder,
        replaced_by_a_link,
        given_a_link,
        exchanged_with_the_last,
        planned_otherwise,
    ],
    ids=lambda change: change.__name__,
)
def test_what_changed_is_read_anew(
    folder: Path, before: RunsReadBefore, change: Change
) -> None:
    unchanged: Results = store.load_without_tables(folder)
    change(first_run(folder))
    anew = store.load_without_tables(folder)
    assert anew != unchanged, "a change that nobody sees tests nothing"
    assert store.load_again(folder, before) == anew
    assert store.load_again(folder, before) == anew, "also what is said of its files"


def test_what_was_put_back_is_as_it_was(folder: Path, before: RunsReadBefore) -> None:
    file = first_run(folder) / "record.json"
    content = file.read_bytes()
    as_it_was = store.load_without_tables(folder)
    cut(file.parent)
    store.load_again(folder, before)
    file.write_bytes(content)
    assert store.load_again(folder, before) == as_it_was
