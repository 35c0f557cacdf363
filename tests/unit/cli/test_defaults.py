"""Where an option comes from that is not given: the environment, `tierbench.yaml`, the program."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli import main
from orchestrator.cli.common import defaults
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE
from orchestrator.system.shell import SystemShell
from tests import ROOT
from tests.apps import an_app, said_by, tierbench
from tests.asked import Ask, Asked, ask, commands

__all__ = ["ask"]
COMPARE = ("compare", "--profiles", "premium ultra", "--workloads", "insert")
PROGRAM: Any = typer.main.get_command(main.program)
# Of hooks of snapshots; beside `TIERBENCH_SNAPSHOT` no option is looked for.
OF_HOOKS = {"TIERBENCH_DATA", "TIERBENCH_NODES", "TIERBENCH_PATH"}
# Set in the container of a disk alone, where nobody starts tierbench.
OF_CONTAINERS = {"TIERBENCH_DISK"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scale(asked: Asked) -> str:
    return asked.plan.scale


def test_the_nearer_goes_first(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scale(ask(COMPARE)) == "laptop"
    (folder / "tierbench.yaml").write_text("scale: smoke\n")
    assert scale(ask(COMPARE)) == "smoke"
    monkeypatch.setenv("TIERBENCH_SCALE", "study")
    assert scale(ask(COMPARE)) == "study"
    assert scale(ask([*COMPARE, "--scale", "rehearsal"])) == "rehearsal"


def test_a_default_is_none_of_the_next_command_line(ask: Ask, folder: Path) -> None:
    """Commands are made once in a process. A group's are given their defaults too."""
    (folder / "tierbench.yaml").write_text("scale: smoke\nprovider: azure\n")
    assert scale(ask(COMPARE)) == "smoke"
    app = an_app(folder)
    assert tierbench(app, "tiers", "list", "--verbose") == EXIT_DONE
    assert said_by(app) == ["--provider azure is from tierbench.yaml"]
    (folder / "tierbench.yaml").unlink()
    # They may be read without looking for a file, as those of a command line that is kept.
    for name in ("compare", "tiers"):
        for command in defaults.with_members(PROGRAM.loaded(name)):
            assert "default_map" not in command.context_settings


def test_each_form_of_a_value_is_taken(ask: Ask, folder: Path) -> None:
    lines = [
        "profiles: [premium, ultra]",
        "workloads: insert",
        "repeats: 2",
        "aa: true",
    ]
    lines += ["max-cost: 5 USD", "db: postgresql", "set: [threads=3]", "p99-margin: 30"]
    (folder / "tierbench.yaml").write_text("\n".join(lines) + "\n")
    plan = ask(["compare"]).plan
    assert [profile.name for profile in plan.profiles][:2] == ["premium", "ultra"]
    assert (plan.repeats.repetitions, bool(plan.twin), plan.judging.p99_margin_pct) == (
        2,
        True,
        30.0,
    )
    assert {profile.cluster.database for profile in plan.profiles} == {"postgresql"}
    assert plan.workloads[0].threads == 3


