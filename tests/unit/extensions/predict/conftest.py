"""Predictions whose simulations are short: what is chosen, ranked, printed and kept of them is the
same."""

from __future__ import annotations

from functools import lru_cache

import pytest

from orchestrator.extensions.predict import demands, prediction
from orchestrator.extensions.predict.sharing import Simulations

# Half of those for users: what is near a border stands on the same side of it.
_EVENTS = 20_000
# As `sharing.simulate`, one for all tests of a process.
_simulate = lru_cache(maxsize=1024)(Simulations(_EVENTS).simulate)


@pytest.fixture(autouse=True)
def short_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the simulation itself call `simulate` themselves, which is as long as for users."""
    for module in (demands, prediction):
        monkeypatch.setattr(module, "simulate", _simulate)
