"""Predictions in the list of all that was found (`tierbench history`)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.analysis.answers.record import NO_BRIEF, Brief
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.errors import TierbenchError
from orchestrator.system import stored_json
from orchestrator.system.campaign_folders import PREDICTIONS
from orchestrator.texts.prose import listed


@dataclass(frozen=True)
class _Predicted:
    tier: str
    run: str = ""


@dataclass(frozen=True)
class _Predictions:
    """What a list needs of predictions.json."""

    predictions: tuple[_Predicted, ...] = field(default=())
    answer: Brief = NO_BRIEF


def entries(folder: Path, campaign: Entry | None) -> Iterator[Entry]:
    """What was predicted from a run of the campaign in a folder; nothing if nobody asked. It is
    listed with the campaign, whose folder keeps it."""
    file = folder / PREDICTIONS
    if campaign is None or campaign.fault or not file.is_file():
        return
    try:
        kept = stored_json.read_json(file, _Predictions)
    except TierbenchError as error:
        yield Entry(campaign.folder, campaign.began_s, fault=error.what)
        return
    runs: dict[str, None] = {}
    for predicted in kept.predictions:
        if predicted.run:
            runs[predicted.run] = None
    names = list(runs)
    name = campaign.folder
    if names:
        # `tierbench report` shows it by that name.
        name = f"{name}/{names[0]}"
    yield replace(
        campaign,
        folder=name,
        kind="prediction",
        question=f"What would other tiers do, by {listed(names) or 'a run'}?",
        answer=kept.answer.what,
        decisions={},
    )
