"""What a target of the Makefile starts: a command of tierbench, with the variables it takes.

`make tpcc PROFILE=ultra` starts `tierbench run --workload tpcc --profile ultra`. The Makefile has
the verbs; which variables they take, and what these are called in a command, stands here.

It is started as a file by the Python of the machine, before anything is installed. So it imports
the standard library only. `check` prints why a variable is refused, or nothing; `start` starts the
command, and prints it instead where make was asked for a dry run.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

THREE_TIERS = "premium premium-v2 ultra"
# What a command gets if nothing else was asked for, as far as its target takes it.
DEFAULTS = {
    "PROFILE": "premium",
    "PROFILES": THREE_TIERS,
    "WORKLOADS": "point-select insert tpcc",
    "DB": "auto",
    "SCALE": "laptop",
    "SEED": "1",
    "DIR": "latest",
}
# Two busy cores answer the demo in ten minutes: the tiers differ by several times under
# one load that reads and writes, and the SLO lies between them. Windows of 30 s are long
# enough.
DEMO = {
    "SCALE": "smoke",
    "WORKLOADS": "tpcc",
    "SLO": "nopm > 4000",
    "NODES": "1",
    "REPEATS": "3",
    "SET": "warmup=1s measure=30s",
}

# The variables that every target takes: how the virtual environment is made, and by which shell.
OF_EVERY_TARGET = ("PYTHON", "UNLOCKED", "VENV", "SHELL")
# What tierbench and its tools read of their environment, where make puts all that it is given.
OF_THE_ENVIRONMENT = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
    *("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONTEXT"),
    *("KUBECONFIG", "PGSSLMODE", "PGSSLROOTCERT"),
    *("BENCHBASE_HOME", "BENCHBASE_IMAGE", "SYSBENCH_IMAGE"),
    *("TIERBENCH_CACHE", "TIERBENCH_LEASE_S", "TIERBENCH_REGISTRY"),
    *("TIERBENCH_RENT_S", "TIERBENCH_UNPROTECTED"),
)
# Those of targets that start something else than tierbench; the Makefile uses them itself.
OF_MAKE = {
    "bench": ("NAME", "ARGS"),
    "test": ("PART",),
    "test-slow": ("PART", "TURN"),
    "test-kubernetes": ("TURN",),
    "soak": ("FAULTS", "INPUTS", "REPEATS"),
}
# In the order in which a command has them.
CAMPAIGN = (
    *("DB", "PLATFORM", "ENFORCEMENT", "SCALE", "SEED", "NODES", "CLIENTS"),
    *("REPEATS", "GENERATOR", "RESULTS", "SLO", "PRICES", "MAX_COST", "LATENCY_AT"),
    *("SWEEP", "VARY", "GATE_EVERY", "WARMUP", "WINDOWS", "DRAIN", "SET", "ARGS"),
)
COMPARISON = (
    *("STRICT", "PROFILES", "WORKLOADS", "UNTIL", "MAX_REPEATS", "AA"),
    *("FAIL_IF_WORSE", *CAMPAIGN),
)


@dataclass(frozen=True)
class Target:
    """The command that a target starts, and the variables that it takes, in their order.

    `defaults`: the target's, before those of all targets. `without_default`: variables that the
    command gets only if somebody asked for them. `required`: those it cannot do without.
    """

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    without_default: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


def _run(workload: str) -> Target:
    return Target(("run", "--workload", workload), ("PROFILE", *CAMPAIGN))


STUDY = (
    *("compare", "--profiles"),
    "profiles/study-rehearsal/premium.yaml profiles/study-rehearsal/premium-v2.yaml"
    " profiles/study-rehearsal/ultra.yaml",
    *("--workloads", "point-select-20 insert-20 point-select insert tpcc"),
    *("--db", "postgresql", "--scale", "rehearsal", "--nodes", "1"),
)
TARGETS = {
    "setup": Target(
        ("setup",),
        ("PROFILE", "PLATFORM", "ARGS"),
        without_default=("PROFILE",),
    ),
    "demo": Target(("compare",), COMPARISON, defaults=DEMO),
    "dry-demo": Target(
        ("rehearse",),
        ("PROFILES", "WORKLOADS", "SCALE", "SEED", "REPEATS", "RESULTS", "ARGS"),
        defaults={"SCALE": "smoke", "WORKLOADS": "point-select insert"},
    ),
    "compare": Target(("compare",), COMPARISON),
    "point-select": _run("point-select"),
    "insert": _run("insert"),
    "tpcc": _run("tpcc"),
    "resume": Target(
        ("resume",), ("STRICT", "DIR", "FAIL_IF_WORSE", "RESULTS", "ARGS")
    ),
    "report": Target(("report",), ("RESULTS", "ARGS")),
    "history": Target(("history",), ("RESULTS", "ARGS")),
    "compare-results": Target(
        ("compare-results",),
        ("STRICT", "A", "B", "FAIL_IF_WORSE", "RESULTS", "ARGS"),
        required=("A",),
    ),
    "study": Target(
        ("report", "results/reference-azure-yugabytedb/published"), ("ARGS",)
    ),
    "study-rehearsal": Target(
        STUDY,
        ("STRICT", "SEED", "RESULTS", "FAIL_IF_WORSE", "REPEATS"),
        defaults={"REPEATS": "3"},
    ),
    "calibrate": Target(("calibrate",), ("PROFILE", "SCALE", "DRAIN", "ARGS")),
    "doctor": Target(
        ("doctor",),
        ("PROFILE", "DB", "PLATFORM", "ARGS"),
        without_default=("PROFILE", "DB"),
    ),
    "yugabyte-image": Target(
        ("admin", "yugabyte-image"), ("TARBALL",), required=("TARBALL",)
    ),
    "list": Target(("list",)),
    "clean": Target(
        ("clean",),
        ("PROFILE", "PLATFORM", "YES", "ARGS"),
        without_default=("PROFILE",),
    ),
}


# ------------------------------------------------------------- from a variable to words


def _option(variable: str) -> str:
    return "--" + variable.lower().replace("_", "-")


def _with_value(variable: str, value: str) -> list[str]:
    return [_option(variable), value]


def _flag(variable: str, _value: str) -> list[str]:
    return [_option(variable)]


def _alone(_variable: str, value: str) -> list[str]:
    return [value]


def _settings(variable: str, value: str) -> list[str]:
    words: list[str] = []
    for setting in value.split():
        words += _with_value(variable, setting)
    return words


def _as_written(_variable: str, value: str) -> list[str]:
    return shlex.split(value)


# How a variable's value stands in a command; any other has the option of its name before it.
FORMS: dict[str, Callable[[str, str], list[str]]] = {
    **dict.fromkeys(("DRAIN", "AA", "FAIL_IF_WORSE", "YES"), _flag),
    **dict.fromkeys(("DIR", "A", "B", "TARBALL"), _alone),
    "SET": _settings,
    "ARGS": _as_written,
}


def command(
    name: str, given: Collection[str], environment: Mapping[str, str]
) -> list[str]:
    """The words of the command that the target starts.

    `given`: the variables behind `make`. They come before the target's defaults, and
    these before a variable that just stands in the environment.
    """
    target = TARGETS[name]
    words = list(target.command)
    for variable in target.variables:
        value = _value(target, variable, given, environment)
        # Only a person who is asked for the exit code wants to hear that nothing was decided.
        if variable == "STRICT" and not value:
            words.append("--accept-inconclusive")
        elif value and variable != "STRICT":
            form = FORMS.get(variable, _with_value)
            words += form(variable, value)
    return words


def _value(
    target: Target,
    variable: str,
    given: Collection[str],
    environment: Mapping[str, str],
) -> str:
    if variable in given:
        return environment[variable]
    if variable in target.defaults:
        # The demo's objective is about its workload, and says nothing about another.
        if variable == "SLO" and "WORKLOADS" in given:
            return ""
        return target.defaults[variable]
    if variable in environment:
        return environment[variable]
    if variable in target.without_default:
        return ""
    return DEFAULTS.get(variable, "")


# ------------------------------------------------------------- what is refused


def refusal(goals: Collection[str], given: Collection[str]) -> str:
    """Why make does not begin: it would do without a variable that somebody gave it, as with
    `PROFIL=ultra`, and measure another disk than was asked for. "" if there is no reason."""
    taken = set(OTHERS)
    for goal in goals:
        taken |= variables_of(goal)
    refused = set(given) - taken
    unknown = refused - variables()
    if unknown:
        return _unknown(min(unknown))
    if not refused:
        return ""
    return (
        f"make {' '.join(goals)} takes no {' '.join(sorted(refused))}: docs/OPTIONS.md has the"
        " variables, and `tierbench --help` all options"
    )


OTHERS = {*OF_EVERY_TARGET, *OF_THE_ENVIRONMENT}


def variables() -> set[str]:
    """All that a target takes."""
    taken: set[str] = set()
    for goal in (*TARGETS, *OF_MAKE):
        taken |= variables_of(goal)
    return taken


def variables_of(goal: str) -> set[str]:
    if goal == "help":
        return variables()
    if goal in TARGETS:
        return set(TARGETS[goal].variables)
    return set(OF_MAKE.get(goal, ()))


def _unknown(variable: str) -> str:
    names = sorted({*variables(), *OF_THE_ENVIRONMENT})
    meant = difflib.get_close_matches(variable.upper(), names, n=1, cutoff=0.7)
    question = ""
    if meant:
        question = f" Did you mean {meant[0]}?"
    return f"make knows no variable {variable}.{question} docs/OPTIONS.md lists them"


def missing(name: str, given: Collection[str], environment: Mapping[str, str]) -> str:
    """The first variable that the target cannot do without and did not get; "" if none."""
    target = TARGETS[name]
    for variable in target.required:
        if not _value(target, variable, given, environment):
            return variable
    return ""


# ------------------------------------------------------------- as a program


def start(options: argparse.Namespace) -> None:
    given = set(options.given.split())
    environment = dict(os.environ)
    # Before a campaign too everything is set up: its further options are not for that.
    if options.target == "setup" and "setup" not in options.goals.split():
        environment.pop("ARGS", None)
        given.discard("ARGS")
    lacking = missing(options.target, given, environment)
    if lacking:
        raise SystemExit(f"make {options.target} needs {lacking}=: see docs/OPTIONS.md")
    words = [options.program, *command(options.target, given, environment)]
    asked = letters(os.environ.get("MAKEFLAGS", ""))
    if "n" in asked:
        sys.stdout.write(f"{shlex.join(words)}\n")
    # `make -n`, `-q` and `-t` start nothing.
    if not asked.intersection("nqt"):
        os.execv(options.program, words)


def letters(makeflags: str) -> set[str]:
    """make's options of one letter: its first word, unless that is a long option."""
    first = makeflags.split(" ")[0]
    if first.startswith("-"):
        return set()
    return set(first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="asked")
    checking = commands.add_parser("check")
    starting = commands.add_parser("start")
    for command_parser in (checking, starting):
        command_parser.add_argument("--goals", default="help")
        command_parser.add_argument("--given", default="")
    starting.add_argument("program")
    starting.add_argument("target")
    options = parser.parse_args()
    if options.asked == "start":
        start(options)
    else:
        sys.stdout.write(refusal(options.goals.split(), options.given.split()))


if __name__ == "__main__":
    main()
