"""What tests of the Docker platform without Docker share."""

from __future__ import annotations

import pytest

from orchestrator.platforms.docker.engine import DockerPlatform
from tests.fake_docker import Engine
from tests.fakes import FakeClock


@pytest.fixture
def engine() -> Engine:
    """An engine of tests/fake_docker.py in place of docker-py's client."""
    return Engine(FakeClock())


@pytest.fixture
def ours(engine: Engine) -> DockerPlatform:
    return engine.platform()
