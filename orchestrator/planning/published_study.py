"""A published study's tables, in YAML (docs/STUDY.md) → the plan and records of a campaign. Pure.

A figure that is not in the tables is absent, a tier without figures has no record, and plan
and records say that nothing was measured.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from orchestrator import units
from orchestrator.errors import Mistake
from orchestrator.facts import DoubtKind, effect_of_doubt
from orchestrator.keys import schema
from orchestrator.keys.strict_yaml import (
    Strict,
    parse,
    raise_all,
    unknown_name,
    validate,
)
from orchestrator.metrics import measured
from orchestrator.model import (
    RESULTS_FORMAT,
    Dataset,
    Doubt,
    Measurement,
    Note,
    Plan,
    Profile,
    Record,
    Run,
    Workload,
)
from orchestrator.tier import Limits, Origin, OthersDisks, Tier

SCALE = "study"
MARGIN_PCT = 5.0
STATEMENT = "published figures, not measured by this program"

Printed = Annotated[Decimal, BeforeValidator(units.as_text)]  # keeps the digits
Duration = Annotated[schema.Seconds, Field(gt=0)]


class FiguresYaml(Strict):
    """One cell of the tables, each figure with its metric and scope.

    Of disks the scope is what `disk_figures` says. What was not published is left out.
    """

    throughput: Annotated[schema.Rate | None, "throughput_per_s", "all"] = None
    nopm: Annotated[schema.Rate | None, "nopm", "all"] = None
    latency: Annotated[Duration | None, "latency_avg_s", "all"] = None
    latency_p95: Annotated[Duration | None, "latency_p95_s", "all"] = None
    latency_p99: Annotated[Duration | None, "latency_p99_s", "all"] = None
    statement_latency: Annotated[Duration | None, "statement_latency_avg_s", "all"] = (
        None
    )
    new_order_latency: Annotated[Duration | None, "latency_avg_s", "new_order"] = None
    new_order_latency_p99: Annotated[Duration | None, "latency_p99_s", "new_order"] = (
        None
    )
    cpu: Annotated[schema.Percentage | None, "cpu_pct", "all"] = None
    iops: Annotated[schema.Rate | None, "disk_iops", ""] = None
    bandwidth: Annotated[schema.BytesPerS | None, "disk_bytes_per_s", ""] = None


class PublishedFigure(NamedTuple):
    """What a figure is of. `scope` empty: of disks."""

    metric: str
    scope: str


# Key of a cell → what it is of.
FIGURES = {
    key: PublishedFigure(*field.metadata)
    for key, field in FiguresYaml.model_fields.items()
}


class StudyTierYaml(Strict):
    title: str
    iops: schema.Positive | None = None
    throughput: schema.BytesPerS | None = None
    price: schema.PriceKey | None = None
    notes: str = ""


class StudyWorkloadYaml(Strict):
    title: str
    generator: str
    dataset: str
    size: Mapping[str, schema.Parameter] = {}
    threads: schema.Positive
    loader_threads: schema.Positive
    warmup_s: schema.Seconds = Field(alias="warmup")
    measure_s: Duration = Field(alias="measure")
    statements_per_transaction: schema.Positive | None = None
    options: Mapping[str, schema.Parameter] = {}
    results: Mapping[str, FiguresYaml | None]


class StudyDoubtYaml(Strict):
    """Something in the tables that speaks against a figure and that no rule of ours sees."""

    kind: DoubtKind
    workload: str
    tiers: tuple[str, ...] = ()
    text: str
    advice: str


class StudyYaml(Strict):
    title: str
    question: str
    source: str
    as_of: schema.Text
    baseline: str
    cluster: schema.ClusterYaml
    tiers: Annotated[Mapping[str, StudyTierYaml], Field(min_length=1)]
    disk_figures: Literal["each node", "all nodes"]
    workloads: Annotated[Mapping[str, StudyWorkloadYaml], Field(min_length=1)]
    readings: tuple[str, ...] = ()
    deltas: Mapping[str, Mapping[str, Mapping[str, Printed]]] = {}
    doubts: tuple[StudyDoubtYaml, ...] = ()


# Workload, tier, metric and scope of a change against the baseline.
DeltaKey = tuple[str, str, str, str]


@dataclass(frozen=True)
class Study:
    """A campaign that others carried out: what they published of it, and nothing else.

    `deltas`: changes against the baseline in percent, with the digits that were printed.
    """

    title: str
    source: str
    plan: Plan
    records: tuple[Record, ...]
    deltas: Mapping[DeltaKey, Decimal]


def read(where: str, name: str, text: str) -> Study:
    """`text` of the file `where`; `name`: of the campaign. UsageError: all mistakes, with paths."""
    study = validate(StudyYaml, f"{where}: ", parse(where, text))
    mistakes: list[Mistake] = []
    for mistake in _mistakes(study):
        mistakes.append(replace(mistake, where=f"{where}: {mistake.where}"))
    raise_all(mistakes)
    plan = _plan(study, name)
    records = tuple(_records(study, plan))
    return Study(study.title, study.source, plan, records, _deltas(study))


def _deltas(study: StudyYaml) -> dict[DeltaKey, Decimal]:
    deltas: dict[DeltaKey, Decimal] = {}
    for workload, metrics in study.deltas.items():
        for key, changes in metrics.items():
            figure = FIGURES[key]
            for tier, printed in changes.items():
                deltas[workload, tier, figure.metric, figure.scope] = printed
    return deltas


# ------------------------------------------------------------------ what the schema cannot say


def _mistakes(study: StudyYaml) -> Iterator[Mistake]:
    """Names that lead nowhere, and tiers of which nothing is said; each with its path."""
    for name in study.tiers:
        yield from _no_name(f"tiers.{name}", name)
    for name in study.workloads:
        yield from _no_name(f"workloads.{name}", name)
    yield from _unknown("baseline", "tier", [study.baseline], study.tiers)
    if study.cluster.nodes is None:
        yield Mistake("cluster.nodes", "this key is missing")
    if study.cluster.node and SCALE not in study.cluster.node:
        yield Mistake("cluster.node", f"name its size `{SCALE}`")
    yield from _mistakes_in_results(study)
    yield from _mistakes_in_deltas(study)
    for number, doubt in enumerate(study.doubts):
        path = f"doubts.{number}"
        of_workload = f"{path}.workload"
        yield from _unknown(of_workload, "workload", [doubt.workload], study.workloads)
        yield from _unknown(f"{path}.tiers", "tier", doubt.tiers, study.tiers)


def _mistakes_in_results(study: StudyYaml) -> Iterator[Mistake]:
    for name, workload in study.workloads.items():
        path = f"workloads.{name}.results"
        yield from _unknown(path, "tier", workload.results, study.tiers)
        for tier in study.tiers.keys() - workload.results.keys():
            text = f"{tier} is missing; null says that its figures were not published"
            yield Mistake(path, text)


def _mistakes_in_deltas(study: StudyYaml) -> Iterator[Mistake]:
    for name, metrics in study.deltas.items():
        yield from _unknown(f"deltas.{name}", "workload", [name], study.workloads)
        for key, tiers in metrics.items():
            path = f"deltas.{name}.{key}"
            yield from _unknown(path, "figure", [key], FIGURES)
            yield from _unknown(path, "tier", tiers, study.tiers)


def _no_name(path: str, name: str) -> Iterator[Mistake]:
    """Names of tiers and workloads become names of folders and files."""
    if not re.fullmatch(r"\w[\w.+-]*", name):
        text = "a name has letters, digits, and . + - _ after the first"
        yield Mistake(path, text)


def _unknown(
    path: str, kind: str, names: Iterable[str], choices: Collection[str]
) -> Iterator[Mistake]:
    for name in names:
        if name not in choices:
            yield unknown_name(path, kind, name, choices)


# ------------------------------------------------------------------ a campaign of it


def _plan(study: StudyYaml, name: str) -> Plan:
    profiles = [_profile(study, tier, row) for tier, row in study.tiers.items()]
    workloads = [_workload(load, row) for load, row in study.workloads.items()]
    runs: list[Run] = []
    for workload in study.workloads:
        for tier in study.tiers:
            runs.append(Run(len(runs) + 1, tier, workload, 1))
    return Plan(
        name=units.shortened(name, 80),
        seed=0,
        scale=SCALE,
        baseline=study.baseline,
        repetitions=1,
        margin_pct=MARGIN_PCT,
        p99_margin_pct=MARGIN_PCT,
        profiles=tuple(profiles),
        workloads=tuple(workloads),
        runs=tuple(runs),
        estimate_s=0.0,
        notes=tuple(_notes(study)),
    )


def _notes(study: StudyYaml) -> Iterator[Note]:
    whose = f"{study.title} ({study.source}, {study.as_of})"
    text = (
        f"{whose}: figures that others published, entered as they stand. Nothing was "
        "run, sampled or checked here"
    )
    yield Note("published figures", text)
    for reading in study.readings:
        yield Note("reading", reading)


def _profile(study: StudyYaml, name: str, row: StudyTierYaml) -> Profile:
    tier = Tier(
        name=name,
        title=row.title,
        limits=Limits(row.iops, row.throughput),
        disk=OthersDisks(),
        price=row.price,
        origin=Origin(source=study.source, as_of=study.as_of, notes=row.notes),
    )
    return Profile(name, study.question, tier, study.cluster.build(SCALE))


def _workload(name: str, load: StudyWorkloadYaml) -> Workload:
    return Workload(
        name=name,
        script="",
        dataset=Dataset(load.dataset, load.size),
        scale=SCALE,
        **load.model_dump(exclude={"dataset", "size", "results"}),
    )


def _records(study: StudyYaml, plan: Plan) -> Iterator[Record]:
    """Of the runs whose figures were published."""
    facts = {
        "published": {
            "figures": STATEMENT,
            "source": study.source,
            "as_of": study.as_of,
        }
    }
    for run in plan.runs:
        figures = study.workloads[run.workload].results[run.profile]
        if figures is None:
            continue
        yield Record(
            schema_version=RESULTS_FORMAT,
            run=run,
            profile=plan.profile(run.profile),
            workload=plan.workload(run.workload),
            outcome="done",
            failure=None,
            phases=(),
            nodes=(),
            measurements=tuple(_measurements(study, figures)),
            gate=None,
            facts=facts,
            doubts=tuple(_doubts(study, run)),
        )


def _measurements(study: StudyYaml, figures: FiguresYaml) -> Iterator[Measurement]:
    """Those that were published."""
    scope_of_disks = "all"
    if study.disk_figures == "each node":
        scope_of_disks = study.disk_figures
    for key, figure in FIGURES.items():
        value = getattr(figures, key)
        if value is not None:
            yield measured(figure.metric, value, figure.scope or scope_of_disks)


def _doubts(study: StudyYaml, run: Run) -> Iterator[Doubt]:
    """Of a workload; on all tiers, unless it names some."""
    for doubt in study.doubts:
        if doubt.workload != run.workload:
            continue
        if not doubt.tiers or run.profile in doubt.tiers:
            effect = effect_of_doubt(doubt.kind)
            yield Doubt(doubt.kind, doubt.text, doubt.advice, run.number, effect)
