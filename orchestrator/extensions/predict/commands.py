"""`tierbench predict`: what a run on one tier says of the other tiers of the catalog.
`tierbench advise`: which of them are the cheapest to meet an SLO, and which to measure next."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from orchestrator.analysis.conclusions import Prediction
from orchestrator.analysis.observed.disk_demands import demands
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import RESULTS
from orchestrator.cli.common import documents, forms
from orchestrator.cli.common import options as asked
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.run_names import campaign_and_run
from orchestrator.cli.prepare.init import CLUSTERS
from orchestrator.design.slo import format_objective, parse
from orchestrator.errors import UsageError
from orchestrator.extensions.predict.answer import (
    by_price,
    doubts_of_cell,
    in_doubt,
    possible_tiers,
    prediction_answer,
    worth_measuring,
)
from orchestrator.extensions.predict.demands import Hour
from orchestrator.extensions.predict.measured_cell import measured_cell
from orchestrator.extensions.predict.next_commands import commands_that_measure
from orchestrator.extensions.predict.page import Predicted, document
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.extensions.predict.stored import as_json, without_slo
from orchestrator.histories import files as histories
from orchestrator.keys import strict_yaml
from orchestrator.model import Objective
from orchestrator.planning import project_files, virtual_machines
from orchestrator.registry.installed import origin_of
from orchestrator.run import observation_results
from orchestrator.system import files, store
from orchestrator.tier import Tier
from orchestrator.tier_catalog import candidates
from orchestrator.units import listed, parse_size

RunArgument = Annotated[
    str, Argument(help="A run's folder, CAMPAIGN/RUN, or a run of latest.")
]
TiersOption = Annotated[list[str] | None, Option("--tier")]
SizeOption = Annotated[str | None, Option(callback=asked.read_by(parse_size))]


@takes(shown_as=forms.OF_ANSWERS)
def predict(
    app: App,
    run: RunArgument,
    tier: TiersOption = None,
    size: SizeOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Predicts from a run what other tiers would do. Without --tier: those measured beside it, with
    what they did, and all of the catalog."""
    name, slug = campaign_and_run(run)
    campaign, predictor = _predictor(app, name, slug, results)
    rows = tier or _catalog_rows(predictor, size, app.root)
    unbounded = list(_predictions(predictor, rows, app.root, may_skip=not tier))
    if not tier:
        unbounded += predictor.compared()
    predictions = by_price(_bounded(unbounded, _doubts(campaign, predictor)))
    predicted = without_slo(campaign, predictor.measured, name, predictions)
    predicted = replace(predicted, is_of_named=bool(tier))
    page = document(predicted)
    documents.show(app, as_json(predicted), page, *predicted.commands)
    if tier:
        return
    folder = app.folder(results, name)
    with files.keeping("this prediction"):
        store.save_predictions(
            folder, predictions, origin_of("predict"), predicted.answer.brief
        )
        documents.write(app, folder, page, "prediction")
    app.out.add(f"page: {(folder / 'prediction.html').resolve()}")


