"""Each option in each kind of campaign: it takes effect, is refused, or a note says it has none.

Method: the table says which. Each cell is a campaign planned twice, with the option and without.
TAKES: the plan differs in the place that the option is for, and no note says otherwise. REFUSED: an
error names the option or its value. NOTED: the plan stays, and a note says that the option has no
effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli import main
from orchestrator.cli.common import forms
from orchestrator.cli.common.command_making import _options
from orchestrator.cli.common.options import Compared, Request
from orchestrator.cli.measure import campaign_commands
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.design import cost_limit
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.planning import durations
from tests.apps import an_app
from tests.asked import options
from tests.option_kinds import (
    KINDS,
    REPORTED,
    asked,
    planned,
    problems,
    problems_of,
    told,
)
from tests.plans import changed_plan

pytestmark = pytest.mark.usefixtures("profile_files")
TAKES, REFUSED, NOTED, MAKES = "takes effect", "refused", "noted", "makes this kind"
LETTERS = {"T": TAKES, "R": REFUSED, "N": NOTED, "-": MAKES}
# In the order of KINDS.
TABLE = {
    "database": "TTTTTRTTN",
    "platform": "TTRTRTTTT",
    "enforcement": "RTTRRRRRR",
    "scale": "TTTTTTTTT",
    "node_size": "TTTTTRTTN",
    "data": "TTTTTRTTN",
    "time": "TTTTTTTTT",
    "nodes": "TTTTTRTTN",
    "clients": "TTTTTTTRN",
    "repetitions": "TTTTTTTTT",
    "seed": "TTTTTTTTT",
    "generator": "TTTTTT-RR",
    "slo": "TTTTTTTTR",
    "price_list": "TTTTTNTTT",
    "max_cost": "NNTTTNNNN",
    "latency_at": "TTTTTTRRR",
    "sweep": "TTTTTTTTR",
    "vary": "TTTTTTTTR",
    "without": "TRRTRRTTR",
    "probe": "TTTTTTTTR",
    "gate_every": "RRTTTRRRR",
    "drain": "RRRTTRRRR",
    "warmup": "TTTTTTRRR",
    "windows": "TTTTTRTTN",
    "confirm": "TTRTTRTRR",
    "slow": "TTRRRRTRR",
    "overrides": "TTTTTTTTR",
    "cache_max": "TTTTTTTTT",
    "on_end": "TTTTTTTTT",
    "retry_failed": "TTTTTTTTT",
    "question": "TTTTTTTTT",
    "dry_run": "TTTTTTTTT",
    "offline": "RRRRRRRRR",  # without a dry run
    "margin_pct": "TTTTTTTTT",
    "p99_margin_pct": "TTTTTTTTT",
    "baseline": "TTTTTTTTT",
    "weights": "NNNNNNNNN",
    "until": "TTTTTTTTT",
    "most_repetitions": "TTTTTTTTT",
    "aa": "TTTTTTTTT",
}
GIVEN: dict[str, Any] = {
    "database": "yugabytedb",
    "platform": "kubernetes",
    "enforcement": "storage-class",
    "scale": "laptop",
    "node_size": "2,3GiB,9GiB",
    "data": "9x",
    "time": "9h",
    "nodes": 2,
    "clients": 2,
    "repetitions": 5,
    "seed": 7,
    "generator": "benchbase",
    "slo": "average < 50 ms",
    "price_list": Path("prices.yaml"),
    "max_cost": "0.0001 USD",
    "latency_at": "70%",
    "sweep": "threads=1,4",
    "vary": "threads=3,5",
    "without": "disk",
    "probe": True,
    "gate_every": 3,
    "drain": True,
    "warmup": "steady",
    "windows": "checkpoints",
    "confirm": True,
    "slow": ["node-1=10%,1s"],
    "overrides": ("threads=3",),
    "cache_max": "200GiB",
    "on_end": "true",
    "retry_failed": 2,
    "question": "Which disk for the ledger?",
    "dry_run": True,
    "offline": True,
    "margin_pct": 7.5,
    "p99_margin_pct": 12.5,
    "baseline": "second",
    "weights": "tpcc=2",
    "until": "decided",
    "most_repetitions": 7,
    "aa": True,
}
# Where GIVEN would be what is so already.
OTHERS = {
    ("platform", "emulated on Kubernetes"): "docker",
    ("platform", "StorageClass"): "docker",
    ("enforcement", "StorageClass"): "emulated",
    ("weights", "sysbench-stock"): "oltp_read_write=2",
    ("weights", "disk-matrix"): "disk-matrix=2",
}
BESIDE = {"most_repetitions": {"until": "decided"}}
Place = Callable[[Plan], object]
# Option → where the plan must be another one; what is not here is told apart in `_seen`.
PLACES: dict[str, Place] = {
    "database": lambda plan: [one.cluster.database for one in used(plan)],
    "platform": lambda plan: plan.platform,
    "enforcement": lambda plan: [one.tier.disk.kind for one in used(plan)],
    "scale": lambda plan: [one.scale for one in plan.workloads],
    "node_size": lambda plan: [one.cluster.node for one in used(plan)],
    "data": lambda plan: [one.dataset.parameters for one in plan.workloads],
    "time": lambda plan: len(plan.runs),
    "nodes": lambda plan: [one.cluster.nodes for one in used(plan)],
    "clients": lambda plan: [one.cluster.clients for one in used(plan)],
    "repetitions": lambda plan: len(plan.runs),
    "seed": lambda plan: [one.profile for one in plan.runs],
    "generator": lambda plan: [one.generator for one in plan.workloads],
    "slo": lambda plan: [one.slo for one in plan.workloads],
    "price_list": lambda plan: [one.tier.price for one in used(plan)],
    "latency_at": lambda plan: plan.latency_at_pct,
    "sweep": lambda plan: [one.threads for one in plan.workloads],
    "vary": lambda plan: [one.varied for one in plan.workloads],
    "probe": lambda plan: [one.threads for one in plan.probes],
    "without": lambda plan: [one.tier.disk.in_memory for one in used(plan)],
    "gate_every": lambda plan: plan.disk_checks.gate_every,
    "drain": lambda plan: plan.most_s,
    "warmup": lambda plan: [one.warmup_most_s for one in plan.workloads],
    "windows": lambda plan: [one.measure_s for one in plan.workloads],
    "confirm": lambda plan: [one.confirm_s for one in plan.workloads],
    "slow": lambda plan: [one.slow for one in plan.workloads],
    "overrides": lambda plan: [one.threads for one in plan.workloads],
    "retry_failed": lambda plan: plan.repeats.retry_failed,
    "question": lambda plan: plan.judging.question,
    "margin_pct": lambda plan: plan.judging.margin_pct,
    "p99_margin_pct": lambda plan: plan.judging.p99_margin_pct,
    "baseline": lambda plan: plan.baseline,
    "until": lambda plan: plan.repeats.looks,
    "most_repetitions": lambda plan: plan.repeats.looks,
    "aa": lambda plan: plan.twin,
}


def used(plan: Plan) -> list[Any]:
    """Each cell's profile, as its workload uses it."""
    return [
        as_used(profile, load) for load in plan.workloads for profile in plan.profiles
    ]


