"""What starting costs: help, the Tab key and what measures nothing import no library for it.

Goal: help, completion and looks at files come at once. Method: the modules that a process of its
own has loaded when it has answered; no clock, which a busy machine would belie. All processes go on
from one that has imported `orchestrator.cli.main` alone, as each start does first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
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
# Gives one process all command lines that it is told of. Says what each has said, and the modules
# that are loaded then.
PROBE = """
import json, os, sys, tempfile
from orchestrator.cli.main import main

answers = []
stdout = os.dup(1)
for words, environment in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    os.environ.update(environment)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        try:
            main()
        except SystemExit:
            sys.stdout.flush()
        said.seek(0)
        answers.append((said.read().decode(), [*sys.modules]))
    for name in environment:
        del os.environ[name]
with open(stdout, "w") as shown:
    json.dump(answers, shown)
"""
PROGRAM: Any = typer.main.get_command(main.program)


@dataclass(frozen=True)
class Start:
    """A command line, and something that is said then."""

    words: Sequence[str]
    said: str
    environment: Mapping[str, str] = field(default_factory=dict)


def require_nothing_of(
    unwanted: AbstractSet[str], starts: Sequence[Start], starting: Forking
) -> None:
    """Fails at the first of the command lines that has loaded one of these modules. One process
    begins as each start does, and takes all of them: most have the same modules to load."""
    asked = json.dumps([(start.words, start.environment) for start in starts])
    ended = starting.run([asked], PROBE)
    answers = json.loads(ended.stdout)
    for start, (said, modules) in zip(starts, answers, strict=True):
        assert start.said in f"\n{said}", start.words
        assert "orchestrator" in modules
        assert unwanted & {*modules} == set(), start.words


# How much is left for Python's last collection of garbage to walk through.
AT_THE_END = """
import gc, sys
from orchestrator.cli.main import main
try:
    main()
finally:
    sys.stderr.write(str(len(gc.get_objects())))
"""


def test_each_command_has_a_panel_with_a_title() -> None:
    panels = {name: owned.entry.panel for name, owned in commands().items()}
    assert panels["init"] == "Prepare"
    assert panels["compare"] == "Measure"
    assert panels["report"] == "Read results"
    assert all(panel[:1].isupper() for panel in panels.values())


def test_the_end_passes_over_what_was_imported(starting: Forking) -> None:
    """For `tierbench list` there are some 45,000 objects."""
    ended = starting.run(["list"], AT_THE_END)
    assert ended.returncode == 0
    assert int(ended.stderr) < 1_000


def test_help_loads_nothing_heavy(starting: Forking) -> None:
    usage = "Usage: tierbench"
    starts = [
        Start(["--help"], usage),
        Start(["run", "--help"], usage),
        Start(["compare", "--help"], usage),
    ]
    require_nothing_of(HEAVY, starts, starting)


# What has been typed, and what is offered.
COMPLETIONS = (
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
)


def test_completion_loads_nothing_heavy(starting: Forking) -> None:
    starts = []
    for words, offered in COMPLETIONS:
        environment = {
            "_TIERBENCH_COMPLETE": "complete_bash",
            "COMP_WORDS": "\n".join(("tierbench", *words)),
            "COMP_CWORD": str(len(words)),
        }
        starts.append(Start([], f"\n{offered}\n", environment))
    require_nothing_of(HEAVY, starts, starting)


# Libraries of tables, of statistics, of engines and of servers. Files are read with yaml and
# `keys.schema`, and `init` fills its template with jinja2.
FOR_MEASURING = HEAVY - {"yaml", "orchestrator.keys.schema", "jinja2"}


def test_what_measures_nothing_loads_no_library_for_it(starting: Forking) -> None:
    whole = "without mistakes"
    starts = [
        Start(["list"], "premium-v2"),
        Start(["tiers", "list"], "azure/P30"),
        Start(["admin", "schema", "profile"], "question"),
        Start(["validate", "profiles/premium.yaml"], whole),
        Start(["validate", "workloads/tpcc.yaml"], whole),
        Start(["validate", "workloads/disk-matrix.yaml"], whole),
        Start(["validate", "workloads/oltp_read_write.yaml"], whole),
        Start(["validate", "profiles/clusters/azure-d8s-v5.yaml"], whole),
    ]
    require_nothing_of(FOR_MEASURING, starts, starting)


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


def test_what_was_judged_is_shown_without_a_library_of_tables(
    finished: Path, starting: Forking
) -> None:
    folder = str(finished)
    history = ["history", "--results", str(finished.parent)]
    starts = [
        Start(history, "premium and ultra"),
        Start([*history, "-o", "json"], '"repetitions"'),
        Start(["report", folder], "report: "),
        Start(["report", folder, "-o", "summary"], "premium"),
        Start(["report", folder, "-o", "md"], "premium"),
        Start(["report", folder, "-o", "json"], '"decisions"'),
        Start(["status", folder], "it has ended"),
    ]
    require_nothing_of(FOR_TABLES, starts, starting)


def test_a_plan_is_shown_without_a_library_of_tables(starting: Forking) -> None:
    compare = ["compare", "--profiles", "premium,ultra", "--dry-run", "--offline"]
    starts = [
        Start([*compare, "--workloads", "insert,tpcc"], "premium"),
        Start([*compare, "--workloads", "disk-matrix", "-o", "json"], '"runs"'),
    ]
    require_nothing_of(FOR_TABLES, starts, starting)


# What no plan for PostgreSQL in containers asks.
OTHER_DATABASES = {
    "orchestrator.databases.existing",
    "orchestrator.databases.yugabytedb",
    "orchestrator.extensions.hadoop.hdfs",
    "orchestrator.yugabyte",
}


def test_only_the_database_of_a_plan_is_loaded(
    tmp_path: Path, starting: Forking
) -> None:
    plan = ["--profiles", "premium,ultra", "--workloads", "insert"]
    small = [*plan, "--scale", "smoke"]
    starts = [
        Start(
            ["compare", *small, "--db", "postgresql", "--dry-run", "--offline"],
            "premium",
        ),
        Start(["rehearse", *small, "--results", str(tmp_path)], "premium"),
    ]
    require_nothing_of(OTHER_DATABASES, starts, starting)


@pytest.mark.parametrize("name", commands())
def test_the_list_says_of_a_command_what_the_command_says(name: str) -> None:
    """The list reads it where it is written, because no command is loaded for it."""
    command, listed = PROGRAM.loaded(name), PROGRAM.commands[name]
    assert (command.name, listed.name) == (name, name)
    assert " ".join(listed.help.split()) == " ".join(command.help.split())
