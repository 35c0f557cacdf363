"""What tests of the Docker platform without Docker share."""

from __future__ import annotations

import pytest

import docker
from orchestrator.platforms.docker.engine import DockerPlatform
from tests.fake_docker import Engine
from tests.fakes import FakeClock


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine of tests/fake_docker.py in place of docker-py's client."""
    engine = Engine(FakeClock())
    monkeypatch.setattr(docker, "from_env", lambda **_: engine)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")  # nothing is asked there
    return engine


@pytest.fixture
def ours(engine: Engine) -> DockerPlatform:
    return DockerPlatform(engine.clock)
