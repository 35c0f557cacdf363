"""Which folders below `results/` are campaigns, also where some belong to other users."""

import math
from pathlib import Path

from orchestrator.errors import NotReadableError
from orchestrator.keys import plain_files
from orchestrator.system import clock

LATEST = "latest"  # the link to the campaign that was begun last
# Files of a campaign's folder.
PLAN = "plan.json"
GATES = "gates.json"
PREDICTIONS = "predictions.json"
VERIFIED = "verified.json"
VERDICT = "verdict.json"


def fingerprint_name(part: int) -> str:
    """The name of the file with the fingerprint of a part, counted from 1."""
    if part == 1:
        return "fingerprint.json"
    return f"fingerprint-{part:02d}.json"


def present(results: Path) -> list[Path]:
    """The folders that have a plan, or may have a plan that this user may not read. Links such as
    `latest` are left out. NotReadableError for `results` itself."""
    folders: list[Path] = []
    for path in _below(results):
        if may_have_plan(path):
            folders.append(path)
    return folders


def without_plan(results: Path) -> list[Path]:
    """The folders that have no plan, as far as that can be seen. NotReadableError for `results`
    itself."""
    folders: list[Path] = []
    for path in _below(results):
        if not may_have_plan(path):
            folders.append(path)
    return folders


def begun(results: Path) -> list[Path]:
    """Folders with a plan, and those that are named as a campaign's but have none."""
    folders: list[Path] = []
    for path in _below(results):
        if clock.from_stamp(path.name) is not None or may_have_plan(path):
            folders.append(path)
    return folders


def newest(results: Path) -> Path | None:
    """The newest campaign, which this user perhaps may not read: the one that the link `latest`
    points to, else the last by the time in its name. NotReadableError for `results` itself.

    A folder `latest`, of a copy that followed links, says nothing of later campaigns."""
    latest = results / LATEST
    if latest.is_symlink() and may_have_plan(latest):
        return latest
    return max(present(results), key=_begin_and_name, default=None)


def _below(results: Path) -> list[Path]:
    if plain_files.kind_of(results) == "nothing":
        return []
    with plain_files.reading(results):
        paths = list(results.iterdir())
    return [path for path in paths if plain_files.is_folder(path)]


def may_have_plan(folder: Path) -> bool:
    """Whether a folder may have a plan. If it is closed to this user, its name decides."""
    try:
        return plain_files.kind_of(folder / PLAN) != "nothing"
    except NotReadableError:
        # A list without the campaigns of other users would pass for a whole one.
        return folder.name == LATEST or clock.from_stamp(folder.name) is not None


def _begin_and_name(folder: Path) -> tuple[float, str]:
    """Folders without a time in their names come first: somebody has renamed them."""
    began_s = clock.from_stamp(folder.name)
    if began_s is None:
        began_s = -math.inf
    return began_s, folder.name
