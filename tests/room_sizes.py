"""How large each room of the package may be, in statements without docstrings.

`tests/unit/rooms.tsv` keeps the most for each, and first for the core: all that is not behind the
door of extensions. `python -m tests.room_sizes` measures the package and writes it anew.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from tests import ROOT, legibility
from tests.sources import MODULES, PACKAGE, tree

BUDGET = ROOT / "tests/unit/rooms.tsv"
CORE = "core"
BEHIND_THE_DOOR = "extensions/"
COLUMNS = ("room", "statements")


def room_of(file: Path) -> str:
    """`cli`, `extensions/predict`, or "top" for a file that is in no folder."""
    folders = file.relative_to(PACKAGE).parts[:-1]
    if not folders:
        return "top"
    if folders[0] == "extensions":
        return "/".join(folders[:2])
    return folders[0]


def measured() -> dict[str, int]:
    """Room → statements; the core is the first."""
    sizes = {CORE: 0}
    for file in MODULES:
        room = room_of(file)
        size = legibility.statements(tree(file))
        sizes[room] = sizes.get(room, 0) + size
        if not room.startswith(BEHIND_THE_DOOR):
            sizes[CORE] += size
    return sizes


def too_large(sizes: Mapping[str, int], most: Mapping[str, int]) -> list[str]:
    """What to say of each room that has more statements than it may."""
    messages: list[str] = []
    for room, size in sizes.items():
        if size > most.get(room, 0):
            messages.append(
                f"{room} has {size} statements, more than {most.get(room, 0)}: move it "
                "behind the door, take something away, or raise the line in "
                f"{BUDGET.name} and say why in the commit"
            )
    return messages


def recorded() -> dict[str, int]:
    """Room → the most statements, as they were written last."""
    with BUDGET.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["room"]: int(row["statements"]) for row in rows}


def write(sizes: Mapping[str, int]) -> None:
    """Writes them, rounded up to tens."""
    with BUDGET.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for room, size in sizes.items():
            writer.writerow([room, math.ceil(size / 10) * 10])


if __name__ == "__main__":
    write(measured())
