"""`tierbench predict`: what a run on one tier says of the other tiers of the catalog.
`tierbench advise`: which of them are the cheapest to meet an SLO, and which to measure next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Argument, Option

from orchestrator import tier_catalog
from orchestrator.analysis.prediction.prediction import FIGURES, Prediction, Predictor, named
from orchestrator.analysis.results import Key, Results
from orchestrator.cli import RESULTS, console
from orchestrator.cli import options as asked
from orchestrator.cli.app import App
from orchestrator.errors import UsageError
from orchestrator.metrics import METRICS
from orchestrator.planning import profiles, project_files
from orchestrator.planning.slo import parse
from orchestrator.report.sections import method
from orchestrator.system import store
from orchestrator.units import format_quantity, listed

RunArgument = Annotated[str, Argument(help="A run's folder, CAMPAIGN/RUN, or a run of latest.")]
TiersOption = Annotated[
    list[str] | None, Option("--tier", help="A row, such as aws/gp3:size=1TiB,iops=6000.")
]
STEPS = (1, 4, 16)  # times the least IOPS, or the size needed, with which types are predicted
CHANCES = (0.9, 0.5, 0.1)  # likely, even, not negligible: the cheapest of each is worth measuring
SHOWN = 12  # of the tiers that may meet an SLO, the cheapest
_GIB = 2**30
NONE = "no tier is predicted to meet that with a chance of 10 % or more"
# Options of the command that measured the run of which the next one has others.
OTHERS = {"--profile", "--profiles", "-p", "--workload", "--workloads", "-w", "--slo", "--sweep"}


@asked.takes(in_json=True)
def predict(
    app: App, run: RunArgument, tier: TiersOption = None, results: asked.ResultsOption = RESULTS
) -> None:
    """Predicts from a run what other tiers would do; without --tier all of the catalog."""
    _, predictor = _predictor(app, run, results)
    predictions = list(_predictions(predictor, tier or (), app.root, FIGURES))
    app.out.show(predictions, _table(predictions, FIGURES))


@asked.takes(in_json=True)
def advise(
    app: App,
    run: RunArgument,
    slo: Annotated[str, Option(help='To be reached, such as "p99 < 20 ms".')],
    tier: TiersOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Names the cheapest tiers that a run predicts to meet an SLO, and which to measure next."""
    campaign, predictor = _predictor(app, run, results)
    objectives = parse(slo, "--slo")
    keys = [(objective.metric, objective.scope) for objective in objectives]
    every = _predictions(predictor, tier or (), app.root, keys)
    priced = sorted((p for p in every if p.currency), key=lambda p: p.monthly_cost or 0.0)
    chances = {p.tier: p.chance(objectives) for p in priced}
    firsts = (next((t for t in chances if chances[t] >= least), "") for least in CHANCES)
    chosen = list(dict.fromkeys(filter(None, firsts)))
    possible = [p for p in priced if chances[p.tier] >= CHANCES[-1]][:SHOWN]
    commands = list(_commands(campaign, predictor.measured.record.workload.name, chosen, slo))
    told = {"measure": chosen, "chances": chances, "commands": commands}
    app.out.show(told, _table(possible, keys, chances), *(commands or [NONE]))


def _commands(campaign: Results, workload: str, tiers: Sequence[str], slo: str) -> Iterator[str]:
    """Those that measure these tiers as the run was."""
    for number, tier in enumerate(tiers, start=1):
        row, _, keys = tier.partition(":")
        yield shlex.join(["tierbench", "init", f"advised-{number}", "--tier", row, *_keys(keys)])
    names = ",".join(f"advised-{number}" for number in range(1, len(tiers) + 1))
    given = shlex.split(method.command(campaign))[1:]
    kept = [word for before, word in pairwise(given) if not {before, word} & OTHERS]
    asked_for = ["--profiles", names, "--workloads", workload, "--slo", slo]
    if tiers:
        yield shlex.join(["tierbench", "compare", *asked_for, *kept])


def _predictor(app: App, run: str, results: Path) -> tuple[Results, Predictor]:
    campaign, _, slug = run.rstrip("/").rpartition("/")
    loaded = store.load(app.folder(results, campaign.removesuffix("/runs") or "latest"))
    of_name = [data for data in loaded.done if data.record.run.slug == slug]
    if not of_name:
        runs = listed([data.record.run.slug for data in loaded.done])
        raise UsageError(f"{loaded.name} has no finished run {slug!r}", advice=f"it has {runs}")
    return loaded, Predictor(loaded, of_name[0])


def _keys(text: str) -> list[str]:
    return [key for key in text.split(",") if key]


def _predictions(
    predictor: Predictor, tiers: Sequence[str], root: Path, keys: Sequence[Key]
) -> Iterator[Prediction]:
    cluster, catalog = predictor.measured.record.profile.cluster, project_files.catalog(root)
    needed = cluster.node.disk_bytes if cluster.node else _GIB
    for text in tiers or _points(catalog, needed):
        row, _, changes = text.partition(":")
        with suppress(*[] if tiers else [UsageError]):  # not sold so, or of unknown latency
            tier, _ = project_files.tier(root, row, _keys(changes), profiles.ANY_SCALE)
            if (vm := cluster.vm or "").partition("/")[0] == row.partition("/")[0]:
                chosen = replace(tier_catalog.own(tier), type=tier.origin.catalog_type)
                on_vm = tier_catalog.effective(chosen, 1, catalog.vm(vm), vm)
                tier = tier_catalog.bound(tier, on_vm)
            yield predictor.predict(replace(tier, name=text), keys)


def _points(catalog: tier_catalog.Catalog, needed: int) -> Iterator[str]:
    """Each size that holds the data; of other types some times the least IOPS and throughput, or
    the size that is needed."""
    for row in tier_catalog.tiers(catalog):
        least, rule = row.size_bytes[0] or 0, row.kind.provisioned
        if row.kind.sizes and least >= needed:
            yield row.name
        for step in () if row.kind.sizes else STEPS:
            gib, keys = math.ceil(max(needed, least) / _GIB) * (1 if rule else step), ""
            if rule:
                iops, given = step * (rule.iops.included or rule.iops.min), rule.throughput
                gib = max(gib, math.ceil(iops / (rule.iops.max_per_gib or math.inf)))
                rate = min(given.max, step * (given.included or given.min or 0))
                keys = f",iops={iops}"
                keys += "" if given.follows else f",throughput={rate:g}{given.unit}"
            yield f"{row.name}:size={gib}GiB{keys}"


def _table(
    predictions: Sequence[Prediction], keys: Sequence[Key], chances: Mapping[str, float] = {}
) -> Table:
    titles = [f"{METRICS[metric].title}" + f" {scope}" * (scope != "all") for metric, scope in keys]
    columns = ("tier", *titles, "limit", "a month", *(["chance"] if chances else ()))
    table = console.table(columns, ("tier",))
    for p in predictions:
        cells = []
        for metric, scope in keys:
            figure, unit = p.figures.get(named(metric, scope)), METRICS[metric].unit
            values = (figure.value, figure.low, figure.high) if figure else ()
            told = [format_quantity(value, unit) for value in values]
            cells.append("{} ({} to {})".format(*told) if told else "–")
        cells += [p.limit, "–" if p.monthly_cost is None else f"{p.monthly_cost:,.2f} {p.currency}"]
        cells += [f"{100 * chances[p.tier]:.0f} %"] if chances else []
        table.add_row(p.tier + " (upwards)" * p.upwards, *cells)
    return table
