"""How long a campaign has taken: the sum of its parts, without the pauses between them.

A part begins with the campaign, or when it is gone on with, and ends with the last file that the
campaign itself wrote. A report that somebody makes of it later is no such file."""

import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis import results
from orchestrator.facts import Pause
from orchestrator.model import Plan
from orchestrator.system import clock

_FILES = ("plan.json", "fingerprint.json", "gates.json")
_FOLDERS = ("runs", "interrupted")


def with_pause(plan: Plan, left_s: float | None, now_s: float) -> Plan:
    """The plan of a campaign that goes on now and was `last_written_s` before, with this pause."""
    if left_s is None or left_s >= now_s:
        return plan
    return replace(plan, pauses=(*plan.pauses, Pause(left_s, now_s)))


def last_written_s(folder: Path) -> float | None:
    """When the campaign itself wrote something last, in Unix time; None if nothing is there."""
    return max(_changes_s(folder), default=None)


def _changes_s(folder: Path) -> Iterator[float]:
    paths = [folder / name for name in _FILES]
    for name in _FOLDERS:
        paths += (folder / name).rglob("*")
    for path in paths:
        with suppress(OSError):  # it is not there, or went meanwhile
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield status.st_mtime


def elapsed_before_s(campaign: results.Results, folder: Path, now_s: float) -> float:
    """Seconds of all parts of a campaign that was left, and does not go on yet."""
    written_s = last_written_s(folder)
    if written_s is None:
        written_s = now_s
    return elapsed_s(campaign, min(written_s, now_s))


def elapsed_s(campaign: results.Results, now_s: float) -> float:
    """Seconds of all its parts, as if the last one went on until `now_s`."""
    total_s = now_s - began_s(campaign, now_s)
    for pause in campaign.plan.pauses:
        total_s -= max(0.0, pause.ended_s - pause.began_s)
    return max(0.0, total_s)


def began_s(campaign: results.Results, now_s: float) -> float:
    """When it was begun, as its folder's name or its first run says; else `now_s`."""
    return clock.from_stamp(campaign.name) or results.began_s(campaign) or now_s
