"""Files that a command names are read once, whatever is varied; factors are parsed once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.design import factors
from orchestrator.planning import profiles, workloads
from tests.apps import an_app
from tests.calls import calls_of


def planned(vary: str, **more: Any) -> Callable[[], object]:
    request = Request(
        profiles=("premium", "ultra"),
        workloads=("insert",),
        scale="smoke",
        database="postgresql",
        repetitions=3,
        vary=vary,
        **more,
    )
    return lambda: plans.make_plan(an_app(Path("no-cache")), request)


READ = {"profile": profiles.read_profile, "workload": workloads.read_workload}


def test_nodes_are_varied_by_files_that_are_read_once() -> None:
    functions = {**READ, "values": factors.parse}
    calls = calls_of(functions, planned("nodes=1,2,3"))
    # The other text that is parsed is that of --sweep, which is not given.
    assert calls == {"profile": 2, "workload": 1, "values": 2}


def test_a_key_of_a_workload_reads_the_workload_alone_at_each_value() -> None:
    assert calls_of(READ, planned("threads=1,2,4")) == {"profile": 2, "workload": 4}


def test_stripes_read_the_profiles_alone_at_each_value() -> None:
    assert calls_of(READ, planned("count=1,4")) == {"profile": 4, "workload": 1}