def value(option: str, kind: str) -> Any:
    if option == "baseline":
        return Path(KINDS[kind]["profiles"][1]).stem
    return OTHERS.get((option, kind), GIVEN[option])


PROGRAM: Any = typer.main.get_command(main.program)
WORDS = {
    field: f"--{option.name.replace('_', '-')}"
    for field, option in _options(Compared, {}, "").items()
}


def no_effect(plan: Plan) -> list[str]:
    return [note.text for note in plan.notes if note.kind == "no effect"]


def options_that(effect: str) -> pytest.MarkDecorator:
    """Each kind of campaign with the options that have this effect on it."""
    found: dict[str, list[str]] = {}
    for option, letters in TABLE.items():
        for kind, letter in zip(KINDS, letters, strict=True):
            if LETTERS[letter] == effect:
                found.setdefault(kind, []).append(option)
    return pytest.mark.parametrize(("kind", "given_options"), found.items(), ids=found)


def test_every_option_of_a_campaign_has_a_row() -> None:
    assert set(TABLE) | REPORTED == {one.name for one in fields(Compared)}
    assert set(TABLE) == set(GIVEN)
    found = {name: options(PROGRAM.loaded(name)) for name in ("compare", "run")}
    own = {WORDS[option] for option in TABLE} | {"--results", "--output"}
    judged = {"--profiles", "--workloads", "--fail-if-worse", "--accept-inconclusive"}
    assert found["compare"] == own | judged
    assert found["run"] < own | {"--profiles", "--workloads"}


@options_that(TAKES)
def test_it_takes_effect(kind: str, given_options: list[str]) -> None:
    plans_without: dict[str, Plan] = {}
    for option in given_options:
        beside = BESIDE.get(option, {})
        without = asked(kind, beside)
        # Most options have nothing beside them, and are held against the same plan.
        if str(beside) not in plans_without:
            plans_without[str(beside)] = planned(without)
        plan_without = plans_without[str(beside)]
        given = replace(without, **{option: value(option, kind)})
        plan = planned(given)
        seen_without = _seen(option, without, plan_without)
        assert _seen(option, given, plan) != seen_without, option
        assert no_effect(plan) == [], option
        assert not [text for text in problems_of(plan) if WORDS[option] in text]


def _seen(option: str, request: Request, plan: Plan) -> object:
    if option == "dry_run":
        return _is_begun(replace(request, offline=request.dry_run))
    if option in (
        "cache_max",
        "on_end",
    ):  # of every campaign alike: see test_campaign_end.py
        return getattr(request, option)
    if option == "max_cost":
        try:
            cost_limit.check(plan, request.max_cost)
        except UsageError:
            return "refused"
        return "let pass"
    return PLACES[option](plan)


