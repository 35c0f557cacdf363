"""A signal to a campaign whose cluster is gone: nobody is waited for who is not there any more.

Method: the cluster falls silent, or cuts every connection, while pods of a campaign run; then this
process gets SIGTERM. What is asked of the cluster from then on is counted. A call that is waited
for to its own limit lasts longer than any test.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.cli.common.teardown import sweeping
from orchestrator.errors import LeftBehindError, RunError
from orchestrator.extensions.kubernetes.connection import Api
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.pod import Pod
from orchestrator.powers import World
from orchestrator.system import at_once
from orchestrator.system.clock import SystemClock
from orchestrator.system.shell import SystemShell
from tests.fake_cluster import FakeCluster, spec
from tests.fakes import QuietProgress

_PODS = 4


class Patient(Api):
    read_s = 3600.0


class Campaign:
    """Pods that run on the cluster, and the signal. `asked`: what was asked since it was sent."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.platform = (
            cluster,
            KubernetesPlatform(SystemClock(), api=Patient),
        )
        self.platform.space.api.answering.probe_s = 0.5
        own = (
            SystemClock(),
            SystemShell(),
            self.platform,
            QuietProgress(),
            folder,
            folder,
        )
        self._world, self._calls_before = World(*own, "tierbench-c1"), 0
        self.pods: list[Pod] = []

    def run(self, do: Callable[[], None]) -> None:
        with ExitStack() as up:
            up.enter_context(sweeping(self._world, self.platform.guard.held()))
            for number in range(_PODS):
                self.pods.append(
                    up.enter_context(self.platform.running(spec(f"node-{number}")))
                )
            do()

    def terminate(self) -> None:
        self._calls_before = len(self.cluster.calls)
        os.kill(os.getpid(), signal.SIGTERM)

    def terminate_after(self, calls: int) -> None:
        """When so many calls have come from now on."""
        enough = len(self.cluster.calls) + calls

        def wait() -> None:
            while len(self.cluster.calls) < enough:
                SystemClock().sleep(0.01)
            self.terminate()

        threading.Thread(target=wait, daemon=True).start()

    @property
    def asked(self) -> list[str]:
        return [path for _, path in self.cluster.calls[self._calls_before :]]


@pytest.fixture(name="campaign")
def ending_campaign(cluster: FakeCluster, tmp_path: Path) -> Campaign:
    return Campaign(cluster, tmp_path)


@pytest.mark.parametrize("way", ["silent", "cut"])
def test_a_cluster_that_is_gone_is_asked_once_and_what_may_stay_is_said(
    way: str, campaign: Campaign
) -> None:
    def lose() -> None:
        campaign.cluster.gone = way
        campaign.terminate()

    with pytest.raises(LeftBehindError, match="does not answer") as left:
        campaign.run(lose)
    assert campaign.asked == ["/version"]
    assert "tierbench clean --platform kubernetes" in left.value.look


def test_who_waits_on_threads_of_their_own_are_not_waited_for(
    campaign: Campaign,
) -> None:
    def lose() -> None:
        campaign.cluster.gone = "silent"
        campaign.terminate_after(_PODS)
        at_once.each(Pod.state, campaign.pods)

    with pytest.raises(LeftBehindError):
        campaign.run(lose)
    assert set(campaign.asked) == {"/version"} and len(campaign.asked) <= _PODS


def test_a_signal_in_a_teardown_that_waits_for_the_cluster_ends_it(
    campaign: Campaign,
) -> None:
    def fail() -> None:
        campaign.cluster.gone = "cut"
        campaign.terminate_after(3)
        raise RunError("the load failed")

    with pytest.raises(LeftBehindError):
        campaign.run(fail)
    assert len(campaign.asked) <= 3


def test_a_cut_connection_to_a_cluster_that_is_there_costs_nothing(
    campaign: Campaign,
) -> None:
    cluster = campaign.cluster
    # On a busy machine a cluster that is there may take longer than the gone ones are given.
    campaign.platform.space.api.answering.probe_s = 60.0

    def cut(path: str) -> None:
        cluster.gone = "cut" if "/pods" in path and path not in cut_ones else ""
        cut_ones.add(path)

    cut_ones = set[str]()

    def hiccup() -> None:
        cluster.heard = cut
        campaign.terminate()

    with pytest.raises(KeyboardInterrupt):
        campaign.run(hiccup)
    assert cut_ones and cluster.names("pods") == cluster.names("namespaces") == []
