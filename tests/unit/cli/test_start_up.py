"""What starting costs: help, the Tab key and what measures nothing import no library for it.

Goal: help, completion and looks at files come at once. Method: the modules that a process of its
own has loaded when it has answered; no clock, which a busy machine would belie. All processes go on
from one that has imported `orchestrator.cli.main` alone, as each start does first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli import main
from orchestrator.cli.commands import commands
from orchestrator.cli.measure.concluding import conclude
from tests.campaigns import build_campaign, stored
from tests.forking import Forking

HEAVY = {
    "docker",
    "jinja2",
    "kubernetes",
    "numpy",
    "orchestrator.keys.schema",  # pydantic itself is what typer reads words with
    "pandas",
    "psycopg",
    "pyarrow",
    "requests",
    "scipy",
    "yaml",
}
PROBE = """
import sys
from orchestrator.cli.main import main
try:
    main()
finally:
    sys.stderr.write(" ".join(sys.modules))
"""
PROGRAM: Any = typer.main.get_command(main.program)
Loaded = Callable[..., tuple[str, set[str]]]


@pytest.fixture
def loaded(starting: Forking) -> Loaded:
    """What `tierbench` says, and the modules it has then."""

    def asked(words: list[str], **environment: str) -> tuple[str, set[str]]:
        ended = starting.run(words, PROBE, environment=environment)
        modules = set(ended.stderr.split())
        assert "orchestrator" in modules, f"the modules were not listed: {ended.stderr}"
        return ended.stdout, modules

    return asked


# How much is left for Python's last collection of garbage to walk through.
AT_THE_END = """
import gc, sys
from orchestrator.cli.main import main
try:
    main()
finally:
    sys.stderr.write(str(len(gc.get_objects())))
"""


def test_the_end_passes_over_what_was_imported(starting: Forking) -> None:
    """For `tierbench list` there are some 45,000 objects."""
    ended = starting.run(["list"], AT_THE_END)
    assert ended.returncode == 0
    assert int(ended.stderr) < 1_000


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "--help"], ["compare", "--help"]]
)
def test_help_loads_nothing_heavy(words: list[str], loaded: Loaded) -> None:
    said, modules = loaded(words)
    assert "Usage: tierbench" in said
    assert modules & HEAVY == set()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ([""], "compare"),
        (["com"], "compare-results"),
        (["compare", "--dr"], "--drain"),
        (["run", "--profile", "ul"], "ultra"),
        (["calibrate", "--profile", "ul"], "ultra"),
        (["rehearse", "--workloads", "point"], "point-select-20"),
        (["clean", "--profile", "ul"], "ultra"),
        (["admin", "helm-values", "ul"], "ultra"),
        (["storage-class", "ul"], "ultra"),
        (["export", "--fo"], "--format"),
        (["tiers", "list", "--min-i"], "--min-iops"),
        (["history", "--tr"], "--trend"),
        (["compare-results", "latest", "--output", "m"], "md"),
        (["admin", "baseline", "se"], "set"),
        (["prices", "update", "--prov"], "--provider"),
        (["check", "--fr"], "--fresh"),
        (["disk", "down", "--keep"], "--keep-data"),
        (["verify", "--res"], "--results"),
        (["init", "--work"], "--workload"),
        (["validate", "--outp"], "--output"),
        (["init", "mine", "--tier", "azure/P1"], "azure/P15"),
        (["disk", "up", "aws/gp"], "aws/gp3"),
        (["report", "lat"], "latest"),
        (["compare", "--db", "yuga"], "yugabytedb"),
        (["tiers", "set", "lat"], "latest"),
    ],
)
def test_completion_loads_nothing_heavy(
    words: list[str], offered: str, loaded: Loaded
) -> None:
    said, modules = loaded(
        [],
        _TIERBENCH_COMPLETE="complete_bash",
        COMP_WORDS="\n".join(("tierbench", *words)),
        COMP_CWORD=str(len(words)),
    )
    assert offered in said.split()
    assert modules & HEAVY == set()


# Libraries of tables, of statistics, of engines and of servers. Files are read with yaml and
# `keys.schema`, and `init` fills its template with jinja2.
FOR_MEASURING = HEAVY - {"yaml", "orchestrator.keys.schema", "jinja2"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list"], "premium-v2"),
        (["tiers", "list"], "azure/P30"),
        (["admin", "schema", "profile"], "question"),
        (["validate", "profiles/premium.yaml"], "without mistakes"),
        (["validate", "workloads/tpcc.yaml"], "without mistakes"),
        (["validate", "workloads/disk-matrix.yaml"], "without mistakes"),
        (["validate", "workloads/oltp_read_write.yaml"], "without mistakes"),
        (["validate", "profiles/clusters/azure-d8s-v5.yaml"], "without mistakes"),
    ],
)
def test_what_measures_nothing_loads_no_library_for_it(
    words: list[str], said: str, loaded: Loaded
) -> None:
    answer, modules = loaded(words)
    assert said in answer
    assert modules & FOR_MEASURING == set()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of which all was judged and its page written."""
    made = build_campaign(profiles=["premium", "ultra"], workloads=["insert", "tpcc"])
    folder = stored(made, tmp_path_factory.mktemp("results"))
    conclude(folder)
    return folder


# What only looks at records and verdicts. NumPy stays, whose arrays statistics are made of; a trend
# is computed anew, with SciPy.
FOR_TABLES = FOR_MEASURING - {"numpy"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("history --results RESULTS", "premium and ultra"),
        ("history --results RESULTS -o json", '"repetitions"'),
        ("report FOLDER", "report: "),
        ("report FOLDER -o summary", "premium"),
        ("report FOLDER -o md", "premium"),
        ("report FOLDER -o json", '"decisions"'),
        ("status FOLDER", "it has ended"),
    ],
)
def test_what_was_judged_is_shown_without_a_library_of_tables(
    command: str, said: str, finished: Path, loaded: Loaded
) -> None:
    words = command.replace("FOLDER", str(finished))
    words = words.replace("RESULTS", str(finished.parent))
    answer, modules = loaded(words.split())
    assert said in answer
    assert modules & FOR_TABLES == set()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("compare --profiles premium,ultra --workloads insert,tpcc", "premium"),
        ("compare --profiles premium,ultra --workloads disk-matrix -o json", '"runs"'),
    ],
)
def test_a_plan_is_shown_without_a_library_of_tables(
    command: str, said: str, loaded: Loaded
) -> None:
    answer, modules = loaded([*command.split(), "--dry-run", "--offline"])
    assert said in answer
    assert modules & FOR_TABLES == set()


@pytest.mark.parametrize("name", commands())
def test_the_list_says_of_a_command_what_the_command_says(name: str) -> None:
    """The list reads it where it is written, because no command is loaded for it."""
    command, listed = PROGRAM.loaded(name), PROGRAM.commands[name]
    assert (command.name, listed.name) == (name, name)
    assert " ".join(listed.help.split()) == " ".join(command.help.split())
