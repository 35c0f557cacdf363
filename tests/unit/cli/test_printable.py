"""What comes from outside reaches terminal, log and chart as text, whatever is in it.

Method: a stored campaign whose texts are planted with control characters is shown by every command
that shows one, and as every file of a report.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

from orchestrator.analysis.results import Results
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from orchestrator.model import Note, Run
from orchestrator.texts.foreign_text import csv_row, printable
from tests.apps import an_app, tierbench
from tests.campaigns import build_campaign, stored

pytestmark = pytest.mark.draws

# Retitles a terminal, clears it, the same with an 8-bit control, turns direction round.
PLANTED = "\x1b]0;PWNED\x07\x1b[2J\x9b2J\u202e\x01\x7f"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
COMMANDS = (
    "report",
    "report --output=json",
    "report -o summary",
    "report -o md",
    "analyze",
    "analyze --output=json",
    "verify",
    "status",
    "status --output=json",
    "history",
    "history --output=json",
    "export --format csv",
    "export --format junit",
    "export --format openmetrics",
)


# Commands that show names and figures, and no text that somebody wrote.
NAMES_ALONE = ("verify", "status", "history", "export")
NAME = "=cmd|calc!A0"  # a name with control characters in it is refused


def planted(campaign: Results) -> Results:
    """Its titles, notes and machine with control characters in them; a name that is a formula."""
    profiles = []
    for profile in campaign.plan.profiles:
        tier = replace(profile.tier, title=f"{profile.tier.title}{PLANTED}")
        name = renamed(profile.name)
        profiles.append(replace(profile, name=name, tier=tier, question=PLANTED))
    plan = replace(
        campaign.plan,
        profiles=tuple(profiles),
        notes=(Note("no effect", f"a note{PLANTED}"),),
        runs=tuple(run_renamed(run) for run in campaign.plan.runs),
    )
    runs = []
    for data in campaign.runs:
        record = replace(data.record, run=run_renamed(data.record.run))
        (profile,) = [one for one in profiles if one.name == record.run.profile]
        record = replace(record, profile=profile)
        runs.append(replace(data, record=record))
    machine = dict.fromkeys(("cpu_model", "kernel", "hostname", "command"), PLANTED)
    facts = {**campaign.fingerprint, **machine}
    return replace(campaign, plan=plan, runs=tuple(runs), fingerprint=facts)


def renamed(profile: str) -> str:
    return NAME if profile == "ultra" else profile


def run_renamed(run: Run) -> Run:
    return replace(run, profile=renamed(run.profile))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["tpcc"],
        repetitions=3,
        frames=False,
    )
    return stored(planted(made), tmp_path_factory.mktemp("results"))


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_shows_a_control_character(
    folder: Path, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command, *options = words.split()
    named = [str(folder)]
    if command == "history":
        named = ["--results", str(folder.parent)]
    exit_code([command, *named, *options], CampaignApp())
    out, err = capfd.readouterr()
    shows_names_alone = command in NAMES_ALONE or "summary" in options
    assert "PWNED" in out + err or shows_names_alone
    assert "Traceback" not in err
    assert CONTROL.findall(out + err) == []
    if "--output=json" in options and command not in NAMES_ALONE:
        assert "PWNED" in str(json.loads(out))


def test_no_file_of_a_report_has_one(folder: Path) -> None:
    assert exit_code(["analyze", str(folder)], CampaignApp()) == EXIT_DONE
    for name in ("report.html", "report.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "PWNED" in text
        assert [found for found in CONTROL.findall(text) if found != "\x7f"] == []
    charts = list((folder / "charts").glob("*.svg"))
    assert charts
    for chart in charts:
        assert CONTROL.findall(chart.read_text(encoding="utf-8")) == []


def test_tables_and_styled_texts_are_shown_as_plain_ones() -> None:
    shown = io.StringIO()
    console = LastingConsole(file=shown)
    table = Table(f"head{PLANTED}", title=PLANTED)
    table.add_row(Text(f"a{PLANTED}", style="bold"))
    table.add_row(f"password=s3cret{PLANTED}")
    console.print(table, Text.assemble((PLANTED, "red"), "password=s3cret"))
    assert CONTROL.findall(shown.getvalue()) == []
    assert "s3cret" not in shown.getvalue() and "\\x1b]0;PWNED" in shown.getvalue()


def test_what_is_printable_stays_as_it_is() -> None:
    text = "größe µs 3×10⁶ − “quoted” → \t日本\n"
    assert printable(text) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=cmd|calc!A0", "'=cmd|calc!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-5.25", "-5.25"),
        ("+3", "+3"),
        (-5.25, -5.25),
        ("premium", "premium"),
        ("a=b", "a=b"),
        (None, None),
    ],
)
def test_a_text_in_csv_is_no_formula_and_a_number_stays(value: Any, shown: Any) -> None:
    assert csv_row({"name": value}) == {"name": shown}


def test_an_export_has_no_formula(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["export", str(folder), "--format", "csv"]
    assert exit_code(words, CampaignApp()) == EXIT_DONE
    rows = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    names = {row["profile"] for row in rows}
    assert names == {"premium", printable(f"'{NAME}")}
    assert all(float(row["value"]) >= 0 for row in rows)


@pytest.mark.parametrize(
    "name", [b"bad\x01name.yaml", b"bad\x1b[2Jname.yaml", b"gr\xf6sse.yaml"]
)
def test_a_file_whose_name_cannot_be_shown_is_refused(
    name: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The library that draws charts ended the whole program at the first of these."""
    source = Path(__file__).parents[3] / "profiles" / "premium.yaml"
    file = tmp_path / os.fsdecode(name)
    file.write_bytes(source.read_bytes())
    words = ["rehearse", "--profiles", f"premium {file}"]
    words += ["--results", str(tmp_path / "results")]
    assert tierbench(an_app(tmp_path), *words) == EXIT_USAGE
    error = capfd.readouterr().err
    assert "not UTF-8 text in one line" in error
    assert CONTROL.findall(error) == []
