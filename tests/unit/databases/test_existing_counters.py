"""Each release of PostgreSQL has its counters in views of its own, and is asked those."""

from __future__ import annotations

from typing import Any, cast

import pytest

from orchestrator.databases.existing import servers
from orchestrator.system.sql import Session


class Asked:
    """A session that keeps what it is asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def rows(self, text: str) -> list[dict[str, Any]]:
        self.texts.append(text)
        return [{"commits": 5.0, "wal_syncs": None}]


@pytest.mark.parametrize(
    ("release", "checkpoints", "has_log_view"),
    [
        ("10.23", "pg_stat_bgwriter", False),
        ("13.14", "pg_stat_bgwriter", False),
        ("14.0", "pg_stat_bgwriter", True),
        ("16.4", "pg_stat_bgwriter", True),
        ("17.0", "pg_stat_checkpointer", True),
        ("18.1", "pg_stat_checkpointer", False),
    ],
)
def test_a_release_is_asked_the_views_that_it_has(
    release: str, checkpoints: str, has_log_view: bool
) -> None:
    """pg_stat_checkpointer came with 17; pg_stat_wal with 14, and 18 took its times away."""
    session = Asked()
    found = servers.counters(cast(Session, session), release)
    (text,) = session.texts
    views = {"pg_stat_bgwriter", "pg_stat_checkpointer"}
    assert {view for view in views if view in text} == {checkpoints}
    assert ("pg_stat_wal w" in text) is has_log_view
    assert found == {"commits": 5.0}


@pytest.mark.parametrize("release", ["9.6", "devel", ""])
def test_one_that_only_is_like_a_postgresql_or_too_old_is_not_asked(
    release: str,
) -> None:
    session = Asked()
    assert servers.counters(cast(Session, session), release) == {}
    assert session.texts == []
