"""Each option in each kind of campaign: it takes effect, is refused, or a note says it has none.

Method: the table says which. Each cell is a campaign planned twice, with the option and without.
TAKES: the plan differs in the place that the option is for, and no note says otherwise. REFUSED: an
error names the option or its value. NOTED: the plan stays, and a note says that the option has no
effect. Options of other commands are at the end: those that need another one, or exclude it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from orchestrator.cli import campaign, dry_run, main, outside, plans
from orchestrator.cli.console import ConsoleProgress
from orchestrator.cli.options import Compared, Request
from orchestrator.errors import TierbenchError, UnavailableError, UsageError
from orchestrator.model import Plan
from orchestrator.planning import costs
from orchestrator.planning.plan import as_used
from orchestrator.run import forecast
from tests import ROOT
from tests.fakes import this_machine_has

TAKES, REFUSED, NOTED, MAKES = "takes effect", "refused", "noted", "makes this kind"
LETTERS = {"T": TAKES, "R": REFUSED, "N": NOTED, "-": MAKES}
# A profile's own files are those of `_files`; `machines` stands for all engines elsewhere.
KINDS: dict[str, dict[str, Any]] = {
    "emulated on Docker": {"profiles": ("premium", "ultra")},
    "emulated on Kubernetes": {"profiles": ("premium", "ultra"), "platform": "kubernetes"},
    "StorageClass": {
        "profiles": ("premium", "ultra"),
        "platform": "kubernetes",
        "enforcement": "storage-class",
    },
    "mounted": {"profiles": ("mounted.yaml", "mounted-2.yaml")},
    "machines": {"profiles": ("machines.yaml", "machines-2.yaml")},
    "existing": {"profiles": ("existing.yaml", "existing-2.yaml")},
    "BenchBase": {"profiles": ("premium", "ultra"), "generator": "benchbase"},
    "sysbench-stock": {"profiles": ("premium", "ultra"), "workloads": ("oltp_read_write",)},
    "disk-matrix": {"profiles": ("premium", "ultra"), "workloads": ("disk-matrix",)},
}
# In the order of KINDS.
TABLE = {
    "database": "TTTTTRTTN",
    "platform": "TTRTRTTTT",
    "enforcement": "RTTRRRRRR",
    "scale": "TTTTTTTTT",
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
    "gate_every": "RRTTTRRRR",
    "drain": "RRRTTRRRR",
    "warmup": "TTTTTTRRR",
    "windows": "TTTTTRTTN",
    "overrides": "TTTTTTTTR",
    "dry_run": "TTTTTTTTT",
    "margin_pct": "TTTTTTTTT",
    "baseline": "TTTTTTTTT",
    "until": "TTTTTTTTT",
    "most_repetitions": "TTTTTTTTT",
    "aa": "TTTTTTTTT",
}
GIVEN: dict[str, Any] = {
    "database": "yugabytedb",
    "platform": "kubernetes",
    "enforcement": "storage-class",
    "scale": "laptop",
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
    "gate_every": 3,
    "drain": True,
    "warmup": "steady",
    "windows": "checkpoints",
    "overrides": ("threads=3",),
    "dry_run": True,
    "margin_pct": 7.5,
    "baseline": "second",
    "until": "decided",
    "most_repetitions": 7,
    "aa": True,
}
# Where GIVEN would be what is so already.
OTHERS = {
    ("platform", "emulated on Kubernetes"): "docker",
    ("platform", "StorageClass"): "docker",
    ("enforcement", "StorageClass"): "emulated",
}
BESIDE = {"most_repetitions": {"until": "decided"}}
Place = Callable[[Plan], object]
# Option → where the plan must be another one; what is not here is told apart in `_seen`.
PLACES: dict[str, Place] = {
    "database": lambda plan: [one.cluster.database for one in used(plan)],
    "platform": lambda plan: plan.platform,
    "enforcement": lambda plan: [one.tier.kind for one in used(plan)],
    "scale": lambda plan: [one.scale for one in plan.workloads],
    "nodes": lambda plan: [one.cluster.nodes for one in used(plan)],
    "clients": lambda plan: [one.cluster.clients for one in used(plan)],
    "repetitions": lambda plan: len(plan.runs),
    "seed": lambda plan: [one.profile for one in plan.runs],
    "generator": lambda plan: [one.generator for one in plan.workloads],
    "slo": lambda plan: [one.slo for one in plan.workloads],
    "price_list": lambda plan: [one.tier.price for one in used(plan)],
    "latency_at": lambda plan: plan.latency_at_pct,
    "sweep": lambda plan: [one.threads for one in plan.workloads],
    "gate_every": lambda plan: plan.gate_every,
    "drain": lambda plan: plan.most_s,
    "warmup": lambda plan: [one.warmup_most_s for one in plan.workloads],
    "windows": lambda plan: [one.measure_s for one in plan.workloads],
    "overrides": lambda plan: [one.threads for one in plan.workloads],
    "margin_pct": lambda plan: plan.margin_pct,
    "baseline": lambda plan: plan.baseline,
    "until": lambda plan: plan.looks,
    "most_repetitions": lambda plan: plan.looks,
    "aa": lambda plan: plan.twin,
}
PRICES = """
currency: USD
region: eastus
as_of: 2026-11-01
source: our contract
prices: {azure/P15: {per_disk: 30}, azure/ultra: {per_disk: 90}}
"""
OURS = "{nodes: 3, replication_factor: 3, node: {smoke: &one {cpus: 1, memory: 2GiB, disk: 8GiB}, "
OURS += "laptop: *one}}"
THEIRS = "{database: existing, replication_factor: 1, existing: {hosts: db.example, user: bench, "
THEIRS += "password_env: BENCH_PASSWORD}}"
FILES = {
    "mounted": ('{type: azure/P15, enforcement: mounted, disks: "/mnt/a-{node}"}', OURS),
    "machines": ("{type: azure/P15, enforcement: mounted, path: /mnt/a}", OURS),
    "existing": ("{enforcement: existing}", THEIRS),
}


def used(plan: Plan) -> list[Any]:
    """Each cell's profile, as its workload uses it."""
    return [as_used(profile, load) for load in plan.workloads for profile in plan.profiles]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_engine(*_: object) -> None:
        raise UnavailableError("no engine")

    monkeypatch.setattr(outside, "platform", no_engine)
    this_machine_has(monkeypatch, cpus=8)
    monkeypatch.chdir(tmp_path)
    Path("prices.yaml").write_text(PRICES)
    for name, (tier, cluster) in FILES.items():
        text = f"question: q\ntitle: A disk\ntier: {tier}\ncluster: {cluster}\n"
        if name == "machines":
            text += "machines: [tcp://vm1:2376, tcp://vm2:2376, tcp://vm3:2376]\n"
        Path(f"{name}.yaml").write_text(text)
        Path(f"{name}-2.yaml").write_text(text)


