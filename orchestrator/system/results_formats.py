"""Older formats of results: what a file of one lacks, and what it is given when it is read.

`model.RESULTS_FORMAT` is the format that is written. Each table is of one file of a campaign:
the `schema_version` that it has in an older format → what brings its content, as JSON, into
this one. A version that is in no table is refused, and nothing that lies on a disk is changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.doubt_effects import effect_of_doubt
from orchestrator.facts import NoteKind
from orchestrator.model import RESULTS_FORMAT, Note, Plan
from orchestrator.planning import stored_plan

Upgrade = Callable[[dict[str, Any]], None]


def _numbered(content: dict[str, Any]) -> None:
    """A file whose form has not changed."""
    content["schema_version"] = RESULTS_FORMAT


def _with_effects(record: dict[str, Any]) -> None:
    """Format 2 kept a doubt's kind, and what that kind does stood in a table of the program."""
    for doubt in record.get("doubts", ()):
        doubt.setdefault("effect", effect_of_doubt(doubt["kind"]))
    _numbered(record)


def _plan_in_parts(content: dict[str, Any]) -> None:
    _numbered(content)
    stored_plan.take_in_parts(content)


# Format 2 had 1 in its records, and 2 in the two files beside them. A plan has parts in this
# program alone, so that each format is brought into another form.
PLANS: Mapping[int, Upgrade] = {2: _plan_in_parts, RESULTS_FORMAT: _plan_in_parts}
VERDICTS: Mapping[int, Upgrade] = {2: _numbered}
RECORDS: Mapping[int, Upgrade] = {1: _with_effects}


# Earlier programs kept notes on files in the plan as "other": how their texts begin → their kind.
_EARLIER_NOTES: Mapping[str, NoteKind] = {
    "left out: ": "left out",
    "changed since it was written: ": "changed file",
}


def with_kinds_of_notes(plan: Plan) -> Plan:
    """The plan with the kinds that its notes on files have today."""
    notes: list[Note] = []
    for note in plan.notes:
        notes.append(_with_kind(note))
    return replace(plan, notes=tuple(notes))


def _with_kind(note: Note) -> Note:
    if note.kind != "other":
        return note
    for beginning, kind in _EARLIER_NOTES.items():
        if note.text.startswith(beginning):
            return replace(note, kind=kind)
    return note
