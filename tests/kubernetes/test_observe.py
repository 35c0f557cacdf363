"""`tierbench observe` on the nodes of a Kubernetes, by the agent, with the recipe's rights alone.

Goal: who writes the documented `kubernetes` and the documented line gets a report of the nodes that
the selector picks, and nothing stays there. Method: nodes see this kernel's disks, so that writes
to a loop device here are what they must have read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.errors import EXIT_INTERRUPTED
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.model import Placing
from orchestrator.system.clock import SystemClock, wait_until
from tests.cluster.cluster import Cluster
from tests.documented import examples
from tests.integration.conftest import Program
from tests.kubernetes.conftest import MANIFESTS, SPACE, path_of
from tests.observed_writes import Writes, writing

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]

MADE = (
    "Namespace",
    "ServiceAccount",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
)
LABEL = "agentpool"


@pytest.fixture
def writes(tmp_path: Path) -> Iterator[Writes]:
    with writing(tmp_path) as made:
        yield made


@pytest.fixture
def picked(cluster: Cluster, core: Any) -> Iterator[list[str]]:
    """The two nodes that the documented selector picks."""
    names = [node.name for node in cluster.nodes[:2]]

    def label(value: str | None) -> None:
        for name in names:
            core.patch_node(name, {"metadata": {"labels": {LABEL: value}}})

    label("databases")
    yield names
    label(None)


@pytest.fixture
def allowed(
    api: Any, loaded: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has the recipe's account, which the cluster knows."""
    for thing in MANIFESTS:
        if thing["kind"] in MADE:
            api.make(path_of(thing), thing)
    asked = f"/api/v1/namespaces/{SPACE}/serviceaccounts/tierbench/token"
    config = yaml.safe_load(loaded.kubeconfig.read_text())
    config["users"][0]["user"] = {
        "token": api.make(asked, {"spec": {}})["status"]["token"]
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    own = KubernetesPlatform(SystemClock(), Placing(namespace=SPACE))
    # The API server sees roles some time after it has stored them.
    assert wait_until(
        lambda: all(one.ok is not False for one in own.examine()),
        deadline_s=60,
        clock=SystemClock(),
    )
    own._api._client.rest_client.pool_manager.clear()


@contextmanager
def reading(device: str, folder: Path) -> Iterator[Program]:
    """The documented line, while it reads each second; whatever becomes of it, it ends."""
    profile, before = folder / "nodes.yaml", set(folder.glob("observed-*/samples/*"))
    profile.write_text(examples("OBSERVE.md", "Machines without node_exporter")[1])
    words = ("observe", "--profile", str(profile), "--device", device, "--last", "28s")
    more = ("--size", "250GiB", "--results", str(folder))
    program = Program.start(*words, *more, TIERBENCH_CACHE=str(folder))
    try:
        program.until("the same command goes on")
        assert wait_until(
            lambda: set(folder.glob("observed-*/samples/*")) - before,
            deadline_s=60,
            clock=SystemClock(),
        )
        yield program
    finally:
        program.process.terminate()
        program.process.wait(timeout=60)


@pytest.mark.slow
@pytest.mark.usefixtures("allowed")
def test_disks_of_the_nodes_that_are_picked_are_read_to_a_report(
    picked: list[str], writes: Writes, core: Any, tmp_path: Path
) -> None:
    """It is ended as a Job that is deleted, and goes on; then of two agents one is ended, which is
    a gap of its own node alone."""

    def pods() -> dict[str, Any]:
        return {
            pod.spec.node_name: pod for pod in core.list_namespaced_pod(SPACE).items
        }

    with reading(writes.device, tmp_path) as program:
        assert sorted(pods()) == picked
        for pod in pods().values():
            assert pod.metadata.labels["tierbench.role"] == "agent"
            (container,) = pod.spec.containers
            assert not container.security_context.privileged
            assert [each.read_only for each in container.volume_mounts] == [True]
        time.sleep(4)
        program.process.terminate()
        assert program.end() == EXIT_INTERRUPTED, program.text
    assert "the same command goes on in the same folder" in program.text and not pods()
    first, second = picked
    with reading(writes.device, tmp_path) as program:
        time.sleep(4)
        core.delete_namespaced_pod(
            pods()[first].metadata.name, SPACE, grace_period_seconds=0
        )
        assert program.end() == 0, program.text
    (folder,) = tmp_path.glob("observed-*")
    assert (folder / "report.html").is_file() and not pods()
    read = {each.node: each for each in demands(files.read(folder))}
    assert sorted(read) == picked
    assert len(read[first].starts) > 2 and len(read[second].starts) > 1
    assert read[first].coverage < read[second].coverage
    for demand in read.values():
        assert demand.is_fine and demand.end_s[-1] - demand.begin_s[0] > 24
        writes.hold(demand)
