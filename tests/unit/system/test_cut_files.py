"""Files of a campaign and price lists that were cut: named and passed over, never a traceback.

Method: each file of a stored campaign is cut at every k-th byte, and the campaign is judged.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from orchestrator import tier_catalog
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.app import App
from orchestrator.cli.main import program
from orchestrator.cli.measure import concluding as command
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import UsageError
from orchestrator.model import Note
from orchestrator.system import (
    campaign_writing,
    store,
    stored_campaigns,
    unfinished_runs,
)
from orchestrator.tier_catalog import price_lists
from tests.campaign_tables import sampled_in
from tests.campaigns import build_campaign, stored
from tests.catalog import CATALOG

CUTS = 4
RUN = "runs/01-premium-insert-r1"
FILES = (
    *("plan.json", "fingerprint.json", "gates.json", "verdict.json"),
    *(f"{RUN}/{name}" for name in ("record.json", "intervals.csv", "samples.parquet")),
    f"{RUN}/latencies.parquet",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged campaign of four runs with all its tables."""
    made = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        measure_s=20.0,
    )
    folder = stored(made, tmp_path_factory.mktemp("sound"))
    for one in made.runs:
        window = next(phase for phase in one.record.phases if phase.name == "measure")
        starts_s = [window.start_s + k / 10 for k in range(100)]
        transactions = (
            pd.DataFrame(
                {
                    "start_s": starts_s,
                    "latency_s": 0.001,
                    "queue_s": 0.0,
                    "type": "insert",
                }
            )
            .assign(outcome=0, retries=0, sqlstate="")
            .astype({"type": "category", "sqlstate": "category"})
        )
        run = campaign_writing.run_folder(folder, one.record.run)
        campaign_writing.save_run(
            run, one.record, one.intervals, [transactions], [sampled_in(one)]
        )
    campaign_writing.save_gates(
        folder, [one.record.gate for one in made.runs if one.record.gate]
    )
    campaign_writing.save_verdict(folder, judge(made))
    return folder


