"""What every platform does, of those that need no engine: the one of tests, and Docker's with an
engine in memory. Kubernetes' is beside its other tests."""

from __future__ import annotations

import pytest

from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import ContainerSpec
from tests.contract import Lifecycle
from tests.fake_docker import Engine
from tests.fakes import FakeClock, FakePlatform


@pytest.fixture
def sleeper() -> ContainerSpec:
    return ContainerSpec("tierbench-x", "image", ("true",), "client")


class TestFake(Lifecycle):
    # It answers of whatever container it is asked, so that a test need not start it.
    test_a_container_that_is_not_there = None  # type: ignore[assignment]

    @pytest.fixture
    def platform(self) -> FakePlatform:
        return FakePlatform()


class TestDockerInMemory(Lifecycle):
    @pytest.fixture
    def platform(self) -> DockerPlatform:
        return Engine(FakeClock()).platform()