def _is_begun(request: Request) -> bool:
    """Whether the campaign was begun, or only shown."""
    begun: list[Plan] = []

    class Beginning(CampaignApp):
        def carry_out(self, plan: Plan, *_: object) -> Path:
            begun.append(plan)
            raise typer.Exit

    app = Beginning(**vars(an_app(Path("cache"))))
    app.out.form = forms.JSON
    with pytest.raises(typer.Exit):
        campaign_commands._carry_out(app, request)
    return bool(begun)


@options_that(REFUSED)
def test_it_is_refused(kind: str, given_options: list[str]) -> None:
    for option in given_options:
        planned(asked(kind, BESIDE.get(option, {})))
        refused_value = value(option, kind)
        given = asked(kind, {option: refused_value})
        try:
            said = problems(given)
        except UsageError as refused:
            said = [told(refused)]
        named = (WORDS[option], str(refused_value))
        assert [text for text in said if any(name in text for name in named)], option


@options_that(NOTED)
def test_a_note_says_that_it_has_no_effect(kind: str, given_options: list[str]) -> None:
    without = planned(asked(kind, {}))
    assert no_effect(without) == []
    for option in given_options:
        given = planned(asked(kind, {option: value(option, kind)}))
        (text,) = no_effect(given)
        assert text.startswith(f"{WORDS[option]} has no effect on ")
        if option in PLACES:
            assert PLACES[option](given) == PLACES[option](without), option


def test_what_has_an_effect_on_a_part_alone_is_said_of_the_rest() -> None:
    request = Request(
        profiles=("premium", "mounted.yaml", "existing.yaml"),
        workloads=("insert", "point-select"),
        scale="smoke",
        nodes=2,
        drain=True,
        gate_every=3,
        price_list=Path("prices.yaml"),
    )
    assert no_effect(planned(request)) == [
        "--nodes has no effect on existing: others run this cluster",
        "--gate-every has no effect on premium: its disks are not real ones",
        "--gate-every has no effect on existing: others run this cluster",
        "--drain has no effect on premium: its disks are not real ones",
        "--drain has no effect on existing: others run this cluster",
        "--prices has no effect on existing: the list has no other price of its disk",
    ]
    ours = replace(
        request, profiles=("premium",), drain=False, gate_every=None, price_list=None
    )
    with_matrix = replace(
        ours, workloads=("point-select", "disk-matrix"), windows="checkpoints"
    )
    alone = "it measures one disk alone, without a database"
    assert no_effect(planned(with_matrix)) == [
        f"--nodes has no effect on disk-matrix: {alone}",
        "--windows has no effect on point-select: it writes nothing",
        f"--windows has no effect on disk-matrix: {alone}",
    ]


def test_many_short_windows_are_of_what_only_reads() -> None:
    request = Request(
        profiles=("premium", "ultra"),
        workloads=("insert", "point-select"),
        scale="laptop",
        nodes=1,
        windows="many",
        repetitions=5,
    )
    plan = planned(request)
    runs = Counter((run.workload, run.profile) for run in plan.runs)
    assert runs == {
        ("insert", "premium"): 5,
        ("insert", "ultra"): 5,
        ("point-select", "premium"): 7,
        ("point-select", "ultra"): 7,
    }
    assert {one.name: one.measure_s for one in plan.workloads} == {
        "insert": 60.0,
        "point-select": 30.0,
    }
    assert no_effect(plan) == [
        "--windows many has no effect on insert: a window must hold checkpoints"
    ]


@pytest.mark.parametrize("other", [{"until": "decided"}, {"sweep": "threads=1,4"}])
def test_many_short_windows_leave_the_number_of_repetitions_to_no_other(
    other: Any,
) -> None:
    request = Request(
        profiles=("premium",),
        workloads=("point-select",),
        windows="many",
        repetitions=3,
        **other,
    )
    with pytest.raises(UsageError, match="--windows many"):
        planned(request)


def test_a_disk_without_burst_has_no_credit_to_use_up() -> None:
    Path("plain.yaml").write_text(
        Path("mounted.yaml").read_text().replace("P15", "P40")
    )
    with pytest.raises(
        UsageError, match="--drain has no effect on plain: it declares no `burst`"
    ):
        planned(asked("mounted", {"profiles": ("plain.yaml",), "drain": True}))


@pytest.mark.parametrize("database", ["nonsense", "dry"])
def test_an_unknown_database_is_refused_where_none_is_started(database: str) -> None:
    with pytest.raises(UsageError, match=database):
        planned(asked("disk-matrix", {"database": database}))


def test_the_time_of_a_campaign_has_no_draining_that_is_not_done() -> None:
    plan = planned(asked("StorageClass", {}))
    assert (
        durations.timed(changed_plan(plan, drain=True)).most_s
        == durations.timed(plan).most_s
    )
