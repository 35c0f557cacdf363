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
from orchestrator.cli import campaign as command
from orchestrator.cli.main import app
from orchestrator.errors import UsageError
from orchestrator.system import store, stored_campaigns
from orchestrator.tier_catalog import price_lists
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
        profiles=["premium", "ultra"], workloads=["insert"], repetitions=2, measure_s=20.0
    )
    folder = stored(made, tmp_path_factory.mktemp("sound"))
    for one in made.runs:
        window = next(phase for phase in one.record.phases if phase.name == "measure")
        starts_s = [window.start_s + k / 10 for k in range(100)]
        transactions = (
            pd.DataFrame(
                {"start_s": starts_s, "latency_s": 0.001, "queue_s": 0.0, "type": "insert"}
            )
            .assign(outcome=0, retries=0, sqlstate="")
            .astype({"type": "category", "sqlstate": "category"})
        )
        run = store.run_folder(folder, one.record.run)
        store.save_run(run, one.record, one.intervals, [transactions], [one.samples])
    store.save_gates(folder, [one.record.gate for one in made.runs if one.record.gate])
    store.save_verdict(folder, judge(made))
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
def test_what_was_cut_is_named_and_passed_over(sound: Path, tmp_path: Path, file: str) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
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
        store.save_plan(folder, again.plan)
        assert store.load(folder).plan.notes == (note,), "named once, however often it is read"
        store.save_plan(folder, store.load(sound).plan)


def test_a_campaign_without_a_whole_plan_is_refused_by_name(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    for _ in cut(folder, "plan.json"):
        with pytest.raises(UsageError, match=r"plan\.json does not have the form"):
            command.judged(folder)
        assert "plan.json does not have" in stored_campaigns.entry(folder, {}).fault


def test_the_report_names_all_that_was_cut(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    files = [one for one in FILES if not one.startswith(("plan", "verdict", f"{RUN}/record"))]
    for file in files:
        (folder / file).write_bytes((folder / file).read_bytes()[:-7])
    done = CliRunner().invoke(app, ["analyze", str(folder)])
    assert done.exception is None, done.output
    report = (folder / "report.md").read_text()
    assert [file for file in files if file not in report] == []


def test_a_price_list_that_was_cut_is_refused_by_name_or_whole_up_to_there() -> None:
    prices = {"azure/P15": {"per_disk": 30.0}, "azure/premium-v2": {"per_gib": 0.07}}
    text = price_lists.format_list(prices, "EUR", "westeurope", "2026-11-01", "our contract")
    for left in range(len(text)):
        try:
            tier_catalog.with_prices(CATALOG, {"mine.yaml": text[:left]})
        except UsageError as error:
            assert "mine.yaml" in f"{error.what} {error.mistakes}"
