"""Campaigns of a disk matrix, with fio's output of some or all of its points."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from orchestrator.design import disk_matrix
from orchestrator.load_generators.fio import Fio
from orchestrator.model import RESULTS_FORMAT, Dataset, Plan, Record, Run
from orchestrator.system import campaign_writing, store
from tests.faults.doors import FIO
from tests.plans import a_plan, a_workload

CELLS = {"cells": "random read 50 block 4KiB depth 1,8,32"}
MATRIX = replace(
    a_workload("disk-matrix"),
    generator="fio",
    script="fio/depth.fio",
    dataset=Dataset("fio-file", {"size": "256MiB"}),
    options=CELLS,
)


def begun(results: Path, points: int) -> Path:
    """A campaign of which the first run has left so many points."""
    plan: Plan = replace(a_plan(("premium", "ultra")), workloads=(MATRIX,))
    runs = tuple(replace(run, workload=MATRIX.name) for run in plan.runs)
    plan = replace(plan, runs=runs)
    folder = campaign_writing.create(results, plan, {}, 1_750_000_000.0)
    raw = campaign_writing.run_folder(folder, runs[0]) / "raw" / "fio"
    raw.mkdir()
    for cell in disk_matrix.planned(CELLS)[:points]:
        (raw / f"{cell.name}.json").write_text(json.dumps(FIO))
    return folder


def keep_whole(folder: Path, run: Run) -> None:
    """As a run leaves its points that was measured to its end."""
    raw = campaign_writing.run_folder(folder, run) / "raw"
    (raw / "fio").mkdir(exist_ok=True)
    for cell in disk_matrix.planned(CELLS):
        (raw / "fio" / f"{cell.name}.json").write_text(json.dumps(FIO))
    figures = Fio().read(MATRIX, raw, 0.0, 1.0).measurements
    profile = store.load(folder).plan.profile(run.profile)
    of_run = (RESULTS_FORMAT, run, profile, MATRIX)
    record = Record(*of_run, "done", None, (), (), figures, None, {}, ())
    campaign_writing.save_record(raw.parent, record)
