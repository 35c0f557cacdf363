"""A campaign that was judged is shown as it was found, and judged anew where anything changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.analysis.results import Results
from orchestrator.cli import concluding
from orchestrator.cli.kept_answers import kept_answer
from orchestrator.errors import EXIT_DONE
from orchestrator.registry.references import CORE
from orchestrator.system import run_tables, store
from tests.apps import an_app, tierbench
from tests.calls import calls_of
from tests.campaigns import build_campaign, in_files, stored

WHOLE = build_campaign(
    profiles=["premium", "ultra"], workloads=["insert", "tpcc"], repetitions=2
)
ONE = build_campaign(profiles=["premium"], workloads=["tpcc"], repetitions=1)


def made(campaign: Results, results: Path) -> Path:
    """The campaign with its tables, in a folder."""
    return results / in_files(campaign, results, rows=10_000).name


def words_of(folder: Path) -> list[list[str]]:
    return [
        ["report", str(folder)],
        ["report", str(folder), "-o", "json"],
        ["report", str(folder), "-o", "summary"],
        ["report", str(folder), "-o", "md"],
        ["report", str(folder), "-o", "html"],
    ]


@pytest.mark.parametrize("campaign", [WHOLE, ONE], ids=["several", "one profile"])
def test_what_is_kept_is_shown_as_what_is_judged(
    campaign: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made(campaign, tmp_path)
    app = an_app(tmp_path / "cache")
    concluding.conclude(folder)
    shown: dict[str, list[str]] = {"kept": [], "judged": []}
    for way in shown:
        if way == "judged":
            (folder / "judged.json").unlink()
        assert (kept_answer(folder) is not None) == (way == "kept")
        for words in words_of(folder):
            assert tierbench(app, *words) == EXIT_DONE
            shown[way].append(capsys.readouterr().out)
    assert shown["kept"] == shown["judged"]


def test_no_table_is_read_of_what_is_kept(tmp_path: Path) -> None:
    folder = made(WHOLE, tmp_path)
    app = an_app(tmp_path / "cache")
    concluding.conclude(folder)
    watched = {"tables": run_tables.is_table}
    words = ["report", str(folder)]
    assert calls_of(watched, lambda: tierbench(app, *words)).get("tables", 0) == 0
    (folder / "judged.json").unlink()
    assert calls_of(watched, lambda: tierbench(app, *words))["tables"] > 0


def _other_verdict(folder: Path) -> None:
    """With a checksum that fits, as only this program writes it."""
    file = folder / store.VERDICT
    content = json.loads(file.read_text())
    content["decisions"][0]["tier"] = "another"
    file.write_text(json.dumps(content))


def _touch_samples(folder: Path) -> None:
    file = next(folder.glob("runs/*/samples.parquet"))
    os.utime(file, (1.0, 1.0))


def _other_record(folder: Path) -> None:
    file = next(folder.glob("runs/*/record.json"))
    file.write_text(file.read_text() + " ")


def _without_a_run(folder: Path) -> None:
    next(folder.glob("runs/*/record.json")).unlink()


def _predicted(folder: Path) -> None:
    store.save_predictions(folder, [], CORE)


@pytest.mark.parametrize(
    "change",
    [_other_verdict, _touch_samples, _other_record, _without_a_run, _predicted],
)
def test_what_was_made_of_other_files_is_not_shown(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = made(WHOLE, tmp_path)
    concluding.conclude(folder)
    assert kept_answer(folder) is not None
    change(folder)
    assert kept_answer(folder) is None


def test_nothing_is_kept_of_a_campaign_that_goes_on(tmp_path: Path) -> None:
    folder = stored(WHOLE, tmp_path)
    _without_a_run(folder)
    concluding.conclude(folder)
    assert kept_answer(folder) is None
