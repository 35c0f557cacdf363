"""A name that was given for a campaign and is none: what it is, and what to name instead."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import UsageError
from orchestrator.keys import plain_files
from orchestrator.system import campaign_folders, observation_files

BASELINE = "baseline:"  # before the name of one
_LISTS = "`tierbench history` lists the campaigns"
_PAGE = "report.html"


class _Refusal(NamedTuple):
    what: str
    advice: str


def no_campaign(results: Path, text: str, saved: Mapping[str, str]) -> UsageError:
    """For a name of no campaign. `saved`: the baselines, which may have been meant."""
    if text.startswith(BASELINE):
        return UsageError(
            f"there is no baseline {text.removeprefix(BASELINE)!r} in {results}",
            "`tierbench admin baseline list` lists those there are",
        )
    # What the disk holds there may be closed to this user, or no name that it takes.
    with suppress(OSError, ValueError):
        for path in (Path(text), results / text):
            for refusal in _of_something_else(path):
                return UsageError(*refusal)
    names = ""
    if saved:
        names = f"; baselines: {', '.join(saved)}"
    return UsageError(
        f"{text!r} is not a campaign: neither a folder here or in {results}, nor a "
        f"baseline{names}",
        _LISTS,
    )


def no_campaign_yet(results: Path) -> UsageError:
    """For the latest campaign of a folder that has none."""
    if plain_files.kind_of(results) == "nothing":
        return UsageError(
            f"no campaign in {results} yet: there is no such folder",
            "run `tierbench compare` first, or name its folder with --results",
        )
    pages: list[Path] = []
    observed = observation_files.folders(results)
    for folder in observed:
        if (folder / _PAGE).is_file():
            pages.append(folder / _PAGE)
    if not observed:
        return UsageError(
            f"no campaign in {results} yet", "run `tierbench compare` first"
        )
    read = "`tierbench history` lists them"
    if pages:
        read = f"open {max(pages, key=_written_s)}"
    return UsageError(
        f"no campaign in {results} yet, only observations",
        f"{read}; `tierbench compare` measures",
    )


def _written_s(page: Path) -> float:
    return page.stat().st_mtime


def _of_something_else(path: Path) -> Iterator[_Refusal]:
    """What lies at the path, if it tells what was meant."""
    if path.is_file() and _is_campaign(path.parent):
        yield _Refusal(
            f"{path} is a file of a campaign", f"name its folder: {path.parent}"
        )
    if not path.is_dir():
        return
    if observation_files.is_one(path):
        yield _Refusal(
            f"{path} is an observation, not a campaign",
            f"read its {_PAGE}; {_LISTS}",
        )
    above = path.parent.parent
    if path.parent.name == "runs" and _is_campaign(above):
        yield _Refusal(
            f"{path} is a run, not a campaign", f"name its campaign: {above}"
        )
    newest = campaign_folders.newest(path)
    if newest is not None:
        yield _Refusal(
            f"{path} holds campaigns, and is none itself", f"name one, as {newest}"
        )
    yield _Refusal(
        f"{path} is not the folder of a campaign: it has no plan.json", _LISTS
    )


def _is_campaign(folder: Path) -> bool:
    return (folder / campaign_folders.PLAN).exists()
