"""A database without a password is for this computer alone."""

from __future__ import annotations

import pytest

from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.errors import UsageError
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.model import ClusterSpec, NodeSize
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import PlatformAbilities
from tests.fakes import FakePlatform, fake_world

IMAGE = "yugabytedb/yugabyte:2025.2.6.0-b111"
SIZE = NodeSize(cpus=8.0, memory_bytes=32 * 2**30, disk_bytes=250 * 10**9)


class Reached(FakePlatform):
    def __init__(self, at: str) -> None:
        super().__init__(images=[IMAGE])
        self._at = at

    @property
    def abilities(self) -> PlatformAbilities:
        return PlatformAbilities(open_to=self.open_to)

    def open_to(self) -> str:
        return self._at


def check(tls: str, at: str) -> None:
    spec = ClusterSpec("yugabytedb", 3, 3, SIZE, settings={"tls": tls})
    YugabyteDB().check(spec, fake_world(platform=Reached(at)))


def test_without_tls_it_is_refused_where_others_reach_it() -> None:
    with pytest.raises(
        UsageError, match=r"without a password, at 192\.0\.2\.7"
    ) as refused:
        check("off", "192.0.2.7")
    assert 'tls: "on"' in refused.value.advice
    assert "TIERBENCH_UNPROTECTED=no-password" in refused.value.advice


@pytest.mark.parametrize(("tls", "at"), [("on", "192.0.2.7"), ("off", "")])
def test_with_tls_or_on_this_computer_alone_it_is_not(tls: str, at: str) -> None:
    check(tls, at)


def test_who_asks_for_it_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERBENCH_UNPROTECTED", "no-password")
    check("off", "192.0.2.7")


@pytest.mark.parametrize(
    "platform", [DockerPlatform, DockerMachines, KubernetesPlatform]
)
def test_each_platform_says_who_reaches_its_ports(platform: type) -> None:
    assert callable(getattr(platform, "open_to", None))
