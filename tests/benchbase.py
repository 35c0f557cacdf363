"""BenchBase without BenchBase: a workload, a cluster, a distribution, and two captured executions.

BenchBase itself is run in tests/integration/test_benchbase.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Dataset,
    Endpoint,
    Node,
    NodeSize,
    Workload,
)
from tests import TESTS

CAPTURED = TESTS / "fixtures" / "benchbase"
WITH_ATTEMPTS = CAPTURED / "with-attempts"
SPEC = ClusterSpec("postgresql", 1, 1, NodeSize(1.0, 2**30, 2**31))
WORKLOAD = Workload(
    name="tpcc",
    title="TPC-C-derived order entry",
    generator="benchbase",
    script="benchbase/tpcc.xml.jinja",
    dataset=Dataset("benchbase-tpcc", {"warehouses": 4}),
    scale="smoke",
    threads=8,
    loader_threads=2,
    warmup_s=3.0,
    measure_s=7.0,
    options={"think": "none", "isolation": "read committed"},
)


def asking(**options: Any) -> Workload:
    return replace(WORKLOAD, options={**WORKLOAD.options, **options})


def cluster(database: str = "postgresql", nodes: int = 1) -> Cluster:
    numbers = range(1, nodes + 1)
    return Cluster(
        database,
        "17",
        tuple(Node(f"node-{k}", "database", container=f"node-{k}") for k in numbers),
        tuple(
            Endpoint(f"10.0.0.{10 + k}", 5432, 1, "bench", "s3cret", "bench")
            for k in numbers
        ),
        "net",
    )


def home(folder: Path, *jars: str) -> Path:
    """An unpacked distribution in a new folder."""
    for part in ("lib", "config"):
        (folder / part).mkdir(parents=True)
    (folder / "config" / "plugin.xml").write_text("<plugins/>")
    (folder / "benchbase.jar").write_bytes(b"a jar")
    for jar in jars:
        (folder / "lib" / jar).touch()
    return folder
