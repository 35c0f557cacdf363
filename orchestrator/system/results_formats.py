"""Older formats of results: what a file of one lacks, and what it is given when it is read.

`model.RESULTS_FORMAT` is the format that is written. Each table is of one file of a campaign:
the `schema_version` that it has in an older format → what brings its content, as JSON, into
this one. A version that is in no table is refused, and nothing that lies on a disk is changed.
"""

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.facts import effect_of_doubt
from orchestrator.model import RESULTS_FORMAT

Upgrade = Callable[[dict[str, Any]], None]


def _numbered(content: dict[str, Any]) -> None:
    """A file whose form has not changed."""
    content["schema_version"] = RESULTS_FORMAT


def _with_effects(record: dict[str, Any]) -> None:
    """Format 2 kept a doubt's kind, and what that kind does stood in a table of the program."""
    for doubt in record.get("doubts", ()):
        doubt.setdefault("effect", effect_of_doubt(doubt["kind"]))
    _numbered(record)


# Format 2 had 1 in its records, and 2 in the two files beside them.
PLANS: Mapping[int, Upgrade] = {2: _numbered}
VERDICTS: Mapping[int, Upgrade] = {2: _numbered}
RECORDS: Mapping[int, Upgrade] = {1: _with_effects}