def test_variables_have_the_names_of_options(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERBENCH_DB", "postgresql")
    monkeypatch.setenv("TIERBENCH_SET", "threads=3")
    monkeypatch.setenv("TIERBENCH_AA", "1")
    plan = ask(COMPARE).plan
    assert (plan.workloads[0].threads, bool(plan.twin)) == (3, True)
    assert {profile.cluster.database for profile in plan.profiles} == {"postgresql"}


def test_two_variables_of_one_option_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else one would be passed over, and another tier measured."""
    words = ("compare", "--workloads", "insert", "--scale", "smoke", "--dry-run")
    monkeypatch.setenv("TIERBENCH_PROFILE", "ultra")
    app = an_app(folder)
    assert tierbench(app, *words) == EXIT_DONE
    assert "--profiles ultra is from TIERBENCH_PROFILE" in said_by(app)
    monkeypatch.setenv("TIERBENCH_PROFILES", "premium")
    app = an_app(folder)
    assert tierbench(app, *words) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "TIERBENCH_PROFILE and TIERBENCH_PROFILES are one option" in said


def test_what_came_from_where_is_said_of_a_dry_run_and_verbosely(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tierbench.yaml").write_text("scale: smoke\nprovider: azure\n")
    monkeypatch.setenv("TIERBENCH_DB", "postgresql")
    app = an_app(folder)
    assert tierbench(app, *COMPARE, "--nodes", "1", "--dry-run") == EXIT_DONE
    said = said_by(app)
    assert {
        "--scale smoke is from tierbench.yaml",
        "--db postgresql is from TIERBENCH_DB",
    } <= {*said}
    for words, lines in (
        (("--verbose",), ["--provider azure is from tierbench.yaml"]),
        ((), []),
    ):
        app = an_app(folder)
        assert tierbench(app, "tiers", "list", *words) == EXIT_DONE
        assert said_by(app) == lines


def test_the_command_that_a_report_shows_gives_the_same_again(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "scale: smoke\nset: [threads=3]\naa: true\ndrain: false\nmax-cost: 5 USD\n"
    (folder / "tierbench.yaml").write_text(text)
    first = ask(COMPARE)
    words = shlex.split(str(first.fingerprint["command"]))[1:]
    (folder / "tierbench.yaml").unlink()
    again = ask(words)
    assert (again.plan, words[: len(COMPARE)]) == (first.plan, [*COMPARE])
    assert scale(again) == "smoke"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scael: smoke\n", ["tierbench.yaml:1: scael", "did you mean scale"]),
        (
            "min-iops: 5\nplatform: null\n",
            ["tierbench.yaml:2: platform", "expected a value"],
        ),
        ("platform:\n", ["tierbench.yaml:1:1", "'platform' has no value"]),
        ("", ["tierbench.yaml:1: the file is empty"]),
        ("profile: a\nprofiles: b\n", ["tierbench.yaml:2: profiles", "are one option"]),
        ("aa: true\nnodes: true\n", ["tierbench.yaml:2: nodes", "not true or false"]),
        ("on-end: [mail, -s, x]\n", ["tierbench.yaml:1: on-end", "one value"]),
    ],
)
def test_a_file_with_a_mistake_is_refused(
    text: str, words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tierbench.yaml").write_text(text)
    assert tierbench(an_app(folder), "list") == EXIT_USAGE
    said = capsys.readouterr().err
    assert all(word in said for word in words)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_not_obeyed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its `on-end` would run as whoever gives a command there."""
    (folder / "tierbench.yaml").write_text("scale: smoke\n")
    os.chown(folder / "tierbench.yaml", 12345, -1)
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert tierbench(an_app(folder), "list") == EXIT_USAGE
    assert "belongs to another user" in capsys.readouterr().err
    monkeypatch.setenv("SUDO_UID", "12345")
    assert tierbench(an_app(folder), "list") == EXIT_DONE


@pytest.mark.parametrize("text", ["nodes: three\n", "db: oracle\n"])
def test_a_wrong_value_is_refused_with_where_it_is_from(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tierbench.yaml").write_text(text)
    assert tierbench(an_app(folder), *COMPARE, "--dry-run") == EXIT_USAGE
    assert "is from tierbench.yaml" in capsys.readouterr().err


def test_no_variable_of_another_meaning_is_that_of_an_option(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [*(ROOT / "orchestrator").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(file.read_text() for file in sources).replace("`TIERBENCH_` ", "")
    named = set(re.findall(r"(?<!_)TIERBENCH_[A-Z][A-Z_]*[A-Z]", text)) - {
        "TIERBENCH_MAX_COST",
        "TIERBENCH_SCALE",
    }
    assert {"TIERBENCH_RENT_S", "TIERBENCH_LEASE_S", "TIERBENCH_REGISTRY"} <= named
    options = {
        f"{defaults.PREFIX}_{option.name.upper()}"
        for _, command in commands(PROGRAM)
        for option in command.params
        if option.param_type_name == "option"
    }
    assert named & options <= OF_HOOKS | OF_CONTAINERS
    monkeypatch.setenv("TIERBENCH_NODES", "node-1 node-2")
    words = (*COMPARE, "--scale", "smoke", "--dry-run")
    assert tierbench(an_app(folder), *words) == EXIT_USAGE
    monkeypatch.setenv("TIERBENCH_SNAPSHOT", "a-dataset")
    assert tierbench(an_app(folder), *words) == EXIT_DONE


# ------------------------------------------------------------------ commands of the file


def ended(app: CampaignApp) -> int:
    """Of a campaign that is not planned: its command is refused before, or run."""
    return tierbench(app, *COMPARE, "--results", str(app.results))


@pytest.fixture
def told(folder: Path) -> Path:
    """A file that tierbench.yaml has written into when a campaign has ended."""
    file = folder / "told"
    (folder / "tierbench.yaml").write_text(f"on-end: echo ended >> {file}\n")
    return file


def unplanned(folder: Path) -> CampaignApp:
    """A program whose campaigns end at once, because no engine answers."""
    return an_app(folder, shell=SystemShell())


def test_a_command_of_the_file_is_refused_until_it_is_allowed_once(
    folder: Path, told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(unplanned(folder)) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "would run 'echo ended >>" in said and "`tierbench allow`" in said
    assert not told.exists()
    assert tierbench(unplanned(folder), "allow") == EXIT_DONE
    assert "echo ended" in capsys.readouterr().out
    assert ended(unplanned(folder)) == EXIT_UNAVAILABLE
    assert told.read_text() == "ended\n"


@pytest.mark.parametrize("change", ["content", "path"])
def test_what_was_allowed_is_one_file_as_it_was(
    folder: Path, told: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tierbench(unplanned(folder), "allow")
    file = folder / "tierbench.yaml"
    if change == "content":
        file.write_text(file.read_text() + "scale: smoke\n")
    else:
        other = folder / "other"
        other.mkdir()
        file.rename(other / file.name)
        monkeypatch.chdir(other)
    assert ended(unplanned(folder)) == EXIT_USAGE
    assert not told.exists()


def test_the_other_keys_of_the_file_and_what_runs_nothing_need_no_word(
    folder: Path, told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (*COMPARE, "--dry-run", "--offline", "--results", str(folder))
    assert tierbench(unplanned(folder), *words) == EXIT_DONE
    (folder / "tierbench.yaml").write_text("scale: smoke\n")
    assert tierbench(unplanned(folder), "allow") == EXIT_USAGE
    assert "in the folder of the file that has it" in capsys.readouterr().err
    assert not told.exists()


def test_a_command_of_the_line_goes_before_that_of_the_file(
    folder: Path, told: Path
) -> None:
    app = unplanned(folder)
    given = folder / "given"
    words = (*COMPARE, "--on-end", f"echo given >> {given}")
    code = tierbench(app, *words, "--results", str(app.results))
    assert code == EXIT_UNAVAILABLE
    assert given.exists() and not told.exists()
