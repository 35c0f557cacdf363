"""Which cluster is used, where a kubeconfig knows several, and how a record names it; and which of
its machines.

Method: two API servers in memory, "test" (the current context) and "bench".
"""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.kubernetes.connection import Api
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.model import Placing
from orchestrator.system.clock import SystemClock
from tests.cluster.pki import Authority
from tests.fake_cluster import FakeCluster


@pytest.fixture
def clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, FakeCluster]]:
    both = {}
    for name in ("test", "bench"):
        (tmp_path / name).mkdir()
        both[name] = FakeCluster(tmp_path / name)
        both[name].is_cluster(f"uid-of-{name}")
    monkeypatch.setenv("KUBECONFIG", str(both["test"].kubeconfig(bench=both["bench"])))
    yield both
    for one in both.values():
        one.close()


def connected(context: str | None = None, *secrets: str) -> KubernetesPlatform:
    return KubernetesPlatform(
        SystemClock(), Placing(context=context, image_pull_secrets=tuple(secrets))
    )


def test_the_profiles_context_is_used(clusters: dict[str, FakeCluster]) -> None:
    api = connected("bench")._api
    assert (api.host, api.namespace) == (clusters["bench"].address, "of-bench")
    assert clusters["test"].calls == []


def test_without_one_the_current_context_is_used(
    clusters: dict[str, FakeCluster],
) -> None:
    api = connected()._api
    assert (api.host, api.namespace) == (clusters["test"].address, "default")
    assert clusters["bench"].calls == []


def test_a_context_is_used_where_none_is_current(
    clusters: dict[str, FakeCluster], tmp_path: Path
) -> None:
    file = tmp_path / "test/kubeconfig"
    config = json.loads(file.read_text())
    del config["current-context"]
    file.write_text(json.dumps(config))
    assert connected("bench")._api.host == clusters["bench"].address


def test_an_unknown_context_is_refused_with_those_that_exist(
    clusters: dict[str, FakeCluster],
) -> None:
    with pytest.raises(UsageError, match=r"no context named 'lab'") as caught:
        connected("lab")
    assert "bench and test" in caught.value.advice
    assert clusters["test"].calls == clusters["bench"].calls == []


def in_a_pod(folder: Path, monkeypatch: pytest.MonkeyPatch) -> type[Api]:
    """As Kubernetes tells a pod where its cluster is and who it is there."""
    for name, text in (
        ("token", "t"),
        ("ca.crt", "a certificate"),
        ("namespace", "benchmarks"),
    ):
        (folder / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    class InPod(Api):
        of_pod = folder

    return InPod


def test_a_context_is_refused_where_there_is_no_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a pod: its own cluster is not the one that was named."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="no context named 'bench'"):
        in_a_pod(tmp_path, monkeypatch)(SystemClock(), "bench")


def test_a_context_whose_cluster_is_not_described(
    clusters: dict[str, FakeCluster], tmp_path: Path
) -> None:
    file = tmp_path / "test/kubeconfig"
    config = json.loads(file.read_text())
    config["clusters"] = config["clusters"][:1]
    file.write_text(json.dumps(config))
    with pytest.raises(UnavailableError, match="context 'bench' cannot be used"):
        connected("bench")


def test_in_a_pod_its_own_cluster_and_namespace_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    api = in_a_pod(tmp_path, monkeypatch)(SystemClock())
    assert (api.context, api.namespace) == ("", "benchmarks")
    assert api.host == "https://10.0.0.1:443"


def test_pull_secrets_are_those_of_the_context(
    clusters: dict[str, FakeCluster],
) -> None:
    for name, namespace in (("test", "default"), ("bench", "of-bench")):
        clusters[name].things[f"/api/v1/namespaces/{namespace}/secrets/registry"] = {
            "metadata": {"name": "registry"},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": name},
        }
    platform = connected("bench", "registry")
    with platform.guard.held():
        copied = f"/api/v1/namespaces/{platform.space.namespace}/secrets/registry"
        assert clusters["bench"].things[copied]["data"] == {
            ".dockerconfigjson": "bench"
        }
    assert clusters["test"].calls == []


def test_the_record_says_which_cluster_it_was(clusters: dict[str, FakeCluster]) -> None:
    facts = connected("bench").facts()
    assert facts["Name"] == "bench" and facts["Host"] == clusters["bench"].address
    assert facts["ID"] == "uid-of-bench"


def test_doctor_says_which_cluster_it_looks_at(
    clusters: dict[str, FakeCluster],
) -> None:
    first = connected("bench").examine()[0]
    assert "context bench" in first.text and clusters["bench"].address in first.text


class Version(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"gitVersion": "v1.31.4"}')

    def log_message(self, *_: object) -> None: ...


def test_an_authority_without_key_identifiers_is_believed_and_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.13 asks for the identifiers unless it is told not to; who signed, and for which
    address, is looked at as ever."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Version)
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        url = f"https://127.0.0.1:{server.server_port}"
        authority = Authority.make(tmp_path / name, url)
        authority.sign("server", "server", names=("127.0.0.1",))
        authority.user("admin", "admin")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "own/server.crt", tmp_path / "own/server.key")
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    answers = {}
    for name in ("own", "other"):
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / name / "admin.kubeconfig"))
        api = Api(SystemClock())
        context = api._client.rest_client.pool_manager.connection_pool_kw["ssl_context"]
        assert not context.verify_flags & ssl.VERIFY_X509_STRICT
        answers[name] = api.answering.answers()
        api._client.rest_client.pool_manager.clear()
    server.shutdown()
    server.server_close()
    assert answers == {"own": True, "other": False}


def test_machines_that_are_for_clients_alone_run_no_nodes(cluster: FakeCluster) -> None:
    """And an observation reads no disk of theirs."""
    for name, pool in (("vm-0", "loads"), ("vm-1", "bench")):
        cluster.things[f"/api/v1/nodes/{name}"]["metadata"]["labels"]["pool"] = pool
    both = Placing(node_selector={"pool": "bench"}, client_selector={"pool": "loads"})
    platform = KubernetesPlatform(SystemClock(), both)
    assert [machine.name for machine in platform.machines()] == ["vm-0", "vm-1"]
    assert [machine.name for machine in platform.machines_of_nodes()] == ["vm-1"]
