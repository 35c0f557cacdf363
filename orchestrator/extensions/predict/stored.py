"""What was predicted from a run, as its campaign keeps it, and as programs take it."""

from collections.abc import Sequence

from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import Results, RunData
from orchestrator.extensions.predict import class_volumes
from orchestrator.extensions.predict.first_answer import choices, first_answer
from orchestrator.extensions.predict.measured_cell import measured_cell
from orchestrator.extensions.predict.next_commands import commands_that_measure
from orchestrator.extensions.predict.page import Predicted, document
from orchestrator.report.blocks import StoredPage


def without_slo(
    campaign: Results, run: RunData, name: str, predictions: Sequence[Prediction]
) -> Predicted:
    """What is said of predictions where nothing says what a disk must do.

    `name`: by which commands find the campaign. `predictions`: from cheap to dear.
    """
    cell = measured_cell(campaign, run, name)
    chosen: list[Prediction] = []
    for choice in choices(cell, predictions):
        chosen.append(choice.cheapest)
    of_classes = class_volumes.is_on_them(run)
    commands = tuple(
        commands_that_measure(campaign, cell.workload, chosen, of_classes=of_classes)
    )
    answer = first_answer(cell, predictions, commands)
    return Predicted(
        cell,
        answer,
        predictions,
        commands=commands,
        of_classes=of_classes,
        is_of_named=False,
    )


def as_json(predicted: Predicted) -> dict[str, object]:
    """The answer, and every prediction with its intervals."""
    return {
        "brief": predicted.answer.brief,
        "predictions": predicted.predictions,
        "commands": predicted.commands,
    }


def stored_page(campaign: Results, name: str, slug: str) -> StoredPage | None:
    """What was predicted from a run of the campaign, or from another one of its cell.

    None if nothing was. `name`: by which commands find the campaign.
    """
    by_slug: dict[str, RunData] = {}
    for run in campaign.done:
        by_slug[run.record.run.slug] = run
    asked = by_slug.get(slug)
    if asked is None or not campaign.predictions:
        return None
    predicted_from = by_slug.get(campaign.predictions[0].run)
    if predicted_from is None or not _are_of_one_cell(asked, predicted_from):
        return None
    predicted = without_slo(campaign, predicted_from, name, campaign.predictions)
    return StoredPage(document(predicted), as_json(predicted))


def _are_of_one_cell(run: RunData, other: RunData) -> bool:
    cell = (run.record.run.profile, run.record.run.workload)
    return cell == (other.record.run.profile, other.record.run.workload)
