"""tierbench as a Job of the cluster that it measures, by docs/recipes/in-cluster.yaml and .md."""

from __future__ import annotations

import gc
import json
import warnings
from typing import Any

import kubernetes
import pytest
import yaml
from kubernetes.stream import stream

from orchestrator.system.clock import SystemClock, wait_until
from tests import ROOT, program_image
from tests.cluster import provisioner
from tests.cluster.cluster import Cluster
from tests.kubernetes.conftest import MANIFESTS, SPACE, path_of

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]

PROFILE = f"""
question: What does a volume of this class give?
title: Fast volumes
platform: kubernetes
kubernetes: {{namespace: {SPACE}}}
tier: {{enforcement: storage-class, storage_class: fast, size: 2GiB}}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node: {{smoke: {{cpus: 0.5, memory: 512MiB, disk: 2GiB}}}}
"""
FAST = {
    "metadata": {
        "name": "fast",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": provisioner.NAME,
    "parameters": {"csi.storage.k8s.io/fstype": "xfs"},
    "volumeBindingMode": "WaitForFirstConsumer",
    "reclaimPolicy": "Delete",
}


def test_the_manifests_are_what_the_cluster_knows(api: Any) -> None:
    """Its API server refuses a field that it does not know."""
    pod = fetch_pod()
    space, *others = MANIFESTS
    api.make(path_of(space), space)
    account = (
        f"/api/v1/namespaces/{SPACE}/serviceaccounts/default"  # which every pod needs
    )
    assert wait_until(
        lambda: api.find(account), deadline_s=30, clock=SystemClock(), every_s=0.2
    )
    for thing in (*others, pod):
        api.make(f"{path_of(thing)}?dryRun=All&fieldValidation=Strict", thing)
    wrong = {**pod, "spec": {**pod["spec"], "contaners": []}}
    with pytest.raises(Exception, match="contaners"):
        api.make(f"{path_of(wrong)}?dryRun=All&fieldValidation=Strict", wrong)


@pytest.mark.slow
def test_the_job_measures_its_own_cluster_and_leaves_a_report(
    loaded: Cluster, core: Any, api: Any
) -> None:
    """With the rights that the manifests give, and no others; images are on the machines."""
    tag = program_image.provide()
    loaded.load(tag)
    storage = kubernetes.client.StorageV1Api(loaded.api)
    storage.create_storage_class(FAST)
    try:
        for thing in MANIFESTS:
            if thing["kind"] == "Job":
                config = {
                    "metadata": {"name": "profiles"},
                    "data": {"fast.yaml": PROFILE},
                }
                core.create_namespaced_config_map(SPACE, config)
                thing = job_of(thing, tag)
            api.make(path_of(thing), thing)
        batch = kubernetes.client.BatchV1Api(loaded.api)
        clock = SystemClock()

        def ended() -> Any:
            status: Any = batch.read_namespaced_job_status("tierbench", SPACE).status
            return status.succeeded or status.failed

        assert wait_until(ended, deadline_s=600, clock=clock, every_s=2)
        (pod,) = core.list_namespaced_pod(
            SPACE, label_selector="job-name=tierbench"
        ).items
        log = core.read_namespaced_pod_log(pod.metadata.name, SPACE)
        assert pod.status.phase == "Succeeded", log[-6000:]
        assert "Fast volumes" in fetched(
            core, tag, "cat /work/results/latest/report.md"
        )
        record = json.loads(
            fetched(core, tag, "cat /work/results/latest/runs/*/record.json")
        )
        assert record["outcome"] == "done"
        assert record["facts"]["telemetry"]["misses"] == {}  # its agents answer
        assert (
            int(
                fetched(
                    core, tag, "grep -c data-chart /work/results/latest/report.html"
                )
            )
            > 0
        )
        core.delete_namespaced_pod("fetch", SPACE, grace_period_seconds=0)
    finally:
        storage.delete_storage_class("fast")


def job_of(job: dict[str, Any], tag: str) -> dict[str, Any]:
    """The Job with the image of these tests, no registry, and a campaign of one run."""
    changed: dict[str, Any] = json.loads(json.dumps(job))
    (container,) = changed["spec"]["template"]["spec"]["containers"]
    container["image"] = tag
    container["env"] = [
        each for each in container["env"] if each["name"] != "TIERBENCH_REGISTRY"
    ]
    container["args"] = [
        *("run", "--profile=/profiles/fast.yaml", "--workload=insert", "--scale=smoke"),
        *("--set=table_size=5000", "--repeats=1"),
    ]
    return changed


def fetch_pod() -> dict[str, Any]:
    recipe = (ROOT / "docs/recipes/in-cluster.md").read_text()
    pod: dict[str, Any] = yaml.safe_load(
        recipe.split("# fetch.yaml\n")[1].split("```")[0]
    )
    return pod


def fetched(core: Any, tag: str, command: str) -> str:
    """What a command says in the recipe's pod that has the results."""
    manifest = fetch_pod()
    manifest["spec"]["containers"][0]["image"] = tag
    if "fetch" not in {
        pod.metadata.name for pod in core.list_namespaced_pod(SPACE).items
    }:
        core.create_namespaced_pod(SPACE, manifest)

    def runs() -> bool:
        return bool(core.read_namespaced_pod("fetch", SPACE).status.phase == "Running")

    assert wait_until(runs, deadline_s=120, clock=SystemClock(), every_s=0.5)
    words = ["sh", "-c", command]
    asked = core.connect_get_namespaced_pod_exec
    answer = stream(
        asked,
        "fetch",
        SPACE,
        command=words,
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    try:
        answer.run_forever(timeout=60)
        return str(answer.read_all())
    finally:
        answer.close()
        del answer
        with (
            warnings.catch_warnings()
        ):  # the client leaves its socket to the garbage collector
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
