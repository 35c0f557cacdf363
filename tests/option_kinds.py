"""Each kind of campaign, with files of its own, and what is said when it is planned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.errors import TierbenchError, UsageError
from orchestrator.model import Plan
from orchestrator.run.beforehand import forecast
from tests.apps import an_app
from tests.asked import PRICES
from tests.fakes import this_machine_has

# `auto` is refused where disks are paid for.
POSTGRESQL = {"database": "postgresql"}
# A profile's own files are those of `profile_files`; `machines` stands for all engines elsewhere.
KINDS: dict[str, dict[str, Any]] = {
    "emulated on Docker": {"profiles": ("premium", "ultra"), **POSTGRESQL},
    "emulated on Kubernetes": {
        "profiles": ("premium", "ultra"),
        "platform": "kubernetes",
        **POSTGRESQL,
    },
    "StorageClass": {
        "profiles": ("premium", "ultra"),
        "platform": "kubernetes",
        "enforcement": "storage-class",
        **POSTGRESQL,
    },
    "mounted": {"profiles": ("mounted.yaml", "mounted-2.yaml")},
    "machines": {"profiles": ("machines.yaml", "machines-2.yaml")},
    "existing": {"profiles": ("existing.yaml", "existing-2.yaml")},
    "BenchBase": {
        "profiles": ("premium", "ultra"),
        "generator": "benchbase",
        **POSTGRESQL,
    },
    "sysbench-stock": {
        **POSTGRESQL,
        "profiles": ("premium", "ultra"),
        "workloads": ("oltp_read_write",),
    },
    "disk-matrix": {"profiles": ("premium", "ultra"), "workloads": ("disk-matrix",)},
}
# Options of where results go and how they are told, which no plan shows.
REPORTED = {"results", "fail_if_worse", "accept_inconclusive"}
OURS = "{database: postgresql, nodes: 3, replication_factor: 3, "
OURS += "node: {smoke: &one {cpus: 1, memory: 2GiB, disk: 8GiB}, laptop: *one}}"
THEIRS = "{database: existing, replication_factor: 1, existing: {hosts: db.example, user: bench, "
THEIRS += "password_env: BENCH_PASSWORD}}"
FILES = {
    "mounted": (
        '{type: azure/P15, enforcement: mounted, disks: "/mnt/a-{node}"}',
        OURS,
    ),
    "machines": ("{type: azure/P15, enforcement: mounted, path: /mnt/a}", OURS),
    "existing": ("{enforcement: existing}", THEIRS),
}


@pytest.fixture
def profile_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    this_machine_has(monkeypatch, cpus=8)
    monkeypatch.chdir(tmp_path)
    Path("prices.yaml").write_text(PRICES)
    for name, (tier, cluster) in FILES.items():
        text = f"question: q\ntitle: A disk\ntier: {tier}\ncluster: {cluster}\n"
        if name == "machines":
            text += "machines: [tcp://vm1:2376, tcp://vm2:2376, tcp://vm3:2376]\n"
        Path(f"{name}.yaml").write_text(text)
        Path(f"{name}-2.yaml").write_text(text)


def asked(kind: str, options: Mapping[str, Any]) -> Request:
    return Request(
        **{
            "workloads": ("tpcc",),
            "scale": "smoke",
            "repetitions": 4,
            **KINDS[kind],
            **options,
        }
    )


def planned(request: Request) -> Plan:
    return plans.make_plan(an_app(Path("cache")), request)


def told(error: TierbenchError) -> str:
    return " ".join(
        [error.what, error.advice or "", *map(str, getattr(error, "mistakes", ()))]
    )


def problems(request: Request) -> list[str]:
    """What ends the campaign before anything is started. UsageError if it is not even planned."""
    return problems_of(planned(request))


def problems_of(plan: Plan) -> list[str]:
    """What ends a planned campaign before anything is started."""
    parts, world = an_app(Path("cache")).unasked()
    found = forecast.look_ahead(plan, parts, world).problems
    return [told(one) for one in found if isinstance(one, UsageError)]
