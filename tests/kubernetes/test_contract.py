"""What every platform does, on a real cluster of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.powers import ContainerSpec
from tests.contract import Containers

pytestmark = pytest.mark.kubernetes


class TestKubernetes(Containers):
    @pytest.fixture
    def platform(self, campaign: KubernetesPlatform) -> Iterator[KubernetesPlatform]:
        told_s, campaign.images.told_s = campaign.images.told_s, 0.1
        yield campaign
        campaign.images.told_s = told_s
        assert campaign.sweep() == ()

    @pytest.fixture
    def sleeper(self, debian: str) -> ContainerSpec:
        return ContainerSpec(
            name="Sleeps_Here",
            image=debian,
            entrypoint=("sh",),
            command=("-c", "sleep 1000"),
            role="client",
            stop_timeout_s=1,
        )
