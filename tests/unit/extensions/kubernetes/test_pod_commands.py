"""Commands in pods: their connections, files that go in and out, machines that are lost."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import urllib3
from kubernetes.client.api_client import ApiClient

from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.extensions.kubernetes.connection import Api, Unanswered
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.powers import NETWORK_OF, ContainerSpec
from orchestrator.system.clock import SystemClock
from tests.fake_cluster import FakeCluster, end, spec


def test_a_password_is_in_no_address(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.running(spec(environment={"PGPASSWORD": "of-the-pod"})):
        platform.container("runs").exec(
            ("true",), timeout_s=20, env={"PGPASSWORD": "of-the-command"}
        )
        assert cluster.names("secrets") == ["runs"]
        pods = [
            thing
            for path, thing in cluster.things.items()
            if path.endswith("/pods/runs")
        ]
    assert "of-the" not in str(pods) and "of-the" not in str(cluster.calls)
    assert cluster.names("secrets") == []


def test_a_connection_that_was_not_made_is_tried_again(
    platform_by: Callable[[type[Api]], KubernetesPlatform],
) -> None:
    refused: list[OSError] = [
        ssl.SSLError("unexpected message"),
        ConnectionRefusedError(),
    ]

    class Refusing(Api):
        @staticmethod
        def open_websocket(*arguments: Any) -> Any:
            if refused:
                raise refused.pop()
            return Api.open_websocket(*arguments)

    platform = platform_by(Refusing)
    with platform.running(spec()):
        assert platform.container("runs").exec(("true",), timeout_s=20).exit_code == 0
    assert refused == []


def test_a_server_that_accepts_and_says_nothing_is_not_waited_for(
    cluster: FakeCluster,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cluster.kubeconfig(
            silent=Mock(address=f"http://127.0.0.1:{silent.getsockname()[1]}")
        )
        api = Api(SystemClock(), "silent")
        api.read_s = 0.2
        with pytest.raises(Unanswered, match=r"no answer within 0\.2 s"):
            api.channel("/api/v1/namespaces/a/pods/b/exec", [])


@pytest.mark.parametrize("unconnected", [True, False])
def test_only_what_cannot_have_been_made_is_made_again(
    platform_by: Callable[[type[Api]], KubernetesPlatform], unconnected: bool
) -> None:
    failed: list[str] = []
    reason = (
        urllib3.exceptions.SSLError("unexpected message")
        if unconnected
        else urllib3.exceptions.ProtocolError("connection aborted")
    )

    class Flaky(ApiClient):  # type: ignore[misc]
        def call_api(self, method: str, url: str, *arguments: Any, **more: Any) -> Any:
            if method == "POST" and url.endswith("/pods") and not failed:
                failed.append(method)
                raise urllib3.exceptions.MaxRetryError(Mock(), "/", reason)
            return super().call_api(method, url, *arguments, **more)

    class ByFlaky(Api):
        client_of = Flaky

    platform = platform_by(ByFlaky)
    if not unconnected:
        with (
            pytest.raises(UnavailableError, match="connection aborted"),
            platform.running(spec()),
        ):
            pass
    with platform.running(spec()):
        assert platform.container("runs").state().words == "running"
    assert failed == ["POST"]


def test_a_command_whose_connection_was_cut_is_not_begun_again(
    platform_by: Callable[[type[Api]], KubernetesPlatform],
) -> None:
    tried = []

    class Cut(Api):
        @staticmethod
        def open_websocket(*arguments: Any) -> Any:
            tried.append(arguments)
            raise ConnectionResetError

    platform = platform_by(Cut)
    with (
        platform.running(spec()),
        pytest.raises(UnavailableError, match="does not answer"),
    ):
        platform.container("runs").exec(("true",), timeout_s=20)
    assert len(tried) == 1


def test_a_death_while_a_command_runs(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.running(spec()), platform.running(spec("node")):
        path = next(path for path in cluster.things if path.endswith("/pods/node"))
        end(cluster.things[path], 137, "OOMKilled")
        with pytest.raises(NodeError, match=r"node died .*exit 137, out of memory"):
            platform.container("runs").exec(
                ("sleep", "20"), timeout_s=30, watch=(platform.container("node"),)
            )


@pytest.mark.parametrize(
    ("watched", "said"), [("node", "node died .*"), ("runs", "runs is ")]
)
def test_a_machine_that_is_lost_while_a_command_runs(
    platform: KubernetesPlatform, cluster: FakeCluster, watched: str, said: str
) -> None:
    """Kubernetes calls its pods running for minutes more."""
    words = r"lost \(its machine vm-0 is not ready since 2026-01-01T00:00:16Z: Kubelet stopped"
    with platform.running(spec()), platform.running(spec("node")):
        path = next(
            path for path in cluster.things if path.endswith(f"/pods/{watched}")
        )
        other = next(path for path in cluster.things if path.endswith("/pods/node"))
        assert platform.container(watched).state().words == "running"
        if watched == "runs":
            cluster.things[other]["spec"]["nodeName"] = "vm-1"
        cluster.lose("vm-0")
        with pytest.raises(NodeError, match=said + words):
            platform.container("runs").exec(
                ("sleep", "20"), timeout_s=30, watch=(platform.container("node"),)
            )
        assert (
            platform.container(watched).logs() == ""
            and ("GET", f"{path}/log") not in cluster.calls
        )
    assert ("DELETE", path) in cluster.calls


def test_a_machine_that_is_lost_while_its_pod_is_removed(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    tried = list[str]()

    def kept_once(path: str) -> tuple[int, dict[str, Any]] | None:
        if path.endswith("/pods/runs") and not tried:
            tried.append(path)
            cluster.lose("vm-0")
            return 200, {
                "status": "Success"
            }  # the kubelet would end it, and never does
        return None

    with platform.running(spec()):
        cluster.removing = kept_once
    assert tried and "runs" not in cluster.names("pods")


def test_files_are_put_into_a_pod_and_fetched(
    platform: KubernetesPlatform, cluster: FakeCluster, tmp_path: Path
) -> None:
    inside, out = cluster.folder / "inside", tmp_path / "out"
    inside.mkdir()
    out.mkdir()
    (tmp_path / "load.lua").write_text("first")
    with platform.running(spec(folders={"/tls": {"root.crt": b"certificate"}})) as pod:
        assert cluster.names("secrets") == ["runs"]
        pod.put(tmp_path / "load.lua", "/inside/load.lua")
        assert (inside / "load.lua").read_text() == "first"
        script = "head -c 600000 /dev/urandom | tee /inside/raw | md5sum"
        done = pod.exec(("sh", "-c", script), timeout_s=30)
        pod.fetch("/inside", out)
        assert hashlib.md5((out / "raw").read_bytes()).hexdigest() in done.out
        with pytest.raises(RunError, match="fetching /inside/none from runs"):
            pod.fetch("/inside/none", out)
    assert cluster.names("secrets") == []


def guest(number: int) -> ContainerSpec:
    joined = {"network": f"{NETWORK_OF}runs", "capabilities": ("NET_ADMIN",)}
    return spec(f"helper-{number}", **joined)


def test_helpers_in_the_network_of_a_pod_are_added_to_it_one_after_the_other(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.running(spec()):
        for number in (1, 2):
            done = platform.once(guest(number), 20)
            assert (done.exit_code, done.out) == (0, "a log\n")
        assert cluster.names("pods") == ["runs"]
        (pod,) = (
            thing
            for path, thing in cluster.things.items()
            if path.endswith("/pods/runs")
        )
        first, second = pod["spec"]["ephemeralContainers"]
        assert (first["name"], second["name"]) == ("guest-1", "guest-2")
        assert first["securityContext"]["capabilities"] == {
            "drop": ["ALL"],
            "add": ["NET_ADMIN"],
        }


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ({"terminated": {"exitCode": 3}}, None, ""),
        (
            {"waiting": {"reason": "ImagePullBackOff"}},
            UnavailableError,
            "guest-1.*be pulled",
        ),
        (
            {"waiting": {"reason": "ContainerCreating"}},
            RunError,
            r"did not end within 0\.3 s",
        ),
    ],
)
def test_what_becomes_of_a_helper_is_told(
    platform: KubernetesPlatform,
    cluster: FakeCluster,
    state: dict[str, Any],
    error: type[Exception] | None,
    words: str,
) -> None:
    cluster.guests_are = state
    with platform.running(spec()):
        if error is None:
            assert platform.once(guest(1), 20).exit_code == 3
            return
        with pytest.raises(error, match=words):
            platform.once(guest(1), 0.3)


def test_a_helper_of_a_pod_that_died_is_not_waited_for(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    cluster.guests_are = {"waiting": {"reason": "ContainerCreating"}}
    with platform.running(spec()):
        for path, thing in cluster.things.items():
            if path.endswith("/pods/runs"):
                end(thing, 137)
        with pytest.raises(NodeError, match="in a pod that does not run: exited"):
            platform.once(guest(1), 20)
