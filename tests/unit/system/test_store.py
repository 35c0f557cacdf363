"""Results on disk: read back as they were written, and complete if there is a record."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.errors import UsageError
from orchestrator.metrics import INTERVAL_COLUMNS, measured
from orchestrator.model import RESULTS_FORMAT, Doubt, Phase, Record
from orchestrator.system import (
    at_once,
    campaign_folders,
    campaign_writing,
    store,
    unfinished_runs,
)
from orchestrator.system.clock import stamp
from orchestrator.tier import Gate, GateCheck
from tests.campaign_tables import sampled_in
from tests.plans import a_plan

NOW_S = 1_795_226_530.123


def a_record() -> Record:
    plan = a_plan()
    check = GateCheck("IOPS", "1/s", 100.0, 99.0, 5.0, "ok")
    return Record(
        schema_version=RESULTS_FORMAT,
        run=plan.runs[0],
        profile=plan.profiles[0],
        workload=plan.workloads[0],
        outcome="done",
        failure=None,
        phases=(Phase("measure", NOW_S, NOW_S + 4),),
        nodes=(),
        measurements=(measured("throughput_per_s", 10.0),),
        gate=Gate("premium", NOW_S, (check,), {"device": "/dev/loop1"}),
        facts={"database": {"data_bytes": 5}},
        doubts=(Doubt("short window", "4 s were measured", "measure for longer", 1),),
    )


def intervals_at(*times_s: float) -> pd.DataFrame:
    rows = pd.DataFrame([dict.fromkeys(INTERVAL_COLUMNS, 10) for _ in times_s])
    return rows.assign(time_s=times_s, phase="measure")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    plan, record = a_plan(), a_record()
    folder = campaign_writing.create(tmp_path, plan, {"host": "h"}, NOW_S)
    intervals = intervals_at(NOW_S)
    samples = pd.DataFrame({"time_s": [NOW_S], "node": ["node-1"], "value": [1.5]})
    campaign_writing.save_run(
        campaign_writing.run_folder(folder, plan.runs[0]),
        record,
        intervals,
        None,
        [samples],
    )
    campaign = store.load(tmp_path / "latest")
    assert (campaign.plan, campaign.fingerprint) == (plan, {"host": "h"})
    (run,) = campaign.runs
    assert run.record == record
    assert sampled_in(run)["value"].tolist() == [1.5]


def test_the_time_of_an_interval_keeps_its_milliseconds(tmp_path: Path) -> None:
    """A Unix time has ten digits before the point: nine significant digits lose the second."""
    plan = a_plan()
    folder = campaign_writing.create(tmp_path, plan, {}, NOW_S)
    intervals = intervals_at(NOW_S, NOW_S + 1)
    campaign_writing.save_run(
        campaign_writing.run_folder(folder, plan.runs[0]),
        a_record(),
        intervals,
        None,
        None,
    )
    (run,) = store.load(folder).runs
    assert run.intervals["time_s"].tolist() == [NOW_S, NOW_S + 1]


def test_latest_points_at_the_newest_and_names_never_clash(tmp_path: Path) -> None:
    assert campaign_folders.newest(tmp_path) is None
    first = campaign_writing.create(tmp_path, a_plan(), {}, NOW_S)
    second = campaign_writing.create(tmp_path, a_plan(), {}, NOW_S)
    assert first.name == "20261121T020210Z-test"
    assert second.name == "20261121T020210Z-test-2"
    assert (tmp_path / "latest").resolve() == second


def test_campaigns_that_begin_at_once_never_share_a_folder(tmp_path: Path) -> None:
    """Whether there is one already may be known a moment late, as on a network file system."""
    folders = at_once.each(
        lambda _: campaign_writing.create(tmp_path, a_plan(), {}, NOW_S), range(16)
    )
    assert len(set(folders)) == 16
    assert all((folder / "plan.json").is_file() for folder in folders)


def test_results_need_no_links(tmp_path: Path) -> None:
    for start_s in (NOW_S, NOW_S + 1):  # where a link would be made there is a folder
        (tmp_path / f".latest-{stamp(start_s)}-test").mkdir()
    campaign_writing.create(tmp_path, a_plan(), {}, NOW_S)
    second = campaign_writing.create(tmp_path, a_plan(), {}, NOW_S + 1)
    assert (
        campaign_folders.newest(tmp_path) == second
        and not (tmp_path / "latest").exists()
    )
    campaign_writing.run_folder(second, a_plan().runs[0])
    assert unfinished_runs.unfinished_run(tmp_path, "latest").parent.parent == second


def test_what_a_disk_refused_is_no_change_of_limits(tmp_path: Path) -> None:
    run = campaign_writing.run_folder(tmp_path, a_plan().runs[0])
    for change in (
        {"set": 1, "disk": "a"},
        {"set": 1, "disk": "b"},
        {"refused": 0, "disk": "b"},
    ):
        unfinished_runs.keep_limit_change(run, change)
    unfinished_runs.keep_limit_change(run, {"undone": 0, "disk": "a"})
    assert [next(iter(change)) for change in unfinished_runs.limit_changes(run)] == [
        "set",
        "undone",
    ]


def test_a_run_without_a_record_is_not_there(tmp_path: Path) -> None:
    """The record is written last: a run cut short before it must not half count."""
    plan = a_plan()
    folder = campaign_writing.create(tmp_path, plan, {}, NOW_S)
    campaign_writing.run_folder(folder, plan.runs[0])
    campaign = store.load(folder)
    assert campaign.runs == ()
    assert judge(campaign).missing


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("plan.json", "{}", "has schema_version 1"),
        # Which is no file of an earlier version.
        ("plan.json", "[]", "it is not a JSON object"),
        ("plan.json", '[["schema_version", 1]]', "it is not a JSON object"),
        ("other.txt", "", "not a results folder"),
    ],
)
def test_a_folder_of_another_form_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=message):
        store.load(tmp_path)


def test_what_an_unfinished_run_left_is_put_aside_behind_all_that_was_before(
    tmp_path: Path,
) -> None:
    """Nothing is overwritten, whichever of the folders was removed meanwhile."""
    run = a_record().run
    names: list[str] = []
    for _ in range(4):
        folder = campaign_writing.run_folder(tmp_path, run)
        (folder / "raw" / "log.txt").write_text(f"try {len(names)}")
        aside = unfinished_runs.put_aside(tmp_path, run)
        assert aside is not None
        assert (aside / "raw" / "log.txt").read_text() == f"try {len(names)}"
        names.append(aside.name)
        if len(names) == 3:
            aside.with_name(names[1]).rename(tmp_path / "elsewhere")
    assert names == [f"{run.slug}-{number}" for number in (1, 2, 3, 4)]
    assert unfinished_runs.put_aside(tmp_path, run) is None
