"""A results folder is what its plan says: whatever else lies in it is named and counts for nothing.

Method: a stored campaign is changed as persons, disks and strangers do, and read again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis import results
from orchestrator.cli.look import verify
from orchestrator.cli.measure import concluding
from orchestrator.errors import UsageError
from orchestrator.keys import plain_files
from orchestrator.model import Run
from orchestrator.system import (
    campaign_writing,
    file_checksums,
    run_folders,
    store,
    unfinished_runs,
)
from tests.campaigns import build_campaign, stored

FIRST = "01-premium-insert-r1"


@pytest.fixture(name="campaign")
def stored_runs(tmp_path: Path) -> Path:
    """A stored campaign of four runs."""
    made = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        measure_s=20.0,
    )
    return stored(made, tmp_path / "results")


def edited(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes a file as a person does, with an editor."""
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def numbers(folder: Path) -> list[int]:
    return [run.record.run.number for run in store.load(folder).runs]


def named(folder: Path) -> str:
    """What is said to be left out, or changed."""
    return "; ".join(results.left_out(store.load(folder)))


def record(folder: Path, run: str = FIRST) -> Path:
    return folder / "runs" / run / "record.json"


# ------------------------------------------------------------------ folders of runs


@pytest.mark.parametrize("name", ["99-copy", f"{FIRST} (copy)", ".01-before"])
def test_a_copied_run_is_no_repetition(campaign: Path, name: str) -> None:
    shutil.copytree(campaign / "runs" / FIRST, campaign / "runs" / name)
    assert numbers(campaign) == [1, 2, 3, 4]
    assert name in named(campaign)


def test_a_record_in_the_folder_of_another_run_is_left_out(campaign: Path) -> None:
    (other,) = (campaign / "runs").glob("03-*")
    shutil.copy(record(campaign), other / "record.json")
    assert numbers(campaign) == [1, 2, 4]
    assert f"runs/{other.name} has the record of {FIRST}" in named(campaign)


def test_a_record_of_another_tier_is_left_out(campaign: Path) -> None:
    (other,) = (campaign / "runs").glob("*-ultra-insert-r1")
    profile = json.loads((other / "record.json").read_text())["profile"]
    edited(record(campaign), lambda content: content.update(profile=profile))
    assert 1 not in numbers(campaign)
    assert "the record of ultra × insert" in named(campaign)


def test_a_folder_without_a_record_is_no_trouble(campaign: Path) -> None:
    (campaign / "runs" / "notes of a person").mkdir()
    (campaign / "runs" / ".DS_Store").write_text("x")
    assert numbers(campaign) == [1, 2, 3, 4]
    assert named(campaign) == ""
    assert unfinished_runs.in_progress(campaign) is None


def test_a_name_that_is_not_utf_8_can_be_shown(campaign: Path) -> None:
    copy = campaign / "runs" / os.fsdecode(b"01-\xff")
    shutil.copytree(campaign / "runs" / FIRST, copy)
    assert numbers(campaign) == [1, 2, 3, 4]
    assert named(campaign).encode()


def test_a_folder_of_runs_that_is_a_link_is_refused(campaign: Path) -> None:
    (campaign / "runs").rename(campaign / "elsewhere")
    (campaign / "runs").symlink_to("elsewhere")
    with pytest.raises(UsageError, match="runs is a link"):
        store.load(campaign)


# ------------------------------------------------------------------ plain files


