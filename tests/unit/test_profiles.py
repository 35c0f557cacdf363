"""Profiles and workloads: what is shipped reads well, and every mistake is shown with its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import catalogue
from orchestrator.errors import Mistake, UsageError
from orchestrator.profiles import read_profile, read_workload

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = """
nodes: 3
replication_factor: 3
node: {smoke: {cpus: 1, memory: 256MiB, disk: 2GiB}}
"""
TIER = "{iops: 500, throughput: 60MB/s}"


def profile_text(tier: str = TIER, cluster: str = "small") -> str:
    return f"question: why?\ntitle: A disk\ntier: {tier}\ncluster: {cluster}\n"


def mistakes_of(text: str, scale: str = "smoke") -> tuple[Mistake, ...]:
    with pytest.raises(UsageError) as raised:
        read_profile("x", text, {"small": CLUSTER}, scale)
    return raised.value.mistakes


@pytest.mark.parametrize("scale", ["smoke", "laptop", "study"])
def test_everything_shipped_reads_at_every_scale(scale: str) -> None:
    profiles = catalogue.names(ROOT / "profiles")
    workloads = catalogue.names(ROOT / "workloads")
    found, loads = catalogue.read(ROOT, profiles, workloads, scale)
    assert {"premium", "premium-v2", "ultra"} <= {profile.name for profile in found}
    assert {"point-select", "insert", "tpcc"} <= {workload.name for workload in loads}


def test_the_study_is_as_published() -> None:
    """Sizes and limits of the main study (docs/METHOD.md names it)."""
    found, loads = catalogue.read(
        ROOT, ["premium", "premium-v2", "ultra"], ["point-select", "insert", "tpcc"], "study"
    )
    premium, v2, ultra = (profile.tier for profile in found)
    assert (premium.iops, premium.bytes_per_s) == (1100, 125_000_000)
    assert premium.burst is not None and premium.burst.iops == 3500
    assert (v2.iops, v2.bytes_per_s) == (ultra.iops, ultra.bytes_per_s) == (10_000, 250_000_000)
    reads, writes, mixed = loads
    assert reads.dataset.parameters == {"tables": 30, "table_size": 15_000_000}
    assert (reads.threads, writes.threads, reads.loader_threads) == (60, 24, 10)
    assert (reads.warmup_s, reads.measure_s) == (300.0, 1800.0)
    assert (mixed.dataset.parameters["warehouses"], mixed.threads) == (2000, 600)
    assert all(profile.cluster.nodes == 3 for profile in found)


def test_all_mistakes_are_shown_at_once_with_their_paths() -> None:
    found = mistakes_of(profile_text("{iops: -3, throughput: 60, fast: yes}"))
    assert {mistake.where for mistake in found} == {
        "profiles/x.yaml: tier.iops",
        "profiles/x.yaml: tier.throughput",
        "profiles/x.yaml: tier.fast",
    }
    assert "unknown key" in {mistake.what for mistake in found}


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("title: a\ntitle: b\n", "profiles/x.yaml:2:1", "stands twice"),
        ("- a list\n", "profiles/x.yaml", "mapping"),
        ("a: [\n", "profiles/x.yaml:2:1", "expected"),
        (profile_text(cluster="big"), "cluster", "unknown cluster 'big'; there is small"),
        (profile_text("{iops: 500}"), "tier", "needs `iops` and `throughput`"),
        (profile_text("{enforcement: mounted}"), "tier", "needs `path`"),
        (profile_text("{enforcement: magic}"), "tier.enforcement", "emulated"),
        (
            profile_text("{iops: 9, throughput: 1MB/s, burst: {iops: 3, duration: 1min}}"),
            "tier",
            "`burst.iops` is below `iops`",
        ),
    ],
)
def test_a_mistake_says_where_and_what(text: str, where: str, what: str) -> None:
    (first, *_) = mistakes_of(text)
    assert where in first.where
    assert what in first.what


def test_an_unknown_scale_names_the_known_ones() -> None:
    (only,) = mistakes_of(profile_text(), scale="huge")
    assert only.what == "unknown scale 'huge'; there is smoke"


def test_more_replicas_than_nodes_is_refused() -> None:
    cluster = CLUSTER.replace("replication_factor: 3", "replication_factor: 5")
    with pytest.raises(UsageError) as raised:
        read_profile("x", profile_text(), {"small": cluster}, "smoke")
    assert "above `nodes`" in raised.value.mistakes[0].what


def test_mistakes_of_several_files_come_together(tmp_path: Path) -> None:
    (tmp_path / "profiles" / "clusters").mkdir(parents=True)
    (tmp_path / "workloads").mkdir()
    (tmp_path / "profiles" / "bad.yaml").write_text("title: 1\n")
    with pytest.raises(UsageError) as raised:
        catalogue.read(tmp_path, ["bad", "absent"], ["none"], "smoke")
    places = [mistake.where for mistake in raised.value.mistakes]
    assert "profiles/bad.yaml: tier" in places
    assert any("unknown profile 'absent'" in one.what for one in raised.value.mistakes)
    assert any("unknown workload 'none'" in one.what for one in raised.value.mistakes)


def test_a_workload_scale_may_override_options() -> None:
    text = """
title: t
generator: sysbench
script: s.lua
dataset: tpcc
options: {think: none}
scales:
  smoke: {dataset: {warehouses: 1}, threads: 1, warmup: 1s, measure: 2s, options: {think: spec}}
"""
    workload = read_workload("w", text, "smoke")
    assert workload.options == {"think": "spec"}
    assert workload.dataset.parameters == {"warehouses": 1}


def test_the_nodes_disk_must_fit_on_the_one_that_is_bought() -> None:
    catalog = catalogue.catalog(ROOT)
    cluster = CLUSTER.replace("2GiB", "300GiB")
    with pytest.raises(UsageError) as raised:
        read_profile("x", profile_text("azure/P15"), {"small": cluster}, "smoke", catalog)
    (mistake,) = raised.value.mistakes
    assert mistake.where == "profiles/x.yaml: cluster.node.smoke.disk"
    assert mistake.what.startswith("300 GiB do not fit on the tier's disk of 256 GiB")
    profile = read_profile("x", profile_text("azure/P20"), {"small": cluster}, "smoke", catalog)
    assert profile.tier.iops == 2300