def cut(folder: Path, file: str) -> Iterator[int]:
    """Cuts the file again and again; yields how many bytes are left."""
    content = (folder / file).read_bytes()
    last = len(content) - 2  # without its last line break, JSON is still whole
    for left in sorted({*range(0, last, len(content) // CUTS), last}):
        (folder / file).write_bytes(content[:left])
        yield left
    (folder / file).write_bytes(content)


@pytest.mark.parametrize("file", [one for one in FILES if one != "plan.json"])
def test_what_was_cut_is_named_and_passed_over(
    sound: Path, tmp_path: Path, file: str
) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    sound_plan = store.load(sound).plan
    for left in cut(folder, file):
        if file.endswith(".csv") and (folder / file).read_bytes().endswith(b"\n"):
            continue  # a shorter table: it is on the disk before the record that makes it count
        campaign, verdict = command.judged(folder)
        assert verdict.decisions, left
        listed = stored_campaigns.entry(folder, {})
        if file == "verdict.json":  # it is made anew
            assert file in listed.fault
            continue
        (note,) = campaign.plan.notes
        assert note.text.startswith(f"left out: {file} does not have the form"), left
        assert len(campaign.runs) == 4 - file.endswith("record.json")
        again = store.load(folder)
        campaign_writing.save_plan(folder, again.plan)
        assert store.load(folder).plan.notes == (note,), (
            "named once, however often it is read"
        )
        campaign_writing.save_plan(folder, sound_plan)


def test_a_campaign_without_a_whole_plan_is_refused_by_name(
    sound: Path, tmp_path: Path
) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    for _ in cut(folder, "plan.json"):
        with pytest.raises(UsageError, match=r"plan\.json does not have the form"):
            command.judged(folder)
        assert "plan.json does not have" in stored_campaigns.entry(folder, {}).fault


def test_the_report_names_all_that_was_cut(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    files = [
        one for one in FILES if not one.startswith(("plan", "verdict", f"{RUN}/record"))
    ]
    for file in files:
        (folder / file).write_bytes((folder / file).read_bytes()[:-7])
    done = CliRunner().invoke(program, ["analyze", str(folder)], obj=CampaignApp())
    assert done.exception is None, done.output
    report = (folder / "report.md").read_text()
    assert [file for file in files if file not in report] == []


def test_history_and_comparisons_name_what_was_cut(sound: Path, tmp_path: Path) -> None:
    for name in (sound.name, "later"):
        shutil.copytree(sound, tmp_path / name)
    file = tmp_path / "later" / RUN / "record.json"
    file.write_bytes(file.read_bytes()[:-7])
    said = f"left out: {RUN}/record.json does not have the form"

    def told(*words: str) -> str:
        done = CliRunner().invoke(
            program, [*words, "--results", str(tmp_path)], obj=App()
        )
        assert done.exception is None or isinstance(done.exception, SystemExit), (
            done.output
        )
        return " ".join(done.output.split())

    assert said in told("history") and said in told("history", "--output=json")
    for form in ((), ("--output=json",), ("--output=md",)):
        words = told(
            "compare-results", sound.name, "later", "--accept-inconclusive", *form
        )
        assert f"later: {said}" in words


def test_names_of_campaigns_that_were_cut_stop_nothing(
    sound: Path, tmp_path: Path
) -> None:
    shutil.copytree(sound, tmp_path / sound.name)
    assert stored_campaigns.save_baseline(tmp_path, "weekly", sound.name)
    file = tmp_path / "baselines.json"
    whole = file.read_bytes()
    for left in range(0, len(whole) - 2, 7):
        file.write_bytes(whole[:left])
        done = CliRunner().invoke(
            program, ["history", "--results", str(tmp_path)], obj=App()
        )
        assert done.exit_code == 0 and sound.name in done.output
        assert "baselines.jsondoesnothavetheform" in "".join(
            done.output.split()
        )  # it may be wrapped
        with pytest.raises(
            UsageError, match=r"baselines\.json does not have the form"
        ) as refused:
            stored_campaigns.resolve(tmp_path, "weekly")
        assert "`tierbench admin baseline set`" in refused.value.advice
        stored_campaigns.save_baseline(tmp_path, "new", sound.name)
        assert stored_campaigns.baselines(tmp_path) == {"new": sound.name}
        assert (tmp_path / "baselines.json.unreadable").read_bytes() == whole[:left]


def test_names_that_a_newer_version_wrote_stay(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / sound.name)
    file = tmp_path / "baselines.json"
    file.write_text('{"schema_version": 99, "baselines": {}}')
    with pytest.raises(UsageError, match="schema_version 99"):
        stored_campaigns.save_baseline(tmp_path, "new", sound.name)
    assert "99" in file.read_text()


def test_a_change_of_limits_that_was_cut_still_counts_as_one(tmp_path: Path) -> None:
    changes = [
        {"time_s": 1.0, "set": {"iops": 4000}},
        {"time_s": 2.0, "refused": {"iops": 500}},
    ]
    (tmp_path / "raw").mkdir()
    file = tmp_path / "raw/limit-changes.jsonl"
    unfinished_runs.keep_limit_change(tmp_path, changes[0])
    whole = file.read_bytes()
    for left in range(1, len(whole) - 1):
        file.write_bytes(whole[:left])
        assert len(unfinished_runs.limit_changes(tmp_path)) == 1, left
    file.write_text("")
    unfinished_runs.keep_limit_change(tmp_path, changes[1])
    assert unfinished_runs.limit_changes(tmp_path) == [], (
        "the change that it refers to was lost"
    )


def test_a_table_with_a_hole_is_named_and_passed_over(
    sound: Path, tmp_path: Path
) -> None:
    """A block in the middle that the disk has lost: lines around it are joined, or it is zeros."""
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    file = folder / RUN / "intervals.csv"
    whole, noted = file.read_bytes(), list[Note]()
    sound_plan = store.load(sound).plan
    for begin in range(0, len(whole) - 60, len(whole) // 16):
        for length in (17, 43):
            for filler in (b"", b"\0" * length):
                file.write_bytes(whole[:begin] + filler + whole[begin + length :])
                notes = store.load(folder).plan.notes
                if not notes or not noted:  # without the table all are judged alike
                    assert command.judged(folder)[1].decisions
                    campaign_writing.save_plan(folder, sound_plan)
                noted += notes
    assert all(one.text.startswith(f"left out: {RUN}/intervals.csv ") for one in noted)
    assert len(noted) > 48, "of 64; digits that a number has lost cannot be seen"


def test_a_price_list_that_was_cut_is_refused_by_name_or_whole_up_to_there() -> None:
    prices = {"azure/P15": {"per_disk": 30.0}, "azure/premium-v2": {"per_gib": 0.07}}
    text = price_lists.format_list(
        prices, "EUR", "westeurope", "2026-11-01", "our contract"
    )
    taken: list[int] = []
    for left in range(len(text)):
        try:
            tier_catalog.with_prices(CATALOG, {"mine.yaml": text[:left]})
        except UsageError as error:
            assert "mine.yaml" in f"{error.what} {error.mistakes}"
        else:
            taken.append(left)
    assert taken and taken[0] > text.index("per_disk:"), "none before its first price"
