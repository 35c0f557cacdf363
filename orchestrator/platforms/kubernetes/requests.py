"""What machines have left of what pods may ask for. Pure.

The scheduler counts requests, and not what is used: the sum over the containers of a pod, or the
most that one of those that run before them asks for, if that is more (sidecars add to both), and
the pod's overhead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.platforms.kubernetes.manifests import CARRIER_CPU, SHARES

Thing = Mapping[str, Any]
_OVER = ("Succeeded", "Failed")  # phases of pods that hold nothing any more


def cpus(quantity: str) -> float:
    """Reads a quantity of processors, as in "250m" or "4"."""
    return float(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)


def each(nodes: int, machines: Sequence[Thing], pods: Iterable[Thing]) -> float:
    """How many CPUs each of so many nodes of a database may ask for, spread over these machines,
    beside what carries its files and a load client; a tenth of one is the least that counts.
    `pods`: all of the cluster."""
    if not machines:
        return 0.0
    free = {one["metadata"]["name"]: _allocatable(one) for one in machines}
    for pod in pods:
        name = str(pod["spec"].get("nodeName") or "")
        if name in free and pod.get("status", {}).get("phase") not in _OVER:
            free[name] -= _asked(pod["spec"])
    most = sorted(free.values(), reverse=True)[:nodes]  # those that nodes will find room on
    left = most[-1] / math.ceil(nodes / len(most)) - cpus(CARRIER_CPU) - cpus(SHARES["client"])
    return max(0.0, math.floor(10 * left + 1e-6) / 10)


def _allocatable(machine: Thing) -> float:
    status = machine["status"]
    return cpus(str((status.get("allocatable") or status["capacity"])["cpu"]))


def _asked(spec: Thing) -> float:
    containers, before = spec.get("containers") or [], spec.get("initContainers") or []
    beside = [one for one in before if one.get("restartPolicy") == "Always"]
    running = sum(map(_request, (*containers, *beside)))
    first = max((_request(one) for one in before), default=0.0) + sum(map(_request, beside))
    return max(running, first) + cpus(str((spec.get("overhead") or {}).get("cpu", "0")))


def _request(container: Thing) -> float:
    asked = (container.get("resources") or {}).get("requests") or {}
    return cpus(str(asked.get("cpu", "0")))
