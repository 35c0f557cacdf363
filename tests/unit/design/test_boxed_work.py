"""Workloads that end with their work: at least bytes over the tier's rate, at most the deadline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.design import boxed_work
from orchestrator.extensions.hadoop import tera
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.model import Profile, Workload
from orchestrator.planning import durations, workloads
from orchestrator.planning.time_left import TimeLeft
from tests import ROOT
from tests.plans import a_plan, a_profile, planned
from tests.tiers import changed


def shipped(name: str) -> Workload:
    text = (ROOT / "workloads" / f"{name}.yaml").read_text()
    return workloads.read_workload(name, text, "smoke")


def on_nodes(copies: int, mb_per_s: int) -> Profile:
    """Three nodes with 1 GiB of memory on disks of that rate."""
    own = a_profile()
    tier = changed(own.tier, bytes_per_s=mb_per_s * 1_000_000)
    assert own.cluster.node is not None
    node = replace(own.cluster.node, memory_bytes=2**30)
    cluster = replace(own.cluster, nodes=3, replication_factor=copies, node=node)
    return replace(own, tier=tier, cluster=cluster)


@pytest.mark.parametrize(
    ("name", "copies", "by_hand_s"),
    [
        ("hdfs-gen", 3, 192 / 10),  # each disk writes a copy of all
        ("hdfs-gen", 1, 64 / 10),
        ("hdfs-scan", 3, 64 / 10),  # each disk reads its share
        ("hdfs-sort", 3, (64 + 192) / 10),
        ("bulk-restore", 3, 200 / 10),  # 4 tables of 500,000 rows of 100 bytes
        ("bulk-scan", 3, 400 / 3 / 10),
        ("bulk-index", 3, 0),  # rows may be in memory
    ],
)
def test_the_shortest_window_is_bytes_over_the_rate(
    name: str, copies: int, by_hand_s: float
) -> None:
    profile, load = on_nodes(copies, mb_per_s=10), shipped(name)
    assert boxed_work.least_s(profile, load) == pytest.approx(by_hand_s)
    made = planned([profile], [load], repetitions=2)
    windows = durations.steps(made)[0]
    assert windows.total.least_s == pytest.approx(2 * by_hand_s)
    assert windows.total.most_s == 2 * load.measure_s
    assert windows.source == "bytes over the tier's rate, at most the deadline"


def test_no_window_is_longer_than_its_deadline_or_known_without_a_rate() -> None:
    load = shipped("hdfs-gen")
    slow = on_nodes(3, mb_per_s=1)
    assert durations._windows(slow, load).least_s == load.measure_s
    unlimited = replace(slow, tier=changed(slow.tier, bytes_per_s=None))
    assert boxed_work.least_s(unlimited, load) == 0


def test_it_knows_what_the_load_generators_end_by_themselves() -> None:
    of_sysbench = set(command_lines.ENDS_WITH_WORK)
    of_hadoop = {f"hdfs/{step}.sh" for step in tera._STEPS}
    assert set(boxed_work._OF_SCRIPTS) == of_sysbench | of_hadoop


def test_the_time_left_takes_what_such_runs_took() -> None:
    load = shipped("hdfs-gen")
    made = a_plan(repetitions=4)
    made = replace(
        made,
        workloads=(load,),
        runs=tuple(replace(run, workload=load.name) for run in made.runs),
    )
    left = TimeLeft()
    left.took(load, 30.0)
    assert left.before(made.runs[1:], made) == 3 * 30
