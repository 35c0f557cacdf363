"""What real clusters were seen to print (tests/standin/evidence/), and what is held against it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from standin import metrics, universe

from orchestrator.yugabyte import versions
from tests import ROOT

Entry = dict[str, Any]


@cache
def entries() -> tuple[Entry, ...]:
    files = sorted((ROOT / "tests/standin/evidence").glob("*.yaml"))
    found: list[Entry] = []
    for file in files:
        found += yaml.load(file.read_text(), yaml.CSafeLoader)
    return tuple(found)


def fits(said: Any, seen: Any) -> bool:
    """Whether each key was seen, with a value of the same kind."""
    if isinstance(said, Mapping):
        return isinstance(seen, Mapping) and all(
            key in seen and fits(value, seen[key]) for key, value in said.items()
        )
    if isinstance(said, list):
        return isinstance(seen, list) and (
            not seen or all(fits(value, seen[0]) for value in said)
        )
    number = (int, float)
    return (isinstance(said, number) and isinstance(seen, number)) or type(
        said
    ) is type(seen)


class Universe(universe.Universe):
    """With so many tables, of 1,000 bytes together; no server is asked for them."""

    def __init__(
        self, keep: Path, release: str = versions.STUDY, tables: int = 2, **more: Any
    ) -> None:
        self.relations = [universe.Relation("bench", f"t{n}") for n in range(tables)]
        servers = keep.with_name("servers.json")
        super().__init__(keep, metrics.Activity(), release, servers=servers, **more)

    def _look(self) -> universe.Seen:
        return universe.Seen(0.0, tuple(self.relations), 1000)
