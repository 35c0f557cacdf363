"""Predictions whose simulations are short: what is chosen, ranked, printed and kept of them is the
same."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from orchestrator.extensions.predict import demands, prediction
from orchestrator.extensions.predict.courses import Simulated
from orchestrator.extensions.predict.disks import SimulatedDisk
from orchestrator.extensions.predict.sharing import Simulations
from orchestrator.extensions.predict.simulated_system import System

# A sixth of those for users: enough transactions for a p99.
_EVENTS = 7_000


@lru_cache
def _simulations(events: int) -> Callable[[System, SimulatedDisk, int], Simulated]:
    """As `sharing.simulate`, one for all tests of a process."""
    return lru_cache(maxsize=1024)(Simulations(events).simulate)


@pytest.fixture
def simulated_events() -> int:
    """Half of those for users where a disk is near a border: it stays on the same side of it."""
    return _EVENTS


@pytest.fixture(autouse=True)
def short_simulations(simulated_events: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the simulation itself call `simulate` themselves, which is as long as for users."""
    for module in (demands, prediction):
        monkeypatch.setattr(module, "simulate", _simulations(simulated_events))
