"""The campaigns in a results folder: their folders, and the names under which some are kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.campaigns import campaign_list
from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.results import began_s
from orchestrator.errors import CutError, TierbenchError, UsageError
from orchestrator.keys import plain_files
from orchestrator.model import RESULTS_FORMAT
from orchestrator.system import (
    byte_names,
    campaign_folders,
    extension_files,
    files,
    results_formats,
    store,
    stored_json,
    wrong_names,
)
from orchestrator.system.clock import from_stamp

_BASELINES = "baselines.json"
_ASIDE = f"{_BASELINES}.unreadable"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,79}")
_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class _KeptCell:
    """How many finished runs one metric of a cell is of."""

    profile: str
    workload: str
    n: int


@dataclass(frozen=True)
class KeptConclusions:
    """What a list of campaigns needs of verdict.json; nothing if the campaign was not judged."""

    decisions: tuple[Decision, ...] = ()
    answer: Answer | None = None
    cells: tuple[_KeptCell, ...] = ()

    @property
    def judged_runs(self) -> int:
        """How many finished runs the figures are of."""
        runs: dict[tuple[str, str], int] = {}
        for cell in self.cells:
            place = (cell.profile, cell.workload)
            # A run may lack one of the metrics.
            runs[place] = max(runs.get(place, 0), cell.n)
        return sum(runs.values())


def kept_conclusions(campaign: Path) -> KeptConclusions:
    """The conclusions in verdict.json as it stands.

    UsageError or CutError if it has another form.
    """
    file = campaign / campaign_folders.VERDICT
    if plain_files.kind_of(file) == "nothing":
        return KeptConclusions()
    return stored_json.read_json(
        file, KeptConclusions, RESULTS_FORMAT, older=results_formats.VERDICTS
    )


def folders(results: Path) -> tuple[Path, ...]:
    """The folders of all campaigns, the newest first; also those that are broken: with a time in
    their name but no plan, or closed to this user. Links such as `latest` are left out, and so is
    its copy. NotReadableError for `results` itself."""
    campaigns = campaign_folders.begun(results)
    # A copy that followed links has `latest` as a folder, and would show a campaign twice.
    if len(campaigns) > 1:
        campaigns = [path for path in campaigns if path.name != campaign_folders.LATEST]
    return tuple(sorted(campaigns, key=attrgetter("name"), reverse=True))


def entry(folder: Path, baselines: Mapping[str, str]) -> campaign_list.Entry:
    """What a list says of one folder, with the fault of one that cannot be read."""
    stamp_s = from_stamp(folder.name)
    try:
        campaign = store.load_without_tables(folder)
        made_s = began_s(campaign)
        if stamp_s is not None:
            made_s = stamp_s
        names = [name for name, saved in baselines.items() if saved == folder.name]
        kept = kept_conclusions(folder)
        listed = campaign_list.entry(
            campaign, folder.name, made_s, kept.decisions, names, kept.answer
        )
        return campaign_list.with_lost_runs(listed, kept.judged_runs)
    except TierbenchError as error:
        fault = error.what
        # It may be what an extension keeps that is not installed here.
        if not campaign_folders.may_have_plan(folder):
            fault = next(extension_files.not_shown_in(folder), fault)
        return campaign_list.Entry(folder.name, stamp_s, fault=fault)
    except Exception as error:  # whatever is in a folder: the others are still listed
        fault = f"{type(error).__name__}: {error}"
        return campaign_list.Entry(folder.name, stamp_s, fault=fault)


def resolve(results: Path, text: str) -> Path:
    """The folder of a campaign named by path, by its folder's name, as `latest`, or by a baseline's
    name, alone or after `baseline:`. UsageError if there is none; NotReadableError."""
    if not text.startswith(wrong_names.BASELINE):
        folder = _unnamed(results, text)
        if folder is not None:
            return folder
    name = text.removeprefix(wrong_names.BASELINE)
    saved = baselines(results)
    if name not in saved:
        raise wrong_names.no_campaign(results, text, saved)
    # A full path stays as it is behind the slash of `pathlib`.
    folder = byte_names.path_of(str(results / saved[name]))
    if plain_files.kind_of(folder / "plan.json") == "nothing":
        raise UsageError(
            f"the baseline {name} was {folder}, which is no longer a campaign",
            advice=f"`tierbench admin baseline remove {name}`, or set it anew",
        )
    return folder


def _unnamed(results: Path, text: str) -> Path | None:
    """The folder of a campaign by `latest`, a path, or its own name; None if there is none such.
    UsageError if there is no campaign at all, of which the latest is asked for;
    NotReadableError."""
    if text == "latest":
        newest = campaign_folders.newest(results)
        if newest is None:
            raise wrong_names.no_campaign_yet(results)
        plain_files.kind_of(newest / "plan.json")  # raises if it may not be read
        return newest
    return at_path(results, text)


def at_path(results: Path, text: str) -> Path | None:
    """The folder of a campaign by a path, or by its name in `results`; None if none is there.
    NotReadableError."""
    for path in (Path(text), results / text):
        if plain_files.kind_of(path / "plan.json") != "nothing":
            return path
    return None


def baselines(results: Path) -> dict[str, str]:
    """Name → folder, its full path outside of `results`. `CutError` if it is damaged."""
    file = results / _BASELINES
    try:
        return stored_json.read_json(
            file, dict[str, str], _SCHEMA_VERSION, part="baselines"
        )
    except CutError as error:
        error.advice = (
            "repair it, or set a baseline again with `tierbench admin baseline "
            f"set`. That renames this file to {_ASIDE}"
        )
        raise


def save_baseline(results: Path, name: str, campaign: str) -> Path:
    """Names a campaign, over an earlier one of that name; returns its folder. UsageError for a name
    that could be mistaken, or a `campaign` that is none (see `resolve`)."""
    # `resolve` would take a name that is a folder's for that folder.
    if not _NAME.fullmatch(name) or name == "latest" or (results / name).exists():
        raise UsageError(
            f"{name!r} cannot be a baseline's name",
            advice="take letters, digits, `.`, `_` and `-`, "
            "and no folder's name nor `latest`",
        )
    folder = resolve(results, campaign).resolve()
    place = str(folder)
    # The name alone is kept, so that a results folder may be moved with its baselines.
    if folder.parent == results.resolve():
        place = folder.name
    try:
        saved = baselines(results)
    except CutError:
        saved = {}
        # Kept aside, because a person may still read names in it.
        (results / _BASELINES).replace(results / _ASIDE)
    _write(results, {**saved, name: place})
    return folder


def remove_baseline(results: Path, name: str) -> None:
    """Forgets a name; the campaign stays. UsageError if there is no such name."""
    saved = baselines(results)
    if name not in saved:
        raise UsageError(
            f"there is no baseline {name!r} in {results}",
            "`tierbench admin baseline list` lists those there are",
        )
    del saved[name]
    _write(results, saved)


def _write(results: Path, names: Mapping[str, str]) -> None:
    content = {
        "schema_version": _SCHEMA_VERSION,
        "baselines": dict(sorted(names.items())),
    }
    files.write_json(results / _BASELINES, content)
