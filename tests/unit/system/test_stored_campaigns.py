"""A results folder with many campaigns: listed whatever is in it, and some of them by name."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.design import slo
from orchestrator.errors import UsageError
from orchestrator.system import campaign_writing, store, stored_campaigns
from orchestrator.system.clock import from_stamp, stamp
from tests.campaigns import START_S, build_campaign, later, stored

ANY: dict[str, Any] = dict.fromkeys(("profile", "workload", "database", "since_s"))


def two_weeks(results: Path) -> tuple[Path, Path]:
    """A judged campaign, and one a week later with an unfinished run, not judged."""
    first = build_campaign(workloads=["insert"], frames=False)
    second = build_campaign(
        workloads=["tpcc"], profiles=["ultra"], failed=[2], frames=False
    )
    one, two = stored(first, results), stored(later(second, 7), results)
    campaign_writing.save_verdict(one, judge(first))
    return one, two


def entries(results: Path) -> list[Entry]:
    saved = stored_campaigns.baselines(results)
    return [stored_campaigns.entry(f, saved) for f in stored_campaigns.folders(results)]


def test_campaigns_are_listed_newest_first(tmp_path: Path) -> None:
    one, two = two_weeks(tmp_path)
    assert (tmp_path / "latest").is_symlink()
    newest, oldest = entries(tmp_path)
    assert (newest.folder, oldest.folder) == (two.name, one.name)
    assert (newest.profiles, newest.workloads, newest.scale) == (
        ("ultra",),
        ("tpcc",),
        "laptop",
    )
    assert (newest.done, newest.planned, newest.repetitions) == (2, 3, 3)
    assert newest.decisions == {}
    assert oldest.began_s == START_S
    assert oldest.decisions == {"insert": "premium"}


@pytest.mark.parametrize(
    ("planned", "asked", "shown"),
    [
        ("", "p99 < 9 s", "premium, by another SLO than the plan's: p99 < 9 s"),
        (
            "p99 < 9 s",
            "p99 < 8 s",
            "premium, by another SLO than the plan's: p99 < 8 s",
        ),
        ("p99 < 9 s", None, "premium"),
        ("", None, "premium"),
    ],
)
def test_a_verdict_of_another_question_says_so(
    planned: str, asked: str | None, shown: str, tmp_path: Path
) -> None:
    """`analyze --slo` has its answer in the place of the campaign's own."""
    made = build_campaign(workloads=["insert"], frames=False)
    loads = slo.applied(made.plan.workloads, planned or None, "test")
    folder = stored(replace(made, plan=replace(made.plan, workloads=loads)), tmp_path)
    _, verdict = concluding.judged(folder, asked)
    campaign_writing.save_verdict(folder, verdict)
    (entry,) = entries(tmp_path)
    assert entry.decisions == {"insert": shown}


def test_a_broken_folder_is_a_line_with_its_reason(tmp_path: Path) -> None:
    two_weeks(tmp_path)
    (tmp_path / "20990101T000000Z-empty").mkdir()
    (tmp_path / "not-a-campaign").mkdir()
    torn = tmp_path / "20980101T000000Z-torn"
    torn.mkdir()
    (torn / "plan.json").write_text('{"name": ')
    lost, half, *sound = entries(tmp_path)
    assert "has no plan.json" in lost.fault and "does not have the form" in half.fault
    assert lost.began_s == from_stamp("20990101T000000Z")
    assert [entry.fault for entry in sound] == ["", ""]


def test_a_broken_verdict_is_a_fault_too(tmp_path: Path) -> None:
    one, _ = two_weeks(tmp_path)
    (one / "verdict.json").write_text("[1, 2]")
    assert "verdict.json does not have the form" in entries(tmp_path)[-1].fault


def test_a_renamed_folder_has_the_time_of_its_first_run(tmp_path: Path) -> None:
    one, _ = two_weeks(tmp_path)
    one.rename(tmp_path / "before-the-move")
    moved = next(e for e in entries(tmp_path) if e.folder == "before-the-move")
    assert moved.began_s == START_S and not moved.fault


@pytest.mark.parametrize("file", ["plan.json", "runs/01-premium-insert-r1/record.json"])
def test_disks_that_control_groups_limited_are_refused_in_plain_words(
    tmp_path: Path, file: str
) -> None:
    folder = stored(build_campaign(workloads=["insert"], frames=False), tmp_path)
    text = (folder / file).read_text()
    assert '"enforcement": "emulated"' in text
    content = json.loads(
        text.replace('"enforcement": "emulated"', '"enforcement": "cgroup"')
    )
    del content["content_sha256"]
    (folder / file).write_text(json.dumps(content))
    (entry,) = entries(tmp_path)
    assert "limited by control groups, which this version cannot judge" in entry.fault
    with pytest.raises(UsageError) as refused:
        store.load(folder)
    assert "the disks of premium were limited by control groups" in refused.value.what
    assert "with the version that wrote them" in refused.value.advice


