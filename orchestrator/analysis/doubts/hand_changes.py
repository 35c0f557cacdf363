"""Limits that a person changed while a run went on (`tierbench tiers set`), in words. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.design.node_disks import DISK_SERVER
from orchestrator.model import Record
from orchestrator.texts.prose import counted, listed
from orchestrator.units import format_seconds

# One command changes the disks one after the other.
_ONE_COMMAND_S = 5.0
# So many are told. The file beside the raw ones has all.
_TOLD = 2


@dataclass
class _HandChange:
    """The limits that one command set, and their disks.

    `time_s`: Unix seconds; None if the line in the record was cut. `is_undone`: the command failed
    on another disk. These disks then have their earlier limits again.
    """

    time_s: float | None
    limits: Mapping[str, float]
    is_undone: bool
    disks: list[str] = field(default_factory=list)


def in_words(record: Record) -> str:
    """Which disks had which limits, and when; empty if nobody changed any."""
    changes = tuple(_commands(record.facts.get("limit_changes") or ()))
    if not changes:
        return ""
    window = record.phase("measure")
    texts: list[str] = []
    for change in changes[:_TOLD]:
        begin_s = None
        if window is not None:
            begin_s = window.start_s
        texts.append(_described(change, begin_s))
    left = len(changes) - _TOLD
    if left > 0:
        texts.append(counted(left, "more change"))
    return listed(texts)


def _commands(changes: Iterable[Mapping[str, Any]]) -> Iterator[_HandChange]:
    """The changes in their order, those of one command together."""
    latest: _HandChange | None = None
    for change in changes:
        limits = change.get("set") or change.get("undone") or {}
        is_undone = "undone" in change
        time_s = change.get("time_s")
        if latest is None or not _is_of(latest, limits, time_s):
            if latest is not None:
                yield latest
            latest = _HandChange(time_s, limits, is_undone)
        # The container of a disk is named CAMPAIGN-disk-NODE.
        _, _, disk = str(change.get("disk", "")).rpartition(DISK_SERVER)
        latest.disks.append(disk)
    if latest is not None:
        yield latest


def _is_of(
    command: _HandChange, limits: Mapping[str, float], time_s: float | None
) -> bool:
    if command.time_s is None or time_s is None:
        return False
    return command.limits == limits and time_s - command.time_s < _ONE_COMMAND_S


def _described(change: _HandChange, begin_s: float | None) -> str:
    """A phrase such as `node-3 to iops=100 12 s after the window began`."""
    if change.time_s is None:
        return "limits in a line of its record that was cut"
    limits: list[str] = []
    for name, value in change.limits.items():
        # As it was given, without commas.
        limits.append(f"{name}={value:.15g}")
    to = "to"
    if change.is_undone:
        to = "back to"
    values = listed(limits) or "limits that are not recorded"
    text = f"{listed(change.disks)} {to} {values}"
    if begin_s is None:
        return text
    after_s = change.time_s - begin_s
    if after_s < 0:
        return f"{text} {format_seconds(-after_s)} before the window began"
    return f"{text} {format_seconds(after_s)} after the window began"
