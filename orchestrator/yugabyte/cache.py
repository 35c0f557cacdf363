"""Fills the caches by reading all tables, each once, spread over the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from orchestrator.errors import RunError
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.sql import Connect
from orchestrator.yugabyte import queries

WARM_S = 600.0
_TIMED_OUT = "statement timeout"


def fill(connect: Connect, addresses: Sequence[sql.Address], world: World) -> None:
    """Reads the largest tables first, so that the small ones stay cached. Stops with a warning
    after ten minutes, even if the caches are not full. Indexes are left to the warm-up."""
    end_s = world.clock.monotonic() + WARM_S
    with connect(addresses[0], 60.0) as session:
        names = queries.tables(session)
    if not names:
        return

    def read(number: int) -> bool:
        for name in names[number :: len(addresses)]:
            left_s = end_s - world.clock.monotonic()
            if left_s <= 1:
                return False
            try:
                with connect(addresses[number], left_s) as session:
                    session.rows(f"SELECT count(*) FROM {name}")
            except RunError as error:
                if _TIMED_OUT not in error.what:
                    raise
                return False
        return True

    with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
        if not all(pool.map(read, range(len(addresses)))):
            world.progress.warn(f"the cache was not full after {WARM_S:g} s of reading")
