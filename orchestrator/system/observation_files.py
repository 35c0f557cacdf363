"""Where an observation keeps what it read: docs/OBSERVE.md lists its files."""

from pathlib import Path

from orchestrator.keys import plain_files
from orchestrator.system import campaign_folders

DEMAND = "demand.parquet"
NAMED = "observed"  # in the name of its folder
FACTS = "observed.json"  # the readings, and the answer


def live(folder: Path) -> list[Path]:
    """What a live observation has read so far: a folder for each time that it was begun."""
    return sorted(folder.glob("samples/*/*.parquet"))


def folders(results: Path) -> tuple[Path, ...]:
    """The folders of observations below a results folder, also of those that have not ended."""
    if plain_files.kind_of(results) == "nothing":
        return ()
    with plain_files.reading(results):
        below = list(results.iterdir())
    observed: list[Path] = []
    for path in below:
        if NAMED in path.name and plain_files.is_folder(path) and is_one(path):
            observed.append(path)
    return tuple(observed)


def is_one(folder: Path) -> bool:
    """Whether an observation has begun to write there, and no campaign."""
    # A campaign may have `observed` in its name.
    if (folder / campaign_folders.PLAN).exists():
        return False
    return (
        (folder / FACTS).is_file() or (folder / DEMAND).is_file() or bool(live(folder))
    )