@takes(shown_as=forms.OF_ANSWERS)
def advise(
    app: App,
    run: RunArgument,
    slo: Annotated[str, Option(help='To be reached, such as "p99 < 20 ms".')],
    observed: Annotated[
        Path | None, Option(help="Has the load, of its busiest hour.")
    ] = None,
    tier: TiersOption = None,
    size: SizeOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Names the cheapest tiers that a run predicts to meet an SLO, and which to measure next."""
    hour = None
    if observed:
        readings = histories.read(observed, app.progress.warn)
        hour = observation_results.busiest_hour(demands(readings))
    clauses = parse(slo, "--slo")
    name, slug = campaign_and_run(run)
    campaign, predictor = _predictor(app, name, slug, results, hour)
    rows = tier or _catalog_rows(predictor, size, app.root)
    unbounded = _predictions(predictor, rows, app.root, clauses, may_skip=not tier)
    predictions = by_price(_bounded(unbounded, _doubts(campaign, predictor)))
    cell = measured_cell(campaign, predictor.measured, name)
    chosen = worth_measuring(predictions)
    commands = tuple(commands_that_measure(campaign, cell.workload, chosen, slo))
    objectives = [format_objective(clause) for clause in clauses]
    answer = prediction_answer(cell.workload, objectives, predictions, commands)
    predicted = Predicted(
        cell, answer, predictions, tuple(clauses), bool(tier), commands
    )
    documents.show(app, _advice_as_json(predicted), document(predicted), *commands)


def _advice_as_json(predicted: Predicted) -> dict[str, object]:
    (part,) = predicted.answer.parts
    return {
        "brief": predicted.answer.brief,
        "doubts": predicted.doubts,
        "why": part.why,
        "measure": [outlook.tier for outlook in part.worth_measuring],
        "tiers": possible_tiers(predicted.predictions),
        "commands": predicted.commands,
    }


def _doubts(campaign: Results, predictor: Predictor) -> tuple[str, ...]:
    """What limits predictions from the run."""
    run = predictor.measured.record.run
    return doubts_of_cell(campaign, judge(campaign), run)


def _bounded(
    predictions: Iterable[Prediction], doubts: tuple[str, ...]
) -> list[Prediction]:
    """The same predictions, each with the doubts, which bound its chance."""
    bounded = []
    for prediction in predictions:
        bounded.append(in_doubt(prediction, doubts))
    return bounded


# ------------------------------------------------------------------ which run, which tiers


def _predictor(
    app: App,
    name: str,
    slug: str,
    results: Path,
    hour: Hour | None = None,
) -> tuple[Results, Predictor]:
    """The campaign, and what predicts from that run of it. UsageError if there is none."""
    campaign = store.load(app.folder(results, name))
    measured = _finished_run(campaign, slug)
    return campaign, Predictor(campaign, measured, hour)


def _finished_run(campaign: Results, slug: str) -> RunData:
    for ended in campaign.done:
        if ended.record.run.slug == slug:
            return ended
    raise _no_such_run(campaign, slug)


def _no_such_run(campaign: Results, slug: str) -> UsageError:
    slugs = [ended.record.run.slug for ended in campaign.done]
    its_runs = "none that is finished"
    if slugs:
        its_runs = listed(slugs)
    lacks = "is a campaign: name one of its runs"
    if slug:
        lacks = f"has no finished run {slug!r}"
    return UsageError(
        f"{campaign.name} {lacks}",
        advice=f"it has {its_runs}",
    )


def _predictions(
    predictor: Predictor,
    rows: Sequence[str],
    root: Path,
    clauses: Sequence[Objective] = (),
    *,
    may_skip: bool,
) -> Iterator[Prediction]:
    """The predictions for these rows.

    UsageError if nothing can be said of a row, unless `may_skip` lets it be left out.
    """
    cluster = predictor.measured.record.profile.cluster
    catalog = project_files.catalog(root)
    vms = _machines(cluster.vm, root)
    for row in rows:
        provider, _, _ = row.partition("/")
        on_machine = replace(cluster, vm=vms.get(provider), vm_price=None)
        try:
            tier, _ = project_files.bought(root, row, on_machine.vm)
            priced = virtual_machines.priced(on_machine, tier, catalog)
            prediction = predictor.predict(replace(tier, name=row), clauses, priced)
        except UsageError:
            # Not sold so, or of a latency that nobody says.
            if not may_skip:
                raise
        else:
            yield prediction


def _catalog_rows(predictor: Predictor, size: str | None, root: Path) -> list[str]:
    """All disks that hold what the profile's disk holds, or so much, as --tier takes them.

    Not what the run's data need, which are smaller where a scale is. UsageError if nobody said how
    large the disk is.
    """
    needed_bytes = _bytes_of_its_disk(predictor.measured.record.profile.tier)
    if size:
        needed_bytes = parse_size(size)
    if not needed_bytes:
        raise _size_unknown(predictor.measured.record.profile.name)
    catalog = project_files.catalog(root)
    return [candidates.text(keys) for keys in candidates.points(catalog, needed_bytes)]


def _bytes_of_its_disk(tier: Tier) -> int:
    """The bytes of all disks that are striped to one; 0 if not known."""
    return (tier.origin.size_bytes or 0) * tier.count


def _size_unknown(profile: str) -> UsageError:
    return UsageError(
        f"it is not known how much the disks of {profile} hold, and "
        "therefore which disks to look at",
        advice="say what each node's disk must hold: --size 250GiB",
    )


def _machines(vm: str | None, root: Path) -> dict[str, str]:
    """Provider → the machine on which its disks are: the run's own `vm`, and else that of the
    cluster which `init` takes. Empty where the run's is nobody's."""
    if vm is None:
        return {}
    texts = project_files.clusters(root)
    machines = {}
    for provider, file in CLUSTERS.items():
        machines[provider] = strict_yaml.parse(file, texts[file])["vm"]
    machines[vm.partition("/")[0]] = vm
    return machines
