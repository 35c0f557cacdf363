"""`tierbench predict`: what a run on one tier says of the other tiers of the catalog."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Argument, Option

from orchestrator import tier_catalog
from orchestrator.analysis.prediction.prediction import FIGURES, Prediction, Predictor
from orchestrator.cli import RESULTS, console
from orchestrator.cli import options as asked
from orchestrator.cli.app import App
from orchestrator.errors import UsageError
from orchestrator.metrics import METRICS
from orchestrator.planning import profiles, project_files
from orchestrator.system import store
from orchestrator.units import format_quantity, listed

RunArgument = Annotated[str, Argument(help="A run's folder, CAMPAIGN/RUN, or a run of latest.")]
TiersOption = Annotated[
    list[str] | None, Option("--tier", help="A row, such as aws/gp3:size=1TiB,iops=6000.")
]
STEPS = (1, 4, 16)  # times the least IOPS, or the size needed, with which types are predicted
_GIB = 2**30


@asked.takes(in_json=True)
def predict(
    app: App, run: RunArgument, tier: TiersOption = None, results: asked.ResultsOption = RESULTS
) -> None:
    """Predicts from a run what other tiers would do; without --tier all of the catalog."""
    campaign, _, slug = run.rstrip("/").rpartition("/")
    loaded = store.load(app.folder(results, campaign.removesuffix("/runs") or "latest"))
    of_name = [data for data in loaded.done if data.record.run.slug == slug]
    if not of_name:
        runs = listed([data.record.run.slug for data in loaded.done])
        raise UsageError(f"{loaded.name} has no finished run {slug!r}", advice=f"it has {runs}")
    predictor = Predictor(loaded, of_name[0])
    predictions = list(_predictions(predictor, tier or (), app.root))
    app.out.show(predictions, _table(predictions))


def _predictions(predictor: Predictor, tiers: Sequence[str], root: Path) -> Iterator[Prediction]:
    cluster, catalog = predictor.measured.record.profile.cluster, project_files.catalog(root)
    needed = cluster.node.disk_bytes if cluster.node else _GIB
    for text in tiers or _points(catalog, needed):
        row, _, changes = text.partition(":")
        with suppress(*[] if tiers else [UsageError]):  # not sold so, or of unknown latency
            keys = [change for change in changes.split(",") if change]
            tier, _ = project_files.tier(root, row, keys, profiles.ANY_SCALE)
            if (vm := cluster.vm or "").partition("/")[0] == row.partition("/")[0]:
                chosen = replace(tier_catalog.own(tier), type=tier.origin.catalog_type)
                on_vm = tier_catalog.effective(chosen, 1, catalog.vm(vm), vm)
                tier = tier_catalog.bound(tier, on_vm)
            yield predictor.predict(replace(tier, name=text))


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


def _table(predictions: Sequence[Prediction]) -> Table:
    table = console.table(("tier", "throughput", "average", "p99", "limit", "a month"), ("tier",))
    for p in predictions:
        cells = ["–"] * len(FIGURES)
        for place, name in enumerate(FIGURES):
            if figure := p.figures.get(name):
                values = (figure.value, figure.low, figure.high)
                told = [format_quantity(value, METRICS[name].unit) for value in values]
                cells[place] = "{} ({} to {})".format(*told)
        cost = "–" if p.monthly_cost is None else f"{p.monthly_cost:,.2f} {p.currency}"
        table.add_row(p.tier + " (upwards)" * p.upwards, *cells, p.limit, cost)
    return table
