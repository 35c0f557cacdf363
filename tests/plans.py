"""Small profiles, workloads, plans and disks for tests, as literal as they can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.design import disk_matrix
from orchestrator.model import (
    ClusterSpec,
    Dataset,
    NodeSize,
    Plan,
    Profile,
    Workload,
)
from orchestrator.plan_parts import NO_FURTHER_CHECKS, DiskChecks, Judging, Repeats
from orchestrator.planning.durations import timed
from orchestrator.planning.plan import RunMatrix, make_plan
from tests.tiers import a_tier


def a_profile(name: str = "premium", nodes: int = 1) -> Profile:
    tier = a_tier(name, f"Disk {name}", "emulated", iops=100, bytes_per_s=10_000_000)
    size = NodeSize(cpus=1.0, memory_bytes=2**28, disk_bytes=2**30)
    return Profile(
        name, "What does it give?", tier, ClusterSpec("postgresql", nodes, nodes, size)
    )


def a_workload(name: str = "point-select") -> Workload:
    return Workload(
        name=name,
        title=name,
        generator="sysbench",
        script=f"sysbench/{name}.lua",
        dataset=Dataset("sysbench-tables", {"tables": 2, "table_size": 10}),
        scale="smoke",
        threads=2,
        loader_threads=1,
        warmup_s=1.0,
        measure_s=4.0,
        statements_per_transaction=10,
    )


def planned(
    profiles: Sequence[Profile],
    workloads: Sequence[Workload],
    repetitions: int = 1,
    *,
    scale: str = "smoke",
    seed: int = 1,
    aa: bool = False,
    baseline: str | None = None,
    latency_at_pct: float | None = None,
    disk_checks: DiskChecks = NO_FURTHER_CHECKS,
    platform: str = "",
) -> Plan:
    """A plan of these, judged by a margin of 5 %; nothing is estimated."""
    matrix = RunMatrix(
        profiles,
        workloads,
        scale,
        aa=aa,
        baseline=baseline,
        latency_at_pct=latency_at_pct,
    )
    repeats = Repeats(repetitions, seed)
    return make_plan("test", matrix, repeats, Judging(5.0), disk_checks, platform)


def changed_plan(plan: Plan, **changes: Any) -> Plan:
    """The plan with other values of its fields and of those of its parts."""
    for part in ("repeats", "judging", "disk_checks"):
        record = getattr(plan, part)
        names = changes.keys() & vars(record).keys()
        changes[part] = replace(record, **{name: changes.pop(name) for name in names})
    return replace(plan, **changes)


def a_plan(
    profiles: tuple[str, ...] = ("premium",),
    workloads: tuple[str, ...] = ("point-select",),
    repetitions: int = 1,
    aa: bool = False,
) -> Plan:
    tiers = [a_profile(name) for name in profiles]
    loads = [a_workload(name) for name in workloads]
    return timed(planned(tiers, loads, repetitions, aa=aa))


CLUSTER = """
nodes: 3
replication_factor: 3
node: {smoke: {cpus: 1, memory: 256MiB, disk: 2GiB}}
"""
TIER = "{iops: 500, throughput: 60MB/s}"


def profile_text(tier: str = TIER, cluster: str = "small") -> str:
    return f"question: why?\ntitle: A disk\ntier: {tier}\ncluster: {cluster}\n"


def disk(
    text: str,
    iops: float,
    bytes_per_s: float,
    latency_s: float,
    io_unit: int = 256 * 2**10,
) -> dict[tuple[str, str], float]:
    """Figures of a disk that holds its limits exactly: rate = min(caps, in flight / latency)."""
    figures = {}
    for cell in disk_matrix.planned({"cells": text}):
        caps = (
            iops / math.ceil(cell.block_bytes / io_unit),
            bytes_per_s / cell.block_bytes,
        )
        rate = min(*caps, cell.in_flight / latency_s)
        figures["iops", cell.name] = rate
        figures["bytes_per_s", cell.name] = rate * cell.block_bytes
        figures["latency_avg_s", cell.name] = cell.in_flight / rate
    return figures