@pytest.mark.parametrize("file", ["plan.json", "runs/01-premium-insert-r1/record.json"])
@pytest.mark.parametrize(
    ("version", "said"),
    [
        (99, "schema_version 99; this version of tierbench reads"),
        (0, "an older version wrote it"),
    ],
)
def test_another_version_is_refused_by_name(
    tmp_path: Path, file: str, version: int, said: str
) -> None:
    folder = stored(build_campaign(workloads=["insert"], frames=False), tmp_path)
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**content, "schema_version": version}))
    with pytest.raises(UsageError) as refused:
        store.load(folder)
    assert said in f"{refused.value.what} {refused.value.advice}"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, 2),
        ({"profile": "premium"}, 1),
        ({"profile": "ultra"}, 2),
        ({"workload": "tpcc"}, 1),
        ({"database": "postgresql"}, 2),
        ({"database": "yugabytedb"}, 0),
        ({"since_s": START_S + 1}, 1),
        ({"workload": "insert", "since_s": START_S + 1}, 0),
    ],
)
def test_filters(tmp_path: Path, asked: dict[str, Any], found: int) -> None:
    two_weeks(tmp_path)
    assert sum(entry.is_of(**{**ANY, **asked}) for entry in entries(tmp_path)) == found


def test_what_is_broken_passes_every_filter_but_time() -> None:
    broken = Entry("f", 100.0, fault="why")
    assert broken.is_of("ultra", None, None, None)
    assert not broken.is_of(None, None, None, 200.0)


def test_a_stamp_is_read_back() -> None:
    assert from_stamp(stamp(START_S) + "-name") == START_S
    assert from_stamp("reference-study") is None


# ------------------------------------------------------------------ by name


def test_a_baseline_is_found_by_its_name(tmp_path: Path) -> None:
    one, two = two_weeks(tmp_path)
    assert stored_campaigns.save_baseline(tmp_path, "weekly", one.name) == one
    assert stored_campaigns.baselines(tmp_path) == {"weekly": one.name}
    for text in ("weekly", "baseline:weekly", one.name, str(one)):
        assert stored_campaigns.resolve(tmp_path, text).resolve() == one
    assert stored_campaigns.resolve(tmp_path, "latest").resolve() == two
    assert entries(tmp_path)[-1].baselines == ("weekly",)
    stored_campaigns.save_baseline(tmp_path, "weekly", "latest")
    assert stored_campaigns.resolve(tmp_path, "weekly") == two
    stored_campaigns.remove_baseline(tmp_path, "weekly")
    assert stored_campaigns.baselines(tmp_path) == {}


def test_a_baseline_elsewhere_keeps_its_full_path(tmp_path: Path) -> None:
    (here, there) = tmp_path / "here", tmp_path / "there"
    one, _ = two_weeks(there)
    here.mkdir()
    stored_campaigns.save_baseline(here, "shared", str(one))
    assert stored_campaigns.resolve(here, "shared") == one


def test_names_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    one, _ = two_weeks(tmp_path)
    stored_campaigns.save_baseline(tmp_path, "weekly", one.name)
    shutil.rmtree(one)
    with pytest.raises(UsageError, match="which is no longer a campaign"):
        stored_campaigns.resolve(tmp_path, "weekly")
    with pytest.raises(UsageError, match="nor a baseline; baselines: weekly"):
        stored_campaigns.resolve(tmp_path, "nothing")
    with pytest.raises(UsageError, match="there is no baseline 'nothing'") as error:
        stored_campaigns.remove_baseline(tmp_path, "nothing")
    assert "admin baseline list" in error.value.advice


@pytest.mark.parametrize(
    "name", ["latest", "", "a/b", "../up", "a b", "baseline:x", "-x"]
)
def test_a_baselines_name_cannot_be_mistaken(tmp_path: Path, name: str) -> None:
    one, _ = two_weeks(tmp_path)
    with pytest.raises(UsageError, match="cannot be a baseline's name"):
        stored_campaigns.save_baseline(tmp_path, name, one.name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "does not have the form"),
        ('{"schema_version": 1}', "does not have the form"),
        ('{"schema_version": 2, "baselines": {}}', "schema_version 2; this version"),
    ],
)
def test_a_file_of_baselines_that_cannot_be_read(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "baselines.json").write_text(content)
    with pytest.raises(UsageError, match=message):
        stored_campaigns.baselines(tmp_path)
