"""What machines have left of what pods may ask for, as the scheduler counts it; a tenth of a CPU is
left for what carries a node's files."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.extensions.kubernetes import examination


def machine(name: str, cpu: str) -> dict[str, Any]:
    status = {"capacity": {"cpu": "8"}, "allocatable": {"cpu": cpu}}
    return {"metadata": {"name": name}, "status": status}


def pod(
    name: str, cpu: str = "", phase: str = "Running", **more: Any
) -> dict[str, Any]:
    container = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    spec = {"nodeName": name, "containers": [container, {}], **more}
    return {"spec": spec, "status": {"phase": phase}}


MACHINES = [machine("a", "3920m"), machine("b", "4"), machine("c", "3920m")]


@pytest.mark.parametrize(
    ("nodes", "pods", "each"),
    [
        (3, [], 3.6),
        (1, [], 3.7),
        (6, [], 1.7),
        (3, [pod("a", "1"), pod("a", "250m"), pod("z", "3"), pod("", "3")], 2.4),
        (2, [pod("a", "1"), pod("a", "250m")], 3.6),
        (3, [pod("a", "3", "Succeeded"), pod("b", "3", "Failed")], 3.6),
        (3, [pod("a", "8")], 0.0),
        (3, [pod("a", overhead={"cpu": "120m"})], 3.5),
    ],
    ids=[
        "the least of all",
        "the most free one",
        "two each",
        "others have asked",
        "the fuller one is not needed",
        "over",
        "nothing left",
        "overhead",
    ],
)
def test_what_each_node_may_ask_for(nodes: int, pods: list[Any], each: float) -> None:
    assert examination.free_cpus(nodes, MACHINES, pods) == each


def asks(cpu: str, **more: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


LARGE = asks("2")
SIDECAR = asks("500m", restartPolicy="Always")


@pytest.mark.parametrize(
    ("before", "left"),
    [([LARGE, SIDECAR], 1.7), ([SIDECAR, LARGE], 1.2), ([SIDECAR], 2.2)],
    ids=["sidecar begins later", "sidecar goes on beside", "sidecar alone"],
)
def test_containers_that_run_before_and_beside_others(
    before: list[Any], left: float
) -> None:
    """The sums of kubernetes.io, "Effective Pod requests and limits"."""
    with_others = pod("b", "1", initContainers=before)
    assert examination.free_cpus(1, [machine("b", "4")], [with_others]) == left


def test_without_a_machine_there_is_nothing() -> None:
    assert examination.free_cpus(3, [], []) == 0.0
