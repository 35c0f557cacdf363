"""Observations in the list of all that was found (`tierbench history`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.analysis.answers.record import NO_BRIEF, Brief
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.errors import TierbenchError
from orchestrator.extensions.observe.observation_files import FACTS, NAMED, is_one
from orchestrator.system import clock, stored_json
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


def entries(folder: Path, campaign: Entry | None) -> Iterator[Entry]:
    """The entry of the observation in a folder; nothing if there is none."""
    if campaign is None and is_one(folder):
        yield _entry(folder)


def _entry(folder: Path) -> Entry:
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
