"""`--vary` on real parts: each factor by itself, and how far the cheaper disk is enough for data.

What is enough is known by cache against data. Nodes have 192 MiB. Of 80 MB no read reaches the
disk, of 400 MB most do, and 1,100 IOPS carry some 110 transactions of ten reads a second. So 250 a
second are met up to 80 MB.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.analysis import metric_values
from orchestrator.analysis.results import RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests.campaign_tables import sampled_in
from tests.integration.conftest import measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


@pytest.mark.slow
@measured
def test_the_growth_horizon_lies_where_data_leave_the_cache(tmp_path: Path) -> None:
    code, text = tierbench(
        *["compare", "--profiles", "premium ultra", "--workloads", "point-select"],
        *["--scale", "smoke", "--db", "postgresql", "--nodes", "1", "--repeats", "2"],
        *["--vary", "data=80MB,400MB", "--slo", "throughput > 250/s"],
        *["--results", str(tmp_path), "--accept-inconclusive"],
    )
    assert code == 0, text
    (factor,) = judge(store.load(tmp_path / "latest")).varied
    horizon = {line.partition(" ")[0]: line for line in factor.horizons}["premium"]
    assert horizon.startswith("premium is enough up to 80MB of data ("), text
    assert (
        "at 400MB of data it is not" in horizon and "reads leave the cache" in horizon
    ), horizon
    premium = next(tier for tier in factor.tiers if tier.tier == "premium")
    rates = {
        step.contender: step
        for step in premium.steps
        if step.metric == "throughput_per_s"
    }
    assert rates["point-select-at-400MB-of-data"].verdict == "worse", text


# ------------------------------------------------------------------ each factor by itself

SMALL = ("tables=1", "threads=2", "warmup=1s")
FEW_ROWS = ("table_size=5000", "measure=3s")
# Some 60 MB: they fit into the cache, and 1,100 IOPS do not read them all within the window.
MORE_ROWS = ("table_size=200_000", "measure=5s")


def rise(run: RunData, node: str, counter: str) -> float:
    """How far a counter of the node rose while it was sampled."""
    table = sampled_in(run)
    of_node = table[(table["node"] == node) & (table["metric"] == counter)]
    return float(of_node["value"].max() - of_node["value"].min())


def replicas(run: RunData) -> float:
    return float(run.record.facts["database"]["replicas"])


def replicas_waited_for(run: RunData) -> float:
    return float(run.record.facts["database"]["replicas_in_sync"])


def iops_of_disk(run: RunData) -> float:
    return float(run.record.facts["tier"]["limits"]["iops"])


def is_reached_by_network(run: RunData) -> float:
    return float(rise(run, "node-1", "network_received_bytes_total") > 200_000)


def is_read_from_disk(run: RunData) -> float:
    """In the window, of which the sampler sees the middle."""
    table = sampled_in(run)
    window = table[(table["node"] == "node-1") & (table["phase"] == "measure")]
    read_bytes = window[window["metric"] == "disk_read_bytes_total"]["value"]
    return float(read_bytes.max() - read_bytes.min() > 1_000_000)


def throughput(run: RunData) -> float:
    return metric_values.value_of(run.record, "throughput_per_s") or 0.0


def written_bytes(run: RunData) -> float:
    """Of whole files: as many as go into 26 MB."""
    return float(run.record.facts["database"]["given_bytes"]["node-1"])


def of_postgresql(
    workload: str, factor: str, *more: str, rows: tuple[str, ...] = FEW_ROWS
) -> list[str]:
    words = ["--workload", workload, "--db", "postgresql", "--vary", factor, *more]
    for key in (*SMALL, *rows):
        words += ["--set", key]
    return words


def of_hdfs(factor: str) -> list[str]:
    words = ["--workload", "hdfs-put", "--db", "hdfs", "--nodes", "1"]
    return [*words, "--vary", factor, "--set", "bytes=26_000_000"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "shown", "expected"),
    [
        (of_postgresql("insert", "nodes=1,2"), replicas, (0, 1)),
        (
            of_postgresql("insert", "replication_factor=1,2", "--nodes", "2"),
            replicas_waited_for,
            (0, 1),
        ),
        (
            of_postgresql("point-select", "count=1,2", "--nodes", "1"),
            iops_of_disk,
            (1100, 2200),
        ),
        (
            of_postgresql("insert", "client=outside,beside", "--nodes", "1"),
            is_reached_by_network,
            (1, 0),
        ),
        (
            of_postgresql(
                "point-select", "cache=cold,warm", "--nodes", "1", rows=MORE_ROWS
            ),
            is_read_from_disk,
            (1, 0),
        ),
        (
            of_postgresql("point-select", "rate=100,300", "--nodes", "1"),
            throughput,
            (100, 300),
        ),
        (of_hdfs("file_size=2000000,20000000"), written_bytes, (26e6, 20e6)),
        (of_hdfs("jobs_on=nodes,client"), is_reached_by_network, (0, 1)),
    ],
    ids=[
        *("nodes", "replication_factor", "count", "client", "cache", "rate"),
        *("file_size", "jobs_on"),
    ],
)
def test_a_factor_is_what_was_asked_for_on_the_parts_themselves(
    words: list[str],
    shown: Callable[[RunData], float],
    expected: tuple[float, float],
    tmp_path: Path,
) -> None:
    """Each at the smallest size, by what servers, disks and kernel say; its rates say nothing."""
    code, text = tierbench(
        *["run", "--profile", "premium", "--scale", "smoke", "--repeats", "1", *words],
        *["--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    by_value = {run.record.run.workload: run for run in campaign.done}
    values = [load.name for load in campaign.plan.workloads]
    seen = [shown(by_value[value]) for value in values]
    assert seen == pytest.approx(list(expected), rel=0.15), text
    (factor,) = judge(campaign).varied
    (tier,) = factor.tiers
    assert {step.contender for step in tier.steps} == {values[1]}
    page = (tmp_path / "latest" / "report.md").read_text()
    assert all(value in page for value in factor.values), factor.values
