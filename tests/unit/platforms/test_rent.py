"""Databases and disks on an engine are told that this program lives, and no others.

What ends where they are told nothing any more: tests/integration/test_rent.py.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import UsageError
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import ContainerSpec
from tests.fake_docker import RESET, Engine

NODE = ContainerSpec("tierbench-node-1", "image", ("true",), "database")
TOLD = "start exec in tierbench-node-1"


def connected(engine: Engine) -> DockerPlatform:
    """With a machine of another kernel than this computer's."""
    engine.facts = {"KernelVersion": "6.1-elsewhere", "MemTotal": 2**34}
    return engine.platform()


def test_a_database_elsewhere_is_told_at_its_start_and_while_the_guard_is_held(
    engine: Engine,
) -> None:
    there = connected(engine)
    with there.guard.held():
        with there.running(NODE):
            assert engine.calls.count(TOLD) == 1
            for _ in range(20):  # ten minutes of beats
                engine.clock.sleep(30.0)
                there.guard.beats.renew()
            assert 5 <= engine.calls.count(TOLD) <= 10, "900 s may pass without one"
        told = engine.calls.count(TOLD)
        engine.clock.sleep(900.0)
        there.guard.beats.renew()
    assert engine.calls.count(TOLD) == told


def test_who_cannot_be_told_is_in_nobodys_way(engine: Engine) -> None:
    there = connected(engine)
    engine.errors["exec tierbench-node-1"] = [RESET] * 3
    with there.guard.held(), there.running(NODE):
        engine.clock.sleep(300.0)
        there.guard.beats.renew()
    assert engine.names("container") == []


@pytest.mark.parametrize("role", ["client", "agent"])
def test_what_ends_by_itself_anyway_is_not_told(engine: Engine, role: str) -> None:
    there = connected(engine)
    with there.guard.held(), there.running(replace(NODE, role=role)):
        assert TOLD not in engine.calls


def test_a_database_on_this_computer_is_told_too(engine: Engine) -> None:
    """Of a killed program its ports would stay open until the next one starts."""
    facts = LocalMachine().facts()
    engine.facts = {"KernelVersion": facts.kernel, "MemTotal": facts.memory_bytes}
    here = engine.platform()
    assert isinstance(here.machines()[0], LocalMachine)
    with here.guard.held(), here.running(NODE):
        assert engine.calls.count(TOLD) == 1
        engine.clock.sleep(300.0)
        here.guard.beats.renew()
        assert engine.calls.count(TOLD) == 2


def test_without_a_guard_nothing_is_told_because_nobody_would_go_on_telling(
    engine: Engine,
) -> None:
    with connected(engine).running(NODE):
        assert TOLD not in engine.calls


def test_a_time_that_is_none_is_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERBENCH_RENT_S", "59")
    with pytest.raises(UsageError, match="TIERBENCH_RENT_S is '59'"):
        engine.platform()
    monkeypatch.setenv("TIERBENCH_RENT_S", "60")
    engine.platform()
