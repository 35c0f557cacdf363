"""What all tests share: those that need what this machine has not are skipped, with the reason.

In CI, where a Docker engine must be, the lack of one is a failure.
"""

from __future__ import annotations

import os

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system.clock import SystemClock
from tests import turns
from tests.cluster import programs


def _engine() -> str:
    """The engine's version, or why there is none."""
    try:
        return f"Docker engine {DockerPlatform(SystemClock()).facts()['ServerVersion']}"
    except UnavailableError as error:
        return f"no Docker engine: {error.what}"


def pytest_report_header() -> str:
    return _engine()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn", type=int, help=f"of the slow tests only the share of this turn, 1/{turns.TURNS}"
    )


@pytest.hookimpl(trylast=True)  # of what is left by -m: fast tests need no engine
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turn = config.getoption("--turn")
    if turn is not None:
        left = [one for one in items if one.get_closest_marker("slow")]
        left = [one for one in left if turns.turn_of(one.nodeid) != turn % turns.TURNS]
        config.hook.pytest_deselected(items=left)
        items[:] = [one for one in items if one not in left]
    _skip_without_an_engine(items)
    if lacking := programs.missing():
        for item in items:
            if item.get_closest_marker("kubernetes"):
                item.add_marker(pytest.mark.skip(reason=lacking))


def _skip_without_an_engine(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("docker")]
    if not marked or not (state := _engine()).startswith("no "):
        return
    if os.environ.get("CI") == "true":
        pytest.exit(f"tests with real containers must run in CI, but there is {state}", 1)
    for item in marked:
        item.add_marker(pytest.mark.skip(reason=state))
