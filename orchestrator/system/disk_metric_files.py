"""Files of disk metrics in a campaign's folder: those that were given afterwards, and what they
report of each run, as samples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.system import files

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = "disk-metrics"
_GIVEN = "given"


def of_run(campaign: Path, slug: str) -> Path:
    """Samples of a run; there may be none."""
    return campaign / _FOLDER / f"{slug}.parquet"


def save(
    campaign: Path, sources: Sequence[Path], samples: Mapping[str, "pd.DataFrame"]
) -> None:
    """Keeps files, each under a number, and samples by runs' slugs, over what was kept before.
    NotWrittenError."""
    from orchestrator.system import parquet

    folder = files.make_folder(campaign, _FOLDER)
    kept = files.make_folder(folder, _GIVEN)
    for old in (*folder.glob("*.parquet"), *kept.iterdir()):
        with files.writing(old, "removed"):
            old.unlink()
    for number, source in enumerate(_plain_files(sources), 1):
        files.copy(source, kept / f"{number:02}-{source.name}")
    for slug, table in samples.items():
        parquet.write(of_run(campaign, slug), [table])


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
