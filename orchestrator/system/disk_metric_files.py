"""Files of disk metrics in a campaign's folder: those that were given afterwards, and what they
report of each run, as samples."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.system import files

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = "disk-metrics"
_GIVEN = "given"
_ARRIVING = "given.new"
# The number before the name of a file that is kept already.
_NUMBER = re.compile(r"^\d\d-")


def of_run(campaign: Path, slug: str) -> Path:
    """Samples of a run; there may be none."""
    return campaign / _FOLDER / f"{slug}.parquet"


def save(
    campaign: Path, sources: Sequence[Path], samples: Mapping[str, "pd.DataFrame"]
) -> None:
    """Keeps the files that were given, and what they report of each run, in place of what was kept
    before.

    `samples`: slug of a run → its samples. NotWrittenError if they cannot be written.
    """
    from orchestrator.system import parquet

    folder = files.make_folder(campaign, _FOLDER)
    _keep_given(folder, _plain_files(sources))
    for old in folder.glob("*.parquet"):
        with files.writing(old, "removed"):
            old.unlink()
    for slug, table in samples.items():
        parquet.write(of_run(campaign, slug), [table])


def _keep_given(folder: Path, sources: Sequence[Path]) -> None:
    """Keeps files, each under a number, in place of those that are kept."""
    # They are copied to a folder beside it, because those that are kept may be given again. A
    # program that was killed may have left that folder.
    shutil.rmtree(folder / _ARRIVING, ignore_errors=True)
    arriving = files.make_folder(folder, _ARRIVING)
    for number, source in enumerate(sources, 1):
        name = _NUMBER.sub("", source.name)
        files.copy(source, arriving / f"{number:02}-{name}")
    kept = folder / _GIVEN
    with files.writing(kept, "replaced"):
        shutil.rmtree(kept, ignore_errors=True)
        arriving.rename(kept)


def _plain_files(sources: Sequence[Path]) -> list[Path]:
    """The files, and those in folders."""
    plain: list[Path] = []
    for place in sources:
        if place.is_file():
            plain.append(place)
            continue
        for file in sorted(place.rglob("*")):
            if file.is_file():
                plain.append(file)
    return plain
