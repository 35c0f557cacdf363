"""How long a campaign has taken: the sum of its parts, without the pauses between them.

A part begins when the campaign is started or resumed. It ends when the campaign last writes a file.
The records say when that was. The dates of the files know more, for example of a run
that was killed and left no record. A copied folder may have other dates, and then none of them
counts. A report that somebody makes later is not part of the campaign.
"""

import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from orchestrator.facts import Pause
from orchestrator.model import Plan
from orchestrator.planning.plan import interruptions
from orchestrator.run.progress.outlines import CampaignOutline
from orchestrator.system import campaign_folders, clock

_FILES = ("plan.json", "fingerprint.json", "gates.json")
_FOLDERS = ("runs", "interrupted")
# A part first reads the runs of the part before, and then writes its fingerprint: at most so late.
_UNTIL_FINGERPRINT_S = 600.0


def with_pause(plan: Plan, left_s: float | None, now_s: float) -> Plan:
    """The plan of a campaign that is resumed now, with the pause since it was left.

    `left_s`: when it was left, as `last_written_s` says.
    """
    # A clock that was set back makes no pause below zero.
    if left_s is None or left_s >= now_s:
        return plan
    return replace(plan, pauses=(*plan.pauses, Pause(left_s, now_s)))


def last_written_s(campaign: CampaignOutline, folder: Path) -> float | None:
    """When the campaign last wrote something, in Unix time; None if nothing says when."""
    moments_s = list(_recorded_s(campaign))
    if _dates_are_original(campaign, folder):
        moments_s += _changes_s(folder)
    return max(moments_s, default=None)


def _recorded_s(campaign: CampaignOutline) -> Iterator[float]:
    """The moments that the campaign's files have in them, in Unix time."""
    named_s = clock.from_stamp(campaign.name)
    if named_s is not None:
        yield named_s
    for pause in campaign.plan.pauses:
        yield pause.ended_s
    for gate in campaign.gates:
        # A kept gate was taken by another campaign, maybe days before.
        if not gate.reused:
            yield gate.taken_s
    for run in campaign.runs:
        if run.ended_s is not None:
            yield run.ended_s


def _dates_are_original(campaign: CampaignOutline, folder: Path) -> bool:
    """Whether the files still have the dates at which the campaign wrote them.

    They do if the last part's fingerprint has the date at which that part began.
    """
    resumed = interruptions(campaign.plan)
    pauses = campaign.plan.pauses
    part_began_s = clock.from_stamp(campaign.name)
    if resumed and len(pauses) == resumed:
        part_began_s = pauses[-1].ended_s
    elif resumed:
        # A pause is missing, as in earlier versions, so nothing says when the last part began.
        part_began_s = None
    if part_began_s is None:
        return False
    try:
        status = (folder / campaign_folders.fingerprint_name(1 + resumed)).lstat()
    except OSError:  # not there: earlier versions kept only that of the first part
        return False
    return abs(status.st_mtime - part_began_s) <= _UNTIL_FINGERPRINT_S


def _changes_s(folder: Path) -> Iterator[float]:
    """The dates of the files that the campaign writes, in Unix time."""
    paths = [folder / name for name in _FILES]
    for name in _FOLDERS:
        paths += (folder / name).rglob("*")
    for path in paths:
        with suppress(OSError):  # the file is not there, or was removed meanwhile
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield status.st_mtime


def elapsed_before_s(campaign: CampaignOutline, folder: Path, now_s: float) -> float:
    """Seconds of all parts of a campaign that was left and is not resumed yet."""
    written_s = last_written_s(campaign, folder)
    if written_s is None:
        written_s = now_s
    return elapsed_s(campaign, min(written_s, now_s))


def elapsed_s(campaign: CampaignOutline, now_s: float) -> float:
    """Seconds of all parts of a campaign, if its last part goes on until `now_s`."""
    total_s = now_s - began_s(campaign, now_s)
    for pause in campaign.plan.pauses:
        # A clock that was set back in the pause must not add to the time.
        total_s -= max(0.0, pause.ended_s - pause.began_s)
    return max(0.0, total_s)


def began_s(campaign: CampaignOutline, now_s: float) -> float:
    """When a campaign was started, as its folder's name or its first run says; else `now_s`."""
    return clock.from_stamp(campaign.name) or campaign.began_s or now_s
