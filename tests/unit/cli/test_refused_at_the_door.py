"""What cannot be meant ends before anything is planned, with the code that says why.

Method: words are given to `tierbench` as a person gives them, on a machine without an engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE
from orchestrator.system import campaign_writing
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.asked import Ask, ask
from tests.campaigns import build_campaign

__all__ = ["ask"]

COMPARE = (
    "compare",
    "--profiles",
    "premium ultra",
    "--workloads",
    "tpcc",
    "--db",
    "postgresql",
)
REFUSED = {
    "a margin that is not a number": (("--margin", "nan"), "percentage"),
    "a negative margin": (("--margin", "-5"), "percentage"),
    "a negative p99 margin": (("--p99-margin", "-5"), "percentage"),
    "a margin above all": (("--margin", "500"), "percentage"),
    "a seed below 0": (("--seed", "-1"), "at least 0"),
    "a seed by which threads draw alike": (
        ("--seed", "100000000"),
        "at most 99,999,999",
    ),
    "a share without its sign": (("--latency-at", "0.7"), "70%"),
    "a share's other spelling": (("--latency-at", ".7"), "neither"),
    "a size in words": (("--set", "warehouses=many"), "--set warehouses=many"),
    "a size of none": (("--set", "warehouses=0"), "--set warehouses=0"),
    "a size that is half": (("--set", "slice_rows=1.5"), "--set slice_rows=1.5"),
    "a switch in words": (
        ("--set", "foreign_keys=perhaps"),
        "--set foreign_keys=perhaps",
    ),
    "a rate in words": (("--set", "arrival_rate=fast"), "--set arrival_rate=fast"),
    "attempts in words": (("--set", "max_attempts=some"), "--set max_attempts=some"),
    "a cost in words": (("--max-cost", "lots"), "--max-cost 'lots' is not an amount"),
    "a cost of no currency": (("--max-cost", "5"), "--max-cost '5' is not an amount"),
    "results in a file": (("--results", "Makefile"), "is a file"),
    "an end that is not asked for": (("--max-repeats", "7"), "--until"),
    "a word in another case": (("--set", "think=Spec"), "--set think=Spec"),
    "weights that are no numbers": (("--set", "weights=²,1,1,1,1"), "--set weights"),
    "a workload that weighs nothing": (
        ("--weights", "tpcc=0"),
        "the weight of tpcc must be a number above zero",
    ),
    "too few weights": (("--set", "weights=45,43"), "5 whole numbers"),
    "weights of nothing": (("--set", "weights=0,0,0,0,0"), "not all 0"),
    "another warm-up": (("--warmup", "long"), "steady"),
    "other windows": (("--windows", "long"), "checkpoints"),
    "another generator": (
        ("--generator", "hammerdb"),
        "--generator may also be benchbase",
    ),
    "names without commas": (("ultra",), "premium,ultra"),
    "a factor that is misspelled": (
        ("--vary", "nodez=3,6"),
        "--vary also takes nodes,",
    ),
    "no stage": (("--without", "cpu"), "--without: a stage is nothing or disk or"),
    "no database": (
        ("--db", "mysql"),
        "known: auto, existing, hdfs, postgresql, yugabytedb",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_that_cannot_be_meant_is_refused(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    words, said = REFUSED[case]
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(ROOT)
    assert tierbench(an_app(tmp_path), *COMPARE, *words, "--dry-run") == EXIT_USAGE
    shown = capsys.readouterr()
    assert said in " ".join(shown.err.split()) and not shown.out


@pytest.mark.parametrize(
    ("words", "is_name"),
    [(("--slo", "p99 < 50"), False), (("--set", "tpc.threads=4"), True)],
)
def test_the_lists_of_names_are_for_who_has_a_wrong_name(
    words: tuple[str, ...], is_name: bool, capsys: Any, tmp_path: Path
) -> None:
    assert tierbench(an_app(tmp_path), *COMPARE, *words, "--dry-run") == EXIT_USAGE
    said = capsys.readouterr().err
    assert "correct it" in said and ("tierbench list" in said) == is_name


def test_a_margin_over_time_has_the_same_range(capsys: Any, tmp_path: Path) -> None:
    words = ("compare-results", "latest", "--margin", "nan", "--results", str(tmp_path))
    assert tierbench(CampaignApp(), *words) == EXIT_USAGE
    assert "percentage" in capsys.readouterr().err


def test_the_least_that_can_be_meant_is_taken(ask: Ask) -> None:
    growing = ("--until", "decided", "--repeats", "2", "--max-repeats", "2")
    plan = ask((*COMPARE, "--margin", "0", *growing)).plan
    assert plan.judging.margin_pct == 0
    assert plan.repeats.repetitions == 2


def test_what_is_meant_is_taken(ask: Ask) -> None:
    said = ("--margin", "0.5", "--latency-at", "0.7/s", "--set", "warehouses=3")
    values = (
        "--set",
        "isolation=Repeatable Read",
        "--set",
        "batches=on",
        "--set",
        "weights=1,0,0,0,0",
    )
    plan = ask((*COMPARE, *said, *values)).plan
    assert plan.judging.margin_pct == 0.5
    assert [load.name for load in plan.workloads] == ["tpcc-at-0.7-per-s"]


def test_names_may_be_separated_by_commas(ask: Ask) -> None:
    words = (
        "compare",
        "--profiles",
        "premium, ultra",
        "--workloads",
        "tpcc,insert",
        "--seed",
        "2",
    )
    spaced = (
        "compare",
        "--profiles",
        "premium ultra",
        "--workloads",
        "tpcc insert",
        "--seed",
        "2",
    )
    assert ask(words).plan == ask(spaced).plan


@pytest.mark.parametrize(
    "words", [("nonesuch",), ("--vms", "nonesuch"), ("--min-iops", "9999999")]
)
def test_a_catalog_without_such_a_row_says_so(
    words: tuple[str, ...], capsys: Any
) -> None:
    assert tierbench(CampaignApp(), "tiers", *words) == EXIT_DONE
    assert "no row of the catalog matches" in capsys.readouterr().out
    assert tierbench(CampaignApp(), "tiers", *words, "--output=json") == EXIT_DONE
    assert json.loads(capsys.readouterr().out) == []


# ------------------------------------------------------------------ stored campaigns


def stored(results: Path) -> Path:
    made = build_campaign(frames=False)
    return campaign_writing.create(
        results, made.plan, made.fingerprint, 1_750_000_000.0
    )


@pytest.mark.parametrize("command", ["report", "analyze"])
def test_a_campaign_is_named_by_its_folder_or_as_latest(
    command: str, tmp_path: Path
) -> None:
    folder, shown = stored(tmp_path), []

    class Showing(CampaignApp):
        def show(self, folder: Path, *_: Any) -> Any:
            shown.append(folder)

        show_again = show

    for name in ("latest", folder.name, str(folder)):
        words = (command, name, "--results", str(tmp_path))
        assert tierbench(Showing(), *words) == EXIT_DONE
    assert {path.resolve() for path in shown} == {folder.resolve()} and len(shown) == 3


@pytest.mark.parametrize("command", ["report", "analyze", "export"])
def test_a_wrong_path_is_named_and_no_other_reason(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    form = ("--format", "csv") if command == "export" else ()
    monkeypatch.setenv("COLUMNS", "300")
    words = (command, "/nonexistent", *form, "--results", str(tmp_path))
    assert tierbench(CampaignApp(), *words) == EXIT_USAGE
    assert "'/nonexistent' is not a campaign" in capsys.readouterr().err
    words = (command, "latest", *form, "--results", str(tmp_path))
    assert tierbench(CampaignApp(), *words) == EXIT_USAGE
    assert f"no campaign in {tmp_path} yet" in " ".join(capsys.readouterr().err.split())


# ------------------------------------------------------------------ exit codes


def test_a_check_without_a_server_is_unavailable(capsys: Any) -> None:
    assert tierbench(CampaignApp(), "check", "--port", "1") == EXIT_UNAVAILABLE
    err = capsys.readouterr().err
    assert "--port" in err and "raw files" not in err


def test_a_reader_who_has_seen_enough_changes_no_exit_code() -> None:
    """1 would say that a contender is worse."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "orchestrator", "tiers", "list"]
    ended = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (EXIT_DONE, "")


def test_a_choice_that_there_is_not_is_refused_in_plain_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [
        "compare",
        "--profiles",
        "premium",
        "--workloads",
        "tpcc",
        "--enforcement",
        "mounted",
    ]
    assert exit_code(words, CampaignApp()) == EXIT_USAGE
    assert "'--enforcement': 'mounted' is not one of" in capsys.readouterr().err