def a_pipe(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def a_link(file: Path) -> None:
    file.rename(file.with_suffix(".kept"))
    file.symlink_to(file.with_suffix(".kept").name)


def a_device(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/zero")


def a_folder(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.mkdir()


STRANGE = [a_pipe, a_link, a_device, a_folder]


@pytest.mark.parametrize("put", STRANGE)
@pytest.mark.parametrize("name", ["record.json", "intervals.csv", "raw/client.log"])
def test_a_run_with_a_file_that_is_not_plain_is_left_out(
    campaign: Path, name: str, put: Callable[[Path], None]
) -> None:
    file = campaign / "runs" / FIRST / name
    if not file.exists():
        file.write_text("")
    put(file)
    if put is a_folder and name != "record.json":
        return  # then there is no such file, as if it was never written
    assert numbers(campaign) == [2, 3, 4]
    assert f"runs/{FIRST}" in named(campaign)


@pytest.mark.parametrize("put", STRANGE)
@pytest.mark.parametrize("name", ["fingerprint.json", "gates.json"])
def test_a_file_beside_the_plan_that_is_not_plain_is_left_out(
    campaign: Path, name: str, put: Callable[[Path], None]
) -> None:
    campaign_writing.save_gates(campaign, [])
    put(campaign / name)
    assert numbers(campaign) == [1, 2, 3, 4]
    assert name in named(campaign)


@pytest.mark.parametrize("put", STRANGE)
def test_a_plan_that_is_not_plain_is_refused(
    campaign: Path, put: Callable[[Path], None]
) -> None:
    put(campaign / "plan.json")
    with pytest.raises(UsageError, match="plan"):
        store.load(campaign)


def test_a_file_that_is_too_large_is_left_out(campaign: Path) -> None:
    os.truncate(record(campaign), plain_files.MOST_BYTES + 1)
    assert numbers(campaign) == [2, 3, 4]
    assert "larger than" in named(campaign)


def test_a_campaign_with_a_record_that_is_too_large_is_judged(campaign: Path) -> None:
    os.truncate(record(campaign), plain_files.MOST_BYTES + 1)
    judged, _ = concluding.found(campaign)
    assert [run.record.run.number for run in judged.runs] == [2, 3, 4]
    assert "is larger than" in "; ".join(results.left_out(judged))


def test_verify_waits_for_no_pipe(campaign: Path) -> None:
    raw = campaign / "runs" / FIRST / "raw"
    a_pipe(raw / "client.log")
    a_pipe(record(campaign, "02-ultra-insert-r1"))
    said = str(list(verify.checks(campaign)))
    assert FIRST in said
    assert "02-ultra-insert-r1" in said


@pytest.mark.parametrize("name", ["../../plan.json", "/etc/passwd", "raw/../x", ""])
def test_a_checksum_of_a_file_elsewhere_is_a_difference(
    campaign: Path, name: str
) -> None:
    checksum = {"bytes": 1, "sha256": "00"}
    edited(record(campaign), lambda content: content.update(files={name: checksum}))
    (said,) = file_checksums.differences(record(campaign))
    assert "is not a file of this run" in str(said)


# ------------------------------------------------------------------ names and numbers


@pytest.mark.parametrize("name", ["x/../../../../victim", "/etc", "a\0b", "a\nb"])
def test_no_folder_of_a_run_leaves_its_campaign(tmp_path: Path, name: str) -> None:
    run = Run(1, name, "insert", 1)
    for reach in (
        run_folders.path_of,
        campaign_writing.run_folder,
        unfinished_runs.put_aside,
    ):
        with pytest.raises(UsageError, match="name"):
            reach(tmp_path, run)
    assert list(tmp_path.iterdir()) == []


def renamed(content: Any, before: str, after: str) -> Any:
    """All of it, with another name where this one stands."""
    text = json.dumps(content).replace(f'"{before}"', json.dumps(after))
    return json.loads(text)


@pytest.mark.parametrize(
    "name", ["../../victim", "a\0b", "\udcff", "\x1b[2J", "", ".."]
)
def test_a_plan_with_a_name_that_no_folder_has_is_refused(
    campaign: Path, name: str
) -> None:
    plan = campaign / "plan.json"
    plan.write_text(json.dumps(renamed(json.loads(plan.read_text()), "ultra", name)))
    with pytest.raises(UsageError, match=r"plan\.json"):
        store.load(campaign)


Change = Callable[[dict[str, Any]], None]


def in_measurement(value: float) -> Change:
    def change(content: dict[str, Any]) -> None:
        content["measurements"][0]["value"] = value

    return change


def in_phase(end_s: float) -> Change:
    def change(content: dict[str, Any]) -> None:
        content["phases"][-1]["end_s"] = end_s

    return change


def in_facts(value: object) -> Change:
    def change(content: dict[str, Any]) -> None:
        content["facts"]["odd"] = [{"deep": [value]}]

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(in_measurement(value) for value in (1e308, float("nan"), float("inf"))),
        *(in_phase(end_s) for end_s in (1e300, -1e300, float("nan"))),
        *(in_facts(value) for value in (10**30, 10**400, -1e308, "\ud800")),
    ],
)
def test_a_record_with_a_figure_that_nothing_has_is_left_out(
    campaign: Path, change: Change
) -> None:
    edited(record(campaign), change)
    assert numbers(campaign) == [2, 3, 4]
    assert f"runs/{FIRST}/record.json" in named(campaign)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_a_fact_that_is_no_number_costs_no_run(campaign: Path, value: object) -> None:
    """Facts are quotients, too, of which earlier releases kept what came out."""
    edited(record(campaign), in_facts(value))
    assert numbers(campaign) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text", ["[" * 5000 + "]" * 5000, '{"a":' * 300 + "1" + "}" * 300, '{"a":1,"a":2}']
)
def test_a_fingerprint_that_nothing_writes_is_left_out(
    campaign: Path, text: str
) -> None:
    (campaign / "fingerprint.json").write_text(text)
    assert numbers(campaign) == [1, 2, 3, 4]
    assert "fingerprint.json" in named(campaign)


