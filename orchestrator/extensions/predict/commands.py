"""`tierbench predict`: what a run on one tier says of the other tiers of the catalog.
`tierbench advise`: which of them are the cheapest to meet an SLO, and which to measure next."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import RESULTS
from orchestrator.cli.common import documents, forms, options as asked
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.run_names import campaign_and_run
from orchestrator.design.slo import format_objective, parse
from orchestrator.errors import UsageError
from orchestrator.extensions.observe import observation_results
from orchestrator.extensions.observe.histories import files as histories
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.predict import class_volumes
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
from orchestrator.extensions.predict.model_errors import FULL_OF_OTHERS
from orchestrator.extensions.predict.next_commands import commands_that_measure
from orchestrator.extensions.predict.offers import Offers
from orchestrator.extensions.predict.page import Predicted, document
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.extensions.predict.stored import as_json, without_slo
from orchestrator.model import Objective
from orchestrator.registry.installed import origin_of
from orchestrator.system import campaign_writing, files, store
from orchestrator.texts.prose import listed
from orchestrator.units import parse_size

RunArgument = Annotated[
    str, Argument(help="A run's folder, CAMPAIGN/RUN, or a run of latest.")
]
TiersOption = Annotated[
    list[str] | None,
    Option("--tier", help="A row, such as aws/gp3:size=1TiB,iops=6000."),
]
SizeOption = Annotated[
    str | None,
    Option(
        callback=asked.read_by(parse_size),
        help="What each node's disk must hold; default: the profile's disk.",
    ),
]


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
    of_classes = class_volumes.is_on_them(predictor.measured)
    offers = Offers(app.root, predictor, of_classes=of_classes, progress=app.progress)
    rows = tier or offers.rows(size)
    unbounded = list(offers.predictions(rows, may_skip=not tier))
    if not tier:
        unbounded += predictor.compared()
    app.progress.done()
    predictions = by_price(_bounded(unbounded, _doubts(campaign, predictor)))
    predicted = without_slo(campaign, predictor.measured, name, predictions)
    predicted = replace(predicted, is_of_named=bool(tier))
    page = document(predicted)
    documents.show(app, as_json(predicted), page, *predicted.commands)
    if tier:
        return
    folder = app.folder(results, name)
    with files.keeping("this prediction"):
        campaign_writing.save_predictions(
            folder, predictions, origin_of("predict"), predicted.answer.brief
        )
        documents.write(app, folder, page, "prediction")
    app.out.add(f"page: {(folder / 'prediction.html').resolve()}")


@takes(shown_as=forms.OF_ANSWERS)
def advise(
    app: App,
    run: RunArgument,
    slo: Annotated[str, Option(help='What must be reached, such as "p99 < 20 ms".')],
    observed: Annotated[
        Path | None, Option(help="Has the load, of its busiest hour.")
    ] = None,
    tier: TiersOption = None,
    size: SizeOption = None,
    enforcement: Annotated[
        Literal["emulated", "storage-class"] | None,
        Option(help="storage-class: only volumes of Kubernetes."),
    ] = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Names the cheapest tiers that a run predicts to meet an SLO, and which to measure next. It
    looks at single disks, stripes of several, a second disk for the log, and other machines."""
    clauses = parse(slo, "--slo")
    hour = _busiest_hour(app, observed)
    name, slug = campaign_and_run(run)
    campaign, predictor = _predictor(app, name, slug, results, hour)
    # What no run can tell of is refused before the catalog is simulated.
    predictor.check(clauses)
    of_classes = class_volumes.is_on_them(predictor.measured)
    if enforcement is not None:
        of_classes = enforcement == "storage-class"
    offers = Offers(
        app.root, predictor, clauses, of_classes=of_classes, progress=app.progress
    )
    unbounded = _layouts(offers, tier, size)
    app.progress.done()
    predictions = by_price(_bounded(unbounded, _doubts(campaign, predictor)))
    cell = measured_cell(campaign, predictor.measured, name)
    chosen = worth_measuring(predictions)
    commands = tuple(
        commands_that_measure(
            campaign, cell.workload, chosen, slo, of_classes=of_classes
        )
    )
    predicted = Predicted(
        cell=cell,
        answer=_advice(predictor, clauses, predictions, commands),
        predictions=predictions,
        clauses=tuple(clauses),
        is_of_named=bool(tier),
        commands=commands,
        of_classes=of_classes,
    )
    documents.show(app, _advice_as_json(predicted), document(predicted), *commands)


def _advice(
    predictor: Predictor,
    clauses: Sequence[Objective],
    predictions: Sequence[Prediction],
    commands: Sequence[str],
) -> Answer:
    """Which tiers are likely to meet the clauses, and the commands that measure these."""
    record = predictor.measured.record
    objectives = [format_objective(clause) for clause in clauses]
    machine = record.profile.cluster.vm or ""
    return prediction_answer(
        record.workload.name, objectives, predictions, commands, machine
    )


def _busiest_hour(app: App, observed: Path | None) -> Hour | None:
    """The load of an observation's busiest hour, if there is one."""
    if observed is None:
        return None
    readings = histories.read(observed, app.progress.warn)
    return observation_results.busiest_hour(demands(readings))


def _layouts(
    offers: Offers, named_rows: Sequence[str] | None, size: str | None
) -> list[Prediction]:
    """Predictions of the disks that somebody named; else of the catalog's, on several machines,
    alone and with a second disk for the log."""
    if named_rows:
        return list(offers.predictions(named_rows, may_skip=False))
    return offers.search(offers.rows(size))


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
    doubts = doubts_of_cell(campaign, judge(campaign), run)
    if predictor.is_beside_others:
        return (*doubts, FULL_OF_OTHERS)
    return doubts


def _bounded(
    predictions: Iterable[Prediction], doubts: tuple[str, ...]
) -> list[Prediction]:
    """The same predictions, each with the doubts, which bound its chance."""
    return [in_doubt(prediction, doubts) for prediction in predictions]


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
