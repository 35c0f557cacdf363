"""Where an observation keeps what it read: docs/OBSERVE.md lists its files."""

from pathlib import Path

DEMAND = "demand.parquet"
FACTS = "observed.json"  # the readings, and the answer


def live(folder: Path) -> list[Path]:
    """What a live observation has read so far: a folder for each time that it was begun."""
    return sorted(folder.glob("samples/*/*.parquet"))
