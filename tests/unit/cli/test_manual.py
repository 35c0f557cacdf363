"""The manual page: kept as the program makes it, and in macros that `man` knows."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess

import pytest

from orchestrator.cli.commands import COMMANDS
from tests import ROOT, golden, manual
from tests.asked import OF_ALL

TEXT = (ROOT / "docs" / "tierbench.1").read_text()
SECTIONS = [
    *(
        "NAME",
        "SYNOPSIS",
        "COMMANDS",
        "OPTIONS OF ALL COMMANDS",
        "ENVIRONMENT",
        "FILES",
    ),
    "EXIT STATUS",
]


def test_the_kept_page_is_the_programs() -> None:
    golden.compare(str(manual.PAGE), manual.page())


def test_its_sections_and_macros_are_those_of_a_manual_page() -> None:
    lines = TEXT.splitlines()
    assert lines[0].startswith(".TH TIERBENCH 1 ")
    assert [
        line.removeprefix(".SH ") for line in lines if line.startswith(".SH ")
    ] == SECTIONS
    macros = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    assert macros == {
        ".TH",
        ".SH",
        ".SS",
        ".TP",
        ".PP",
        ".RS",
        ".RE",
        ".B",
        ".I",
        ".br",
    }
    assert lines.count(".RS") == lines.count(".RE")
    for before, line in itertools.pairwise(lines):
        assert line, "an empty line is a break that no macro asked for"
        assert not (
            before == ".TP" and line.startswith(".") and not line.startswith(".I ")
        )
    escapes = set(re.findall(r"\\(.(?:aq)?)", TEXT))
    assert escapes <= {"f", "-", "e", "&", "(aq", "["} and TEXT.isascii()


def test_every_command_and_option_is_in_it() -> None:
    text = TEXT.replace("\\-", "-")
    for name in COMMANDS:
        assert re.search(rf"\\fBtierbench {name}\b", text), name
    options = set(re.findall(r"\\fB(--[a-z][a-z0-9-]*)\\fR", text))
    documented = (ROOT / "docs" / "OPTIONS.md").read_text().split("## Variables")[0]
    of_typer = {"--install-completion", "--show-completion"}
    assert (
        options | of_typer
        >= set(re.findall(r"`(--[a-z][a-z0-9-]*)`", documented)) | OF_ALL
    )


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed here")
def test_groff_warns_of_nothing() -> None:
    words = ["groff", "-man", "-Tutf8", "-ww", "-z", "-P-c", str(manual.PAGE)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    shown = subprocess.run(
        ["groff", "-man", "-Tascii", "-P-cbou", str(manual.PAGE)],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    assert "tierbench compare" in shown and "--max-cost" in shown
