"""Targets of the Makefile: the command that each starts, and the variables it takes."""

from __future__ import annotations

import re
import subprocess

import pytest

from orchestrator.cli import make_targets
from orchestrator.errors import EXIT_DONE
from tests import ROOT

TEXT = (ROOT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z-]+):.*## ", TEXT, re.MULTILINE)
FAIL, ACCEPT = "--fail-if-worse", "--accept-inconclusive"


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--silent", "--dry-run", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def command(target: str, /, **given: str) -> str:
    return " ".join(make_targets.command(target, list(given), given))


def command_with(target: str, environment: dict[str, str]) -> str:
    """With variables that just stand in the environment."""
    return " ".join(make_targets.command(target, [], environment))


# ------------------------------------------------------------- what make starts


def test_the_first_command_of_the_readme() -> None:
    started = make("tpcc", "PROFILE=ultra").stdout.splitlines()[-1]
    assert started.endswith(
        "tierbench run --workload tpcc --profile ultra"
        " --db auto --scale laptop --seed 1"
    )


def test_a_value_reaches_the_command_as_it_was_written() -> None:
    slo = "new_order p99 < 5 ms, nopm > 4000 $HOME `id` 'x'"
    started = make("compare", f"SLO={slo.replace('$', '$$')}").stdout.splitlines()[-1]
    quoted = slo.replace("'", "'\"'\"'")
    assert f"--slo '{quoted}'" in started


def test_each_target_that_starts_tierbench_has_its_command() -> None:
    starting = set(re.findall(r"^([a-z-]+):.*\n\t\$\(START\)$", TEXT, re.MULTILINE))
    assert starting == set(make_targets.TARGETS)
    assert starting | set(make_targets.OF_MAKE) <= set(TARGETS)


@pytest.mark.parametrize("target", make_targets.TARGETS)
def test_each_variable_that_a_target_takes_is_in_its_command(target: str) -> None:
    for variable in make_targets.TARGETS[target].variables:
        words = make_targets.command(target, [variable], {variable: "given"})
        form = make_targets.FORMS.get(variable)
        if variable == "STRICT":
            assert ACCEPT not in words
        elif form is make_targets.FORMS["YES"]:
            assert f"--{variable.lower().replace('_', '-')}" in words
        else:
            assert "given" in words


# ------------------------------------------------------------- of one target


@pytest.mark.parametrize("target", ["compare", "demo", "resume", "study-rehearsal"])
def test_a_campaign_fails_only_where_it_is_asked_to(target: str) -> None:
    plain = command(target)
    assert ACCEPT in plain
    assert FAIL not in plain
    failing = command(target, FAIL_IF_WORSE="1")
    assert ACCEPT in failing
    assert FAIL in failing
    assert ACCEPT not in command(target, STRICT="1")


def test_settings_and_further_options_are_taken_apart() -> None:
    words = command("insert", SET="threads=32 tables=8", ARGS="--question 'which one'")
    assert "--set threads=32 --set tables=8 --question which one" in words


def test_the_demo_has_an_objective_for_its_workload_only() -> None:
    assert "--slo nopm > 4000" in command("demo")
    assert "--slo" not in command("demo", WORKLOADS="insert")
    assert "--slo p99 < 5 ms" in command("demo", SLO="p99 < 5 ms")


def test_a_variable_of_the_environment_is_taken_before_a_default() -> None:
    assert "--profile ultra" in command_with("tpcc", {"PROFILE": "ultra"})


def test_the_demo_heeds_what_stands_behind_make_only() -> None:
    assert "--scale smoke" in command_with("demo", {"SCALE": "study"})
    assert "--scale study" in command("demo", SCALE="study")


@pytest.mark.parametrize("target", ["setup", "doctor", "clean"])
def test_the_machine_is_not_prepared_for_a_profile_that_nobody_named(
    target: str,
) -> None:
    assert "--profile" not in command(target)
    assert "--profile ultra" in command(target, PROFILE="ultra")
    assert "--profile ultra" in command_with(target, {"PROFILE": "ultra"})


def test_options_of_a_campaign_are_not_for_what_prepares_it() -> None:
    started = make("insert", "ARGS=--offline").stdout.splitlines()
    assert [line for line in started if "--offline" in line] == started[-1:]
    assert "--offline" in make("setup", "ARGS=--offline").stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("target", "variable"), [("compare-results", "A"), ("yugabyte-image", "TARBALL")]
)
def test_what_a_target_cannot_do_without_is_asked_for(
    target: str, variable: str
) -> None:
    ended = make(target)
    assert ended.returncode != EXIT_DONE
    assert f"make {target} needs {variable}=" in ended.stderr


# ------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("target", "given", "hint"),
    [
        ("tpcc", "PROFIL", "Did you mean PROFILE?"),
        ("compare", "profile", "Did you mean PROFILE?"),
        ("help", "XYZ", "docs/OPTIONS.md lists them"),
        ("check", "DOCKER_HOTS", "Did you mean DOCKER_HOST?"),
    ],
)
def test_a_variable_that_no_target_knows_is_refused(
    target: str, given: str, hint: str
) -> None:
    """`make tpcc PROFIL=ultra` measured the default tier."""
    refusal = make_targets.refusal([target], [given])
    assert f"make knows no variable {given}." in refusal
    assert hint in refusal


def test_a_name_that_resembles_none_is_not_guessed() -> None:
    assert "Did you mean" not in make_targets.refusal(["tpcc"], ["CPUS"])


def test_make_starts_nothing_with_a_variable_that_is_refused() -> None:
    ended = make("tpcc", "PROFIL=ultra")
    assert ended.returncode != EXIT_DONE
    assert not ended.stdout
    assert "make knows no variable PROFIL." in ended.stderr


def test_a_variable_of_another_target_is_refused() -> None:
    assert "make check takes no DB" in make_targets.refusal(["check"], ["DB"])
    assert make_targets.refusal(["test", "compare"], ["PART", "DB"]) == ""


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "help"])
def test_a_target_takes_its_variables_and_no_other(target: str) -> None:
    taken = make_targets.variables_of(target)
    assert make_targets.refusal([target], sorted(taken)) == ""
    for variable in make_targets.variables() - taken:
        assert variable in make_targets.refusal([target], [variable])


@pytest.mark.parametrize("name", make_targets.OF_THE_ENVIRONMENT)
def test_a_variable_of_the_environment_may_stand_behind_make(name: str) -> None:
    assert make_targets.refusal(["tpcc"], [name]) == ""


def test_a_variable_behind_make_reaches_the_commands() -> None:
    shown = "shown: ; @printenv DOCKER_HOST"
    ended = subprocess.run(
        ["make", "--silent", "--eval", shown, "shown", "DOCKER_HOST=given"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == ("given\n", "")


# ------------------------------------------------------------- make's own options


@pytest.mark.parametrize(
    ("makeflags", "letters"),
    [
        ("", ""),
        ("n", "n"),
        ("ns -- PROFILE=ultra", "ns"),
        (" -j2 --jobserver-auth=3,4", ""),
        ("--no-print-directory", ""),
        (" -- ARGS=-n", ""),
    ],
)
def test_what_make_was_asked_to_leave_out(makeflags: str, letters: str) -> None:
    assert make_targets.letters(makeflags) == set(letters)
