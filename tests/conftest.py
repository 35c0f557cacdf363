"""What all tests share: Docker tests fail without an engine in CI, and are skipped elsewhere."""

from __future__ import annotations

import os

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system.clock import SystemClock


def _engine() -> str:
    """The engine's version, or why there is none."""
    try:
        return f"Docker engine {DockerPlatform(SystemClock()).facts()['ServerVersion']}"
    except UnavailableError as error:
        return f"no Docker engine: {error.what}"


def pytest_report_header() -> str:
    return _engine()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("docker")]
    if not marked or not (state := _engine()).startswith("no "):
        return
    if os.environ.get("CI") == "true":
        pytest.exit(f"tests with real containers must run in CI, but there is {state}", 1)
    for item in marked:
        item.add_marker(pytest.mark.skip(reason=state))
