"""What doubts say and do: the words of each, and that every kind is raised with its effect."""

from __future__ import annotations

import ast
from dataclasses import astuple
from typing import get_args

import pytest

from orchestrator.analysis.doubts import effects, noted
from orchestrator.analysis.doubts.burst_checks import _burst_credit_left
from orchestrator.analysis.doubts.checkpoint_checks import (
    _few_checkpoint_intervals,
    _few_checkpoints_seen,
)
from orchestrator.analysis.doubts.disk_checks import _host_errors
from orchestrator.analysis.doubts.machine_checks import _host_saturated
from orchestrator.analysis.doubts.pace_checks import _not_begun, _Pace
from orchestrator.analysis.doubts.provider_checks import _copied_volume
from orchestrator.doubt_effects import DOUBT_EFFECTS
from orchestrator.facts import DoubtKind, known_doubt_kind
from orchestrator.model import Doubt
from tests.sources import MODULES, PACKAGE, nodes

MAKERS = {
    "excludes_the_run": "excludes",
    "forbids_a_conclusion": "forbids",
    "limits_the_answer": "limits",
    "is_only_told": "told",
}


def raised() -> set[tuple[str, str]]:
    """Kind and effect of every doubt that is made in the folder that raises them."""
    doubts: set[tuple[str, str]] = set()
    for file in MODULES:
        if file.parent != PACKAGE / "analysis/doubts" or file.stem == "effects":
            continue
        for node in nodes(file):
            if not isinstance(node, ast.Call):
                continue
            maker = ast.unparse(node.func)
            assert maker != "Doubt", f"{file.name} makes one that says no effect"
            if maker in MAKERS:
                kind = node.args[0]
                assert isinstance(kind, ast.Constant), ast.unparse(node)
                doubts.add((str(kind.value), MAKERS[maker]))
    return doubts


def test_each_kind_is_raised_with_the_effect_that_format_2_gave_it() -> None:
    assert raised() == set(DOUBT_EFFECTS.items())
    assert set(DOUBT_EFFECTS) == set(get_args(DoubtKind))


def test_a_kind_that_an_extension_brought_is_shown_and_known_to_no_rule() -> None:
    assert known_doubt_kind("overload") == "overload"
    theirs = Doubt("disk too warm", "seen", "repeat it")
    assert theirs.kind == "disk too warm"
    assert known_doubt_kind(theirs.kind) is None


def _name_of_a_doubt_kind(node: ast.expr) -> bool:
    """Whether it is `doubt.kind`, which is any text, so that a misspelt one passes mypy."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "kind"
        and isinstance(node.value, ast.Name)
        and node.value.id == "doubt"
    )


def test_rules_go_by_kinds_that_a_type_checker_knows() -> None:
    untyped: list[str] = []
    for file in MODULES:
        for node in nodes(file):
            if not isinstance(node, ast.Compare):
                continue
            compares = any(isinstance(how, (ast.Eq, ast.NotEq)) for how in node.ops)
            among = ast.unparse(node.comparators[0])
            if not compares and not among.lstrip("_").isupper():
                continue
            if any(map(_name_of_a_doubt_kind, (node.left, *node.comparators))):
                untyped.append(f"{file.name}:{node.lineno}: {ast.unparse(node)}")
    assert untyped == [], "compare `known_doubt_kind(doubt.kind)`"


@pytest.mark.parametrize("maker", MAKERS)
def test_a_doubt_has_the_effect_of_its_maker(maker: str) -> None:
    doubt: Doubt = getattr(effects, maker)("failures", "what was seen", "repeat it", 3)
    effect = MAKERS[maker]
    expected = ("failures", "what was seen", "repeat it", 3, effect, None)
    assert astuple(doubt) == expected


def test_values_are_filled_in() -> None:
    copied = _copied_volume("claim")
    assert copied.text.startswith("the volumes were copies of a claim. All data")
    assert "`burst: {start: empty}`" in _burst_credit_left(1.0, 2.0).advice
    assert "could not store 1 request and" in _host_errors("disk-1", 1).text


def test_a_clock_that_was_set_says_which_way_it_went() -> None:
    forward = "the clock went forward (or this machine slept) by 2.50 s during the"
    assert forward in noted.clock_set(1, 2.5).text
    assert (
        "the clock went back by 2.50 s during the measurement. The window"
        in noted.clock_set(1, -2.5).text
    )


def test_few_checkpoints_are_seen_or_follow_from_the_settings() -> None:
    late = ". Writes that wait for a checkpoint may fall outside the window"
    one = _few_checkpoints_seen(1, 60.0, is_ours=False)
    assert one.text == f"only one checkpoint was completed in the window of 60 s{late}"
    assert "--windows" not in one.advice
    none = _few_checkpoints_seen(0, 60.0, is_ours=True)
    assert none.text.startswith("no checkpoint was completed in the window of 60 s")
    assert "; `--windows checkpoints` then measures whole intervals" in none.advice
    asked = _few_checkpoint_intervals(300.0, 60.0, is_ours=True)
    assert asked.text == f"60 s are less than 2 checkpoint intervals of 5 min{late}"


def test_a_busy_machine_says_what_is_on_it() -> None:
    here = _host_saturated(97.0, several_hosts=False, is_existing=False)
    assert here.text.endswith(", with database, load generator and disks all on it")
    assert "fewer --nodes or fewer threads" in here.advice
    elsewhere = _host_saturated(97.0, several_hosts=False, is_existing=True)
    assert elsewhere.text.endswith("97 % busy, with the load generator on it")
    assert elsewhere.advice == "use a machine with more cores, or fewer threads"
    several = _host_saturated(97.0, several_hosts=True, is_existing=True)
    assert several.text == "the CPU of one of the machines was 97 % busy"


def test_overload_advises_what_is_open_to_the_load() -> None:
    terminals = _not_begun(
        500.0, 1000.0, _Pace(thinks=True, served_per_s=None, slow_disk=False)
    )
    assert "terminals waited longer and longer for a connection" in terminals.text
    assert terminals.advice.endswith("or load fewer warehouses")
    queue = _not_begun(
        500.0, 1000.0, _Pace(thinks=False, served_per_s=120.0, slow_disk=False)
    )
    assert "(50.0 %)" in queue.text and "the wait in a queue that grew" in queue.text
    assert queue.advice == (
        "ask for an `arrival_rate` below the 120 transactions/s that were served, the same on "
        "every tier, or compare throughput instead"
    )
