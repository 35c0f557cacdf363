"""How commands say what they do: as JSON, a line for each row, quietly, verbosely, in colour."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from orchestrator.cli import main
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.asked import commands, options
from tests.campaigns import build_campaign, stored as store_campaign
from tests.fakes import FakeClock

PROGRAM: Any = typer.main.get_command(main.program)
COMMANDS = dict(commands(PROGRAM))
IN_JSON = {name for name, command in COMMANDS.items() if "--output" in options(command)}
# What each of those that need no database, disk or campaign of their own is called with.
LISTINGS = {
    "list": (),
    "tiers list": ("azure",),
    "history": ("--results", "{results}"),
    "admin baseline list": ("--results", "{results}"),
    "status": ("--results", "{results}"),
    "verify": ("--results", "{results}"),
    "report": ("--results", "{results}"),
    "analyze": ("latest", "--results", "{results}"),
    "doctor": (),
    "validate": (str(ROOT / "profiles/ultra.yaml"),),
    "compare": (
        *("--profiles", "premium ultra", "--workloads", "insert", "--dry-run"),
        *("--scale", "smoke", "--nodes", "1"),
    ),
}
OTHERS = {
    "run",
    "resume",
    "rehearse",
    "check",
    "calibrate",
    "compare-results",
}
OTHERS |= {"observe"}  # test_observe.py
OTHERS |= {"predict", "advise"}  # test_predict.py


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], measure_s=20.0
    )
    store_campaign(made, folder)
    return folder


def said_of(
    name: str, results: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> str:
    given = [word.format(results=results) for word in LISTINGS[name]]
    tierbench(an_app(results / "cache"), *name.split(), *given, *words)
    return capsys.readouterr().out


def test_every_command_that_shows_something_can_show_it_as_json() -> None:
    assert {*LISTINGS, *OTHERS, "disk list"} == IN_JSON


@pytest.mark.parametrize("name", LISTINGS)
def test_json_is_read_by_a_program(
    name: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = said_of(name, results, capsys, "--output=json")
    assert json.loads(said) is not None
    assert said != said_of(name, results, capsys)


def outputs(name: str) -> tuple[str, ...]:
    """The forms that a command takes; none if it shows nothing in forms."""
    for parameter in COMMANDS[name].params:
        if parameter.name == "output":
            return get_args(parameter.type_descriptor.annotation)
    return ()


WITH_AN_ANSWER = {
    "run",
    "compare",
    "resume",
    "rehearse",
    "analyze",
    "report",
    "observe",
}
WITH_AN_ANSWER |= {"predict", "advise"}


@pytest.mark.parametrize("name", sorted(IN_JSON))
def test_what_has_an_answer_has_it_in_every_form(name: str) -> None:
    every = {"table", "json", "name", "md", "summary", "html"}
    assert (set(outputs(name)) == every) == (name in WITH_AN_ANSWER)


@pytest.mark.parametrize("name", sorted(IN_JSON))
def test_a_form_that_a_command_lacks_is_refused_with_those_that_it_has(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = ("table", "json", "name", "md", "summary", "html")
    for form in (*every, "yaml"):
        if form in outputs(name):
            continue
        assert tierbench(an_app(tmp_path), *name.split(), "-o", form) == EXIT_USAGE
        said = capsys.readouterr().err
        assert all(repr(taken) in said for taken in outputs(name)), form


def test_a_script_gets_no_name_where_an_answer_has_a_condition(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("report", "--results", str(results), "-o")
    assert tierbench(an_app(results / "cache"), *words, "json") == EXIT_DONE
    answer = json.loads(capsys.readouterr().out)["answer"]
    assert answer["sureness"]["word"] == "for short windows only"
    assert tierbench(an_app(results / "cache"), *words, "name") == EXIT_DONE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == f"no disk is named: {answer['brief']['what']}"


def test_figures_of_the_catalog_are_numbers_in_json(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = (
        row
        for row in json.loads(said_of("tiers list", results, capsys, "--output=json"))
        if row["name"] == "azure/P15"
    )
    assert (row["iops"], row["size_bytes"]) == ([1100, 1100], [256 * 2**30] * 2)
    assert row["price"]["currency"] == "USD" and row["latency"]["documented"]


def test_a_machine_of_the_catalog_has_its_price_in_the_list(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What says nothing of any of the machines shown is no column; where figures were read stands
    once below them."""
    tierbench(an_app(results / "cache"), "tiers", "list", "--vms", "--provider", "aws")
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "machine", "vCPU", "IOPS", "throughput", "burst", "price",
    ]  # fmt: skip
    (m5,) = (row for row in rows if row.startswith("aws/m5.4xlarge "))
    assert m5.split() == [
        "aws/m5.4xlarge",
        "16",
        "18,750",
        "594",
        "MB/s",
        "–",
        "0.768/hour",
        "USD",
    ]
    (widest,) = (row for row in rows if row.startswith("aws/m6i.32xlarge "))
    assert widest.split()[2] == "160,000", "the longest of a column is whole"
    assert [row.partition(": ")[2] for row in rows[-2:]] == [
        "limits as of 2023-05", "price: region us-east-1, 2026-07-20",
    ]  # fmt: skip
    tierbench(an_app(results / "cache"), "tiers", "list", "--vms", "--provider", "gcp")
    of_gcp = capsys.readouterr().out
    assert of_gcp.splitlines()[-1].count("gcp/n2-standard-8,") == 1, (
        "a machine is named once"
    )
    assert "disk type" in of_gcp