def margin(value: float) -> Change:
    return lambda content: content.update(margin_pct=value)


def price(monthly: float) -> Change:
    def change(content: dict[str, Any]) -> None:
        content["profiles"][0]["tier"]["price"]["monthly"] = monthly

    return change


def same_number(content: dict[str, Any]) -> None:
    content["runs"][1]["number"] = content["runs"][0]["number"]


def unknown_tier(content: dict[str, Any]) -> None:
    content["runs"][1]["profile"] = "nobody"


def same_name(content: dict[str, Any]) -> None:
    content["profiles"][1] = content["profiles"][0]


def no_such_baseline(content: dict[str, Any]) -> None:
    content["baseline"] = "nobody"


@pytest.mark.parametrize(
    "change",
    [
        *(margin(value) for value in (-5.0, 100.0, float("nan"), float("inf"), 1e30)),
        *(price(monthly) for monthly in (-1.0, float("nan"))),
        *(same_number, unknown_tier, same_name, no_such_baseline),
    ],
)
def test_a_plan_that_nothing_plans_is_refused(campaign: Path, change: Change) -> None:
    edited(campaign / "plan.json", change)
    with pytest.raises(UsageError, match=r"plan\.json does not have the form"):
        store.load(campaign)


# ------------------------------------------------------------------ changed since


def test_what_was_changed_by_hand_is_named(campaign: Path) -> None:
    assert named(campaign) == ""
    edited(record(campaign), in_measurement(12_345.0))
    edited(campaign / "plan.json", margin(50.0))
    assert numbers(campaign) == [1, 2, 3, 4]
    said = named(campaign)
    assert f"changed since it was written: runs/{FIRST}/record.json" in said
    assert "changed since it was written: plan.json" in said


def test_another_layout_of_the_same_content_is_no_change(campaign: Path) -> None:
    edited(record(campaign), lambda content: None)
    assert named(campaign) == ""


def test_a_file_of_an_earlier_release_has_no_checksum_of_its_own(
    campaign: Path,
) -> None:
    edited(record(campaign), lambda content: content.pop("content_sha256"))
    assert named(campaign) == ""
