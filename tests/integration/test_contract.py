"""What every platform does, on a Docker engine of this computer."""

from __future__ import annotations

import pytest

from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.own_images import BASE
from orchestrator.powers import ContainerSpec
from tests.contract import Containers

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


@pytest.fixture
def sleeper() -> ContainerSpec:
    return ContainerSpec(
        name="tierbench-test",
        image=BASE,
        entrypoint=("sh",),
        command=("-c", "sleep 1000"),
        role="client",
        init=True,
        stop_timeout_s=1,
    )


class TestDocker(Containers):
    @pytest.fixture
    def platform(self, engine: DockerPlatform) -> DockerPlatform:
        return engine
