"""CPU and memory of each container, from its control group (version 1 or 2).

The group is found through /proc/<pid>/cgroup of the container's first process, once per process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from orchestrator.host import read_counters
from orchestrator.model import Node, Sample


class CgroupCollector:
    name = "cgroup"

    def __init__(self, root: Path) -> None:
        self._root = root
        self._groups: dict[int, dict[str, Path]] = {}

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        for node in nodes:
            if node.process_id is None:
                continue
            groups = self._groups.setdefault(node.process_id, self._find(node.process_id))
            for metric, unit, value in _readings(groups):
                yield Sample(now_s, node.name, metric, unit, value)

    def _find(self, process_id: int) -> dict[str, Path]:
        """Controller → folder. Version 2 has one folder for all, under the key ""."""
        mounts = self._root / "sys/fs/cgroup"
        groups: dict[str, Path] = {}
        for line in (self._root / f"proc/{process_id}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                if (mounts / "cgroup.controllers").exists():
                    groups[""] = mounts / path.lstrip("/")
                continue
            for controller in controllers.split(","):
                groups[controller] = mounts / controller / path.lstrip("/")
        return groups


def _readings(groups: dict[str, Path]) -> Iterable[tuple[str, str, float]]:
    if "cpuacct" in groups:
        usage_ns = int((groups["cpuacct"] / "cpuacct.usage").read_text())
        yield "cpu_seconds_total", "s", usage_ns * 1e-9
        throttling = read_counters(groups["cpu"] / "cpu.stat") if "cpu" in groups else {}
        yield "cpu_throttled_seconds_total", "s", throttling.get("throttled_time", 0) * 1e-9
        memory = groups["memory"]
        yield "memory_used_bytes", "bytes", int((memory / "memory.usage_in_bytes").read_text())
        cache = read_counters(memory / "memory.stat").get("total_cache", 0)
        yield "memory_cache_bytes", "bytes", cache
        return
    group = groups[""]
    cpu = read_counters(group / "cpu.stat")
    yield "cpu_seconds_total", "s", cpu["usage_usec"] * 1e-6
    yield "cpu_throttled_seconds_total", "s", cpu.get("throttled_usec", 0) * 1e-6
    yield "memory_used_bytes", "bytes", int((group / "memory.current").read_text())
    yield "memory_cache_bytes", "bytes", read_counters(group / "memory.stat").get("file", 0)