def test_off_a_terminal_a_row_is_a_line(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        line for line in said_of("tiers list", results, capsys).splitlines() if line
    ]
    names = [
        row["name"]
        for row in json.loads(said_of("tiers list", results, capsys, "--output=json"))
    ]
    table = [
        line for line in rows if line.startswith("azure/") and ": " not in line[:60]
    ]
    assert [line.split()[0] for line in table[: len(names)]] == names
    assert max(map(len, rows)) > 80
    named = said_of("list", results, capsys).splitlines()
    assert "  ultra         Azure Ultra Disk" in [row.rstrip() for row in named]
    assert (
        said_of("list", results, capsys, "-o", "name").split()[0] == "profile/premium"
    )
    (*_, row) = said_of("history", results, capsys).splitlines()
    assert "premium and ultra" in row and "insert" in row and "times" in row


# ------------------------------------------------------------------ quiet, verbose, colour


def told(*words: str, is_terminal: bool = False) -> tuple[str, str]:
    """Standard output and error of a listing whose progress says something."""
    streams = io.StringIO(), io.StringIO()
    out, err = (
        LastingConsole(file=file, force_terminal=is_terminal) for file in streams
    )
    progress = ConsoleProgress(err, FakeClock())
    app = an_app(ROOT / ".cache", out=out, err=err, progress=progress)
    assert tierbench(app, "list", *words) == EXIT_DONE
    for second in range(3):
        progress.step(f"measuring: {second} s")
    progress.run("01-premium", 1, 2, 60.0)
    progress.note("a note")
    progress.warn("a warning")
    progress.done()
    return streams[0].getvalue(), streams[1].getvalue()


def test_quiet_leaves_results_and_warnings() -> None:
    out, err = told("--quiet")
    assert "Profiles" in out
    (line,) = err.splitlines()
    assert "a warning" in line


@pytest.mark.parametrize("is_terminal", [False, True])
def test_verbose_says_every_step(is_terminal: bool) -> None:
    assert told("--verbose", is_terminal=is_terminal)[1].count("measuring: ") == 3
    assert told("-v")[1].count("measuring: ") > told()[1].count("measuring: ")


@pytest.mark.parametrize(
    ("words", "no_color", "is_terminal", "coloured"),
    [
        ((), "", True, True),
        ((), "", False, False),
        ((), "1", True, False),
        (("--color", "always"), "", False, True),
        (("--color", "always"), "1", False, True),
        (("--color", "never"), "", True, False),
    ],
)
def test_colour(
    words: tuple[str, ...],
    no_color: str,
    is_terminal: bool,
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    _, err = told(*words, is_terminal=is_terminal)
    (warned,) = (line for line in err.splitlines() if "warning" in line)
    assert ("\x1b[33m" in warned) == coloured
    if words == ("--color", "never"):
        assert "\x1b[3" not in warned


def test_less_and_more_are_refused_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert tierbench(an_app(ROOT / ".cache"), "list", "-q", "-v") == EXIT_USAGE
    assert "give one of them" in capsys.readouterr().err