def asked(kind: str, options: Mapping[str, Any]) -> Request:
    return Request(
        **{"workloads": ("tpcc",), "scale": "smoke", "repetitions": 4, **KINDS[kind], **options}
    )


def planned(request: Request) -> Plan:
    return plans.make_plan(request, ROOT, Path("cache"))


def value(option: str, kind: str) -> Any:
    if option == "baseline":
        return Path(KINDS[kind]["profiles"][1]).stem
    return OTHERS.get((option, kind), GIVEN[option])


PROGRAM: Any = typer.main.get_command(main.app)
WORDS = {one.name: one.opts[0] for one in PROGRAM.commands["compare"].params}


def told(error: TierbenchError) -> str:
    return " ".join([error.what, error.advice or "", *map(str, getattr(error, "mistakes", ()))])


def problems(request: Request) -> list[str]:
    """What ends the campaign before anything is started. UsageError if it is not even planned."""
    quiet = ConsoleProgress(Console(quiet=True))
    parts, world = outside.unasked(ROOT, Path("cache"), quiet)
    found = forecast.look_ahead(planned(request), parts, world).problems
    return [told(one) for one in found if isinstance(one, UsageError)]


def no_effect(plan: Plan) -> list[str]:
    return [note.text for note in plan.notes if note.kind == "no effect"]


CELLS = [
    (option, kind, LETTERS[letter])
    for option, letters in TABLE.items()
    for kind, letter in zip(KINDS, letters, strict=True)
]


def cells(*effects: str) -> pytest.MarkDecorator:
    found = [(option, kind) for option, kind, effect in CELLS if effect in effects]
    return pytest.mark.parametrize(("option", "kind"), found)


def test_every_option_of_a_campaign_has_a_row() -> None:
    assert set(TABLE) == {one.name for one in fields(Compared)} == set(GIVEN)


@cells(TAKES)
def test_it_takes_effect(option: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = BESIDE.get(option, {})
    without = asked(kind, beside)
    given = replace(without, **{option: value(option, kind)})
    assert _seen(option, given, monkeypatch) != _seen(option, without, monkeypatch)
    assert no_effect(planned(given)) == []
    assert not [text for text in problems(given) if WORDS[option] in text]


def _seen(option: str, request: Request, monkeypatch: pytest.MonkeyPatch) -> object:
    if option == "dry_run":
        return _carried_out(request, monkeypatch)
    plan = planned(request)
    if option == "max_cost":
        try:
            costs.check(plan, request.max_cost)
        except UsageError:
            return "refused"
        return "let pass"
    return PLACES[option](plan)


def _carried_out(request: Request, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whether the campaign was begun, or shown."""
    done: list[str] = []

    def begun(*_: object) -> Path:
        done.append("begun")
        raise typer.Exit

    monkeypatch.setattr(campaign, "carry_out", begun)
    monkeypatch.setattr(dry_run, "show", lambda *_: done.append("shown"))
    with pytest.raises(typer.Exit):
        main._carry_out(request, Path("results"), False, False, False)
    return done


@cells(REFUSED)
def test_it_is_refused(option: str, kind: str) -> None:
    planned(asked(kind, BESIDE.get(option, {})))
    given = asked(kind, {option: value(option, kind)})
    try:
        said = problems(given)
    except UsageError as refused:
        said = [told(refused)]
    assert [text for text in said if WORDS[option] in text or str(value(option, kind)) in text]


@cells(NOTED)
def test_a_note_says_that_it_has_no_effect(option: str, kind: str) -> None:
    without = planned(asked(kind, {}))
    given = planned(asked(kind, {option: value(option, kind)}))
    assert no_effect(without) == []
    (text,) = no_effect(given)
    assert text.startswith(f"{WORDS[option]} has no effect on ")
    if option in PLACES:
        assert PLACES[option](given) == PLACES[option](without)
