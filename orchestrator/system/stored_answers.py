"""What was found without a campaign's runs: observations, and what was predicted from a run.

Each is an entry of the list of all that was found (`campaign_list`), beside the campaigns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.analysis.answers.record import NO_BRIEF, Brief
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.errors import TierbenchError
from orchestrator.system import clock, stored_json
from orchestrator.system.campaign_folders import PREDICTIONS
from orchestrator.system.observation_files import FACTS, NAMED
from orchestrator.texts.prose import first_few, listed


@dataclass(frozen=True)
class _DiskRead:
    """A disk that was read. `node`, `device`: as its counters call them."""

    node: str
    device: str


@dataclass(frozen=True)
class _Observation:
    """What a list needs of observed.json."""

    read: tuple[_DiskRead, ...] = ()
    answer: Brief = NO_BRIEF


@dataclass(frozen=True)
class _Predicted:
    tier: str
    run: str = ""


@dataclass(frozen=True)
class _Predictions:
    """What a list needs of predictions.json."""

    predictions: tuple[_Predicted, ...] = field(default=())
    answer: Brief = NO_BRIEF


def observation(folder: Path) -> Entry:
    """What a list says of one, with the fault of one that cannot be read."""
    began_s = _began_s(folder.name)
    file = folder / FACTS
    if not file.is_file():
        question = "Which disks would have carried this load?"
        return Entry(
            folder.name,
            began_s,
            kind="observation",
            question=question,
            answer="it is still being read, or was ended before it was judged",
        )
    try:
        kept = stored_json.read_json(file, _Observation)
    except TierbenchError as error:
        return Entry(folder.name, began_s, fault=error.what)
    disks: dict[str, None] = {}
    for disk in kept.read:
        disks[f"{disk.node} {disk.device}".strip()] = None
    names = listed(list(first_few(list(disks))))
    return Entry(
        folder.name,
        began_s,
        kind="observation",
        question=f"Which disks would have carried {names}?",
        answer=kept.answer.what,
    )


def _began_s(name: str) -> float | None:
    """`TIME-observed`, or `observed-HASH-TIME` of a live one; Unix seconds."""
    began_s = clock.from_stamp(name)
    if began_s is not None:
        return began_s
    _, _, stamp = name.removeprefix(f"{NAMED}-").partition("-")
    return clock.from_stamp(stamp)


def prediction(campaign: Path, of_campaign: Entry) -> Iterator[Entry]:
    """What was predicted from a run of a campaign, which has the entry `of_campaign`; nothing if
    nobody asked. It is listed with the campaign, whose folder keeps it."""
    file = campaign / PREDICTIONS
    if not file.is_file() or of_campaign.fault:
        return
    try:
        kept = stored_json.read_json(file, _Predictions)
    except TierbenchError as error:
        yield Entry(of_campaign.folder, of_campaign.began_s, fault=error.what)
        return
    runs: dict[str, None] = {}
    for predicted in kept.predictions:
        if predicted.run:
            runs[predicted.run] = None
    names = list(runs)
    folder = of_campaign.folder
    if names:
        # `tierbench report` shows it by that name.
        folder = f"{folder}/{names[0]}"
    yield replace(
        of_campaign,
        folder=folder,
        kind="prediction",
        question=f"What would other tiers do, by {listed(names) or 'a run'}?",
        answer=kept.answer.what,
        decisions={},
    )
