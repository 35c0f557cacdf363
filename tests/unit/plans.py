"""Small profiles, workloads and plans for tests, as literal as they can be."""

from __future__ import annotations

from orchestrator.model import (
    ClusterSpec,
    Dataset,
    NodeSize,
    Plan,
    Profile,
    Tier,
    Workload,
)
from orchestrator.plan import make_plan


def a_profile(name: str = "premium", nodes: int = 1) -> Profile:
    tier = Tier(name, f"Disk {name}", "emulated", iops=100, bytes_per_s=10_000_000)
    size = NodeSize(cpus=1.0, memory_bytes=2**28, disk_bytes=2**30)
    return Profile(name, "What does it give?", tier, ClusterSpec("postgresql", nodes, nodes, size))


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


def a_plan(
    profiles: tuple[str, ...] = ("premium",),
    workloads: tuple[str, ...] = ("point-select",),
    repetitions: int = 1,
) -> Plan:
    return make_plan(
        "test",
        [a_profile(name) for name in profiles],
        [a_workload(name) for name in workloads],
        repetitions=repetitions,
        seed=1,
        scale="smoke",
        margin_pct=5.0,
    )
