"""Where an observation keeps what it read: docs/OBSERVE.md lists its files."""

from pathlib import Path

DEMAND = "demand.parquet"
NAMED = "observed"  # at the begin or at the end of its folder's name
FACTS = "observed.json"  # the readings, and the answer


def live(folder: Path) -> list[Path]:
    """What a live observation has read so far: a folder for each time that it was begun."""
    return sorted(folder.glob("samples/*/*.parquet"))


def is_one(folder: Path) -> bool:
    """Whether an observation has begun to write there."""
    return (
        (folder / FACTS).is_file() or (folder / DEMAND).is_file() or bool(live(folder))
    )
