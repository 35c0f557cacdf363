"""A name that was given for a campaign and is none: what it is, and what to name instead."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from orchestrator.errors import UsageError
from orchestrator.keys import plain_files
from orchestrator.system import campaign_folders, extension_files, stored_answers
from orchestrator.texts.prose import listed, with_article

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
    nouns: dict[str, None] = {}
    for kept in stored_answers.beside_campaigns(results):
        nouns[f"{kept.noun}s"] = None
        page = results / kept.entry.folder / _PAGE
        if page.is_file():
            pages.append(page)
    if not nouns:
        return UsageError(
            f"no campaign in {results} yet", "run `tierbench compare` first"
        )
    read = "`tierbench history` lists them"
    if pages:
        read = f"open {max(pages, key=_written_s)}"
    return UsageError(
        f"no campaign in {results} yet, only {listed([*nouns])}",
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
    for kept in stored_answers.in_folder(path):
        yield _Refusal(
            f"{path} is {with_article(kept.noun)}, not a campaign",
            f"read its {_PAGE}; {_LISTS}",
        )
    for belongs in extension_files.not_shown_in(path):
        yield _Refusal(belongs, _LISTS)
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
