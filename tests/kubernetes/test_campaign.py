"""Campaigns on a real Kubernetes: from the command line to a report, and what may go wrong between.

Method: `tierbench` as a person starts it; its results are read from the files that it leaves, and
what is left on the cluster is asked of the cluster. Small sizes: two cores play three machines, so
figures mean nothing here.
"""

from __future__ import annotations

import html
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.extensions.kubernetes import space
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import store
from orchestrator.system.clock import SystemClock, wait_until
from tests import CACHE, ROOT, standin_image
from tests.campaign_tables import sampled_in
from tests.cluster import provisioner
from tests.cluster.cluster import Cluster
from tests.kubernetes.conftest import ours

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]

NODES = ("node-1", "node-2", "node-3")
LOAD = ("database", "client")  # roles of what runs while load does
TIER = "premium"  # its 125 MB/s are there also where two busy cores play three machines
# So is its latency of 8 to 12 ms: busy cores are late by half a millisecond, which fails the gate
# of a faster disk, and a gate that fails is taken three times, 25 s each, on each machine.
SLOW_TIER = "standard-hdd"
PROFILE = """
question: What does a volume of this class give?
title: Fast volumes
platform: kubernetes
tier: {enforcement: storage-class, storage_class: fast, size: 2GiB}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node: {smoke: {cpus: 1, memory: 512MiB, disk: 2GiB}}
"""
STAND_IN = """
question: Does the whole flow work?
title: This machine
platform: kubernetes
tier: {enforcement: none}
cluster:
  database: yugabytedb
  nodes: 3
  replication_factor: 3
  node: {smoke: {cpus: 1, memory: 1536MiB, disk: 2GiB}}
  settings: {image: IMAGE}
"""
SLOW_LINK = """
question: does a slow network show?
title: disk that is not the limit
tier: {iops: 2000, throughput: 100MB/s, read_latency: 8ms, write_latency: 8ms}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  network: 10Mbit
  node: {smoke: {cpus: 1, memory: 512MiB, disk: 2GiB}}
"""
LONG = """
title: a load that is not over before somebody kills it
generator: sysbench
script: sysbench/point_select.lua
dataset: sysbench-tables
statements_per_transaction: 10
scales:
  smoke: {dataset: {tables: 2, table_size: 5000}, threads: 2, warmup: 1s, measure: 180s}
"""
INSERTS = ROOT / "tests" / "integration" / "workloads" / "short-insert.yaml"
FAST = {
    "metadata": {"name": "fast"},
    "provisioner": provisioner.NAME,
    "parameters": {"csi.storage.k8s.io/fstype": "xfs"},
    "volumeBindingMode": "WaitForFirstConsumer",
    "reclaimPolicy": "Delete",
}


@pytest.fixture(autouse=True)
def nothing_left(loaded: Cluster) -> Iterator[None]:
    """Fails the test where anything of ours is left on the cluster after it."""
    yield
    assert ours(loaded) == []


def command(cluster: Cluster, *words: str) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig),
        "TIERBENCH_LEASE_S": "20",
    }
    env |= {"TIERBENCH_CACHE": str(CACHE), "TIERBENCH_UNPROTECTED": "no-password"}
    argv = [sys.executable, "-m", "orchestrator", *words]
    return subprocess.Popen(
        argv,
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def finished(
    process: subprocess.Popen[str], exit_code: int = 0, within_s: float = 900
) -> str:
    out, _ = process.communicate(timeout=within_s)
    assert process.returncode == exit_code, out[-6000:]
    return out


def run(cluster: Cluster, results: Path, *words: str) -> Results:
    started = command(cluster, *words, "--scale", "smoke", "--results", str(results))
    finished(started)
    return store.load(results / "latest")


@pytest.mark.flaky(
    reruns=1, only_rerun=["AssertionError"]
)  # two cores play three machines
@pytest.mark.parametrize(
    ("workloads", "sizes"),
    [
        pytest.param(str(INSERTS), "table_size=5000 measure=8s", id="insert"),
        pytest.param(
            "point-select tpcc",
            "table_size=5000 warehouses=1",
            id="all",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_three_nodes_carry_workloads_from_two_clients(
    loaded: Cluster, tmp_path: Path, workloads: str, sizes: str
) -> None:
    """The main job: three copies on three emulated disks, one on each machine, loaded once.

    One of these disks is slow for a time, and as declared again.
    """
    where = (
        "--platform",
        "kubernetes",
        "--db",
        "postgresql",
        "--nodes",
        "3",
        "--clients",
        "2",
    )
    settings = [word for size in sizes.split() for word in ("--set", size)]
    tiers = (
        "--profiles",
        SLOW_TIER,
        "--workloads",
        workloads,
        *settings,
        "--repeats",
        "1",
    )
    slow = ("--slow", "node-3=10%,2s@1s")
    words = (*tiers, *slow, "--accept-inconclusive", *where)
    campaign = run(loaded, tmp_path, "compare", *words)
    assert campaign.plan.platform == "kubernetes"
    assert [data.record.outcome for data in campaign.runs] == ["done"] * len(
        workloads.split()
    )
    for data in campaign.runs:
        record = data.record
        databases = [node for node in record.nodes if node.role == "database"]
        assert tuple(node.name for node in databases) == NODES
        assert len({node.machine for node in databases}) == 3
        assert record.gate is not None
        assert {check.nodes for check in record.gate.checks} == {
            (node,) for node in NODES
        }
        assert set(record.gate.device["machines"]) == {
            node.machine for node in databases
        }
        assert set(record.facts["generator"]["clients"]) == {"client-1", "client-2"}
        measured = {(m.metric, m.scope): m.value for m in record.measurements}
        assert measured["throughput_per_s", "all"] > 0
        assert measured["throughput_per_s", "slow_disk"] > 0
        raw = tmp_path / "latest" / "runs" / record.run.slug / "raw" / "slow.json"
        (part,) = json.loads(raw.read_text())["parts"]
        assert part["enforced"]["iops"] == part["restored"]["iops"] / 10
        assert sampled_in(data) is not None
        seen = sampled_in(data).groupby("node")["metric"].unique()
        for node in databases:
            assert {"cpu_seconds_total", "disk_writes_total"} <= set(seen[node.name])
    assert (tmp_path / "latest" / "report.html").stat().st_size > 100_000


@pytest.mark.slow
def test_three_nodes_of_the_stand_in_find_each_other_by_name(
    loaded: Cluster, tmp_path: Path
) -> None:
    """YugabyteDB's adapter: joined, loaded, read back and sampled; figures are the stand-in's."""
    image = standin_image.provide(DockerPlatform(SystemClock()))
    loaded.load(image)
    profile = tmp_path / "stand-in.yaml"
    profile.write_text(STAND_IN.replace("IMAGE", image))
    words = ("run", "--profile", str(profile), "--workload", str(INSERTS))
    campaign = run(loaded, tmp_path / "results", *words)
    (data,) = campaign.runs
    facts = data.record.facts["database"]
    assert data.record.outcome == "done", data.record.failure
    assert facts["stand_in"] is True and facts["replication_factor"] == 3
    databases = [node for node in data.record.nodes if node.role == "database"]
    assert tuple(node.name for node in databases) == NODES
    assert len({node.machine for node in databases}) == 3
    assert sampled_in(data) is not None
    assert {"sql_statements_total", "wal_sync_seconds_total"} <= set(
        sampled_in(data)["metric"]
    )
    report = (tmp_path / "results" / "latest" / "report.md").read_text()
    assert "stand-in" in report


@pytest.mark.slow
def test_a_faster_tier_is_better_on_any_platform(
    loaded: Cluster, tmp_path: Path
) -> None:
    """Two tiers far apart: which is better in what is as on any platform, whatever the figures
    are."""
    tiers = ("--profiles", f"standard-hdd {TIER}", "--workloads", str(INSERTS))
    where = (
        "--platform",
        "kubernetes",
        "--db",
        "postgresql",
        "--nodes",
        "1",
        "--repeats",
        "3",
    )
    campaign = run(loaded, tmp_path, "compare", *tiers, *where, "--accept-inconclusive")
    assert {data.record.outcome for data in campaign.runs} == {"done"}
    found = {
        (delta.contender, delta.metric): delta.verdict
        for delta in judge(campaign).deltas
        if delta.scope == "all"
        and delta.metric in ("throughput_per_s", "latency_avg_s")
    }
    assert found == {
        (TIER, "throughput_per_s"): "better",
        (TIER, "latency_avg_s"): "better",
    }


@pytest.mark.flaky(
    reruns=1, only_rerun=["AssertionError"]
)  # two cores play three machines
@pytest.mark.slow
def test_the_limits_of_disks_in_pods_are_tried_out(
    loaded: Cluster, tmp_path: Path
) -> None:
    """Commits wait for the log on a disk of 10 ms: less latency gives more, IOPS and bandwidth give
    nothing. A pod's processors cannot be changed while it runs."""
    where = (
        "--platform",
        "kubernetes",
        "--db",
        "postgresql",
        "--nodes",
        "1",
        "--confirm",
    )
    sizes = ("--set", "table_size=5000", "--set", "threads=4", "--set", "measure=15s")
    campaign = run(
        loaded,
        tmp_path,
        "run",
        "--profile",
        SLOW_TIER,
        "--workload",
        "insert",
        *sizes,
        *where,
    )
    (bottleneck,) = judge(campaign).bottlenecks
    tried = {elasticity.limit: elasticity for elasticity in bottleneck.elasticities}
    assert set(tried) == {"IOPS", "bandwidth", "disk latency", "sessions"}
    assert tried["disk latency"].value >= 0.5, bottleneck.text
    assert max(tried["IOPS"].value, tried["bandwidth"].value) < 0.5, bottleneck.text


@pytest.mark.slow
def test_volumes_of_a_class_are_compared_as_any_tier(
    loaded: Cluster, core: Any, tmp_path: Path
) -> None:
    """Rented for each run, read back, and gone with the campaign."""
    storage = kubernetes.client.StorageV1Api(loaded.api)
    storage.create_storage_class(FAST)
    try:
        profile = tmp_path / "fast.yaml"
        profile.write_text(PROFILE)
        insert = ("--workload", "insert", "--set", "table_size=5000")
        words = ("run", "--profile", str(profile), *insert)
        campaign = run(loaded, tmp_path / "results", *words)
    finally:
        storage.delete_storage_class("fast")
    record = campaign.runs[0].record
    assert record.outcome == "done"
    given = record.facts["tier"]
    assert provisioner.NAME in str(given) and "fast" in str(given)
    assert core.list_persistent_volume().items == []


@pytest.mark.slow
def test_a_log_has_a_volume_of_another_class(
    loaded: Cluster, core: Any, tmp_path: Path
) -> None:
    """Each is rented, checked, mounted where the log is, counted by itself, and gone afterwards.

    The loaded data and their log are kept, and the run begins with copies of both.
    """
    storage = kubernetes.client.StorageV1Api(loaded.api)
    storage.create_storage_class(FAST)
    storage.create_storage_class({**FAST, "metadata": {"name": "logs"}})
    try:
        profile = tmp_path / "both.yaml"
        log = "snapshots: copy, wal: {storage_class: logs, size: 1GiB}"
        profile.write_text(PROFILE.replace("size: 2GiB}", f"size: 2GiB, {log}}}"))
        insert = ("--workload", "insert", "--set", "table_size=5000")
        words = ("run", "--profile", str(profile), *insert)
        campaign = run(loaded, tmp_path / "results", *words)
    finally:
        storage.delete_storage_class("fast")
        storage.delete_storage_class("logs")
    (measured,) = campaign.runs
    record = measured.record
    assert record.outcome == "done"
    assert record.facts["tier"]["restored"] == {"way": "claim"}
    disks = record.facts["tier"]["disks"]
    assert {name: disk["size_bytes"] for name, disk in disks.items()} == {
        "node-1": 2 * 2**30,
        "node-1.wal": 2**30,
    }
    node = record.nodes[0]
    assert node.device and node.wal_device and node.device != node.wal_device
    # PostgreSQL's own directory of its log is on that device.
    assert record.facts["database"]["wal_devices"] == {"node-1": node.wal_device}
    samples = sampled_in(measured)
    # Both are counted. Each commit is written to the log; data only where a checkpoint falls into
    # the window.
    assert "disk_written_bytes_total" in set(samples["metric"])
    of_log = samples[samples["metric"] == "wal_disk_written_bytes_total"]["value"]
    assert of_log.max() > of_log.min()
    assert record.gate is not None
    checked = {check.disk for check in record.gate.checks}
    assert checked == {"node-1 (fast)", "node-1's WAL (logs)"}
    page = (tmp_path / "results" / "latest" / "report.html").read_text()
    assert "node-1's WAL" in html.unescape(page)
    assert core.list_persistent_volume().items == []


@pytest.mark.slow
def test_a_killed_pod_fails_its_run_and_leaves_nothing(
    loaded: Cluster, core: Any, tmp_path: Path
) -> None:
    started = begun(loaded, core, tmp_path)
    namespace, pod = running(core, "database")[0]
    core.delete_namespaced_pod(pod, namespace, grace_period_seconds=0)
    finished(started, exit_code=2)
    record = store.load(tmp_path / "latest").runs[0].record
    assert record.outcome == "failed" and "node-1" in str(record.failure)


@pytest.mark.slow
def test_what_a_killed_program_left_is_removed(
    loaded: Cluster, core: Any, tmp_path: Path
) -> None:
    started = begun(loaded, core, tmp_path)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    assert ours(loaded)
    finished(command(loaded, "clean", "--yes", "--platform", "kubernetes"))


def begun(cluster: Cluster, core: Any, results: Path) -> subprocess.Popen[str]:
    """A campaign whose load begins: its database and its client run."""
    workload = results / "long.yaml"
    workload.write_text(LONG)
    started = command(
        *(
            cluster,
            "run",
            "--profile",
            TIER,
            "--workload",
            str(workload),
            "--scale",
            "smoke",
        ),
        *("--platform", "kubernetes", "--db", "postgresql", "--nodes", "1"),
        *("--results", str(results), "--retry-failed", "0"),
    )
    up = wait_until(
        lambda: started.poll() is not None or all(running(core, one) for one in LOAD),
        deadline_s=400,
        clock=SystemClock(),
    )
    assert up and started.poll() is None, started.communicate()[0][-4000:]
    return started


def running(core: Any, role: str) -> list[tuple[str, str]]:
    """Namespace and name of our running pods of this role, but for those that load data."""
    label = f"{space.LABEL}=1,{space.ROLE}={role}"
    found = core.list_pod_for_all_namespaces(label_selector=label).items
    return [
        (pod.metadata.namespace, pod.metadata.name)
        for pod in found
        if "-load-" not in pod.metadata.name and pod.status.phase == "Running"
    ]


@pytest.mark.slow
def test_a_load_in_pods_that_fills_its_network_names_it(
    loaded: Cluster, tmp_path: Path
) -> None:
    """Each transaction of `oltp_read_only` brings 400 rows to the client, all from memory."""
    profile = tmp_path / "slow.yaml"
    profile.write_text(SLOW_LINK)
    words = (
        "--workload",
        "oltp_read_only",
        "--set",
        "table_size=5000",
        "--platform",
        "kubernetes",
    )
    campaign = run(loaded, tmp_path, "run", "--profile", str(profile), *words)
    (done,) = campaign.done
    facts = done.record.facts["network"]
    assert (
        facts["bytes_per_s"] == 1_250_000
        and set(facts["transfer"])
        and len(facts["links"]) == 2
    )
    (cell,) = judge(campaign).bottlenecks
    assert cell.cause == "network_bound", cell.text
