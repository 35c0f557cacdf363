"""CPU and memory of each container, from its control group (version 1 or 2)."""

import re
from collections.abc import Iterable, Mapping
from functools import partial

from orchestrator import model, powers
from orchestrator.collectors.common import local
from orchestrator.kernel import containers
from orchestrator.platforms.common.machines import text_of

_MOUNTS = "/sys/fs/cgroup"
_COUNTER = re.compile(r"^(\S+) (\d+)$", re.MULTILINE)


class CgroupCollector(local.OnItsMachine):
    name = "cgroup"

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[local.Reading]:
        groups = _folders(machine, node)
        read = machine.read
        counters = partial(_counters, machine)
        if "cpuacct" in groups:
            usage_ns = int(read(f"{groups['cpuacct']}/cpuacct.usage"))
            yield "cpu_seconds_total", "s", usage_ns * 1e-9
            if "cpu" in groups:
                throttling = counters(f"{groups['cpu']}/cpu.stat")
            else:
                throttling = {}
            yield (
                "cpu_throttled_seconds_total",
                "s",
                throttling.get("throttled_time", 0) * 1e-9,
            )
            yield from _periods(throttling)
            memory = groups["memory"]
            yield (
                "memory_used_bytes",
                "bytes",
                int(read(f"{memory}/memory.usage_in_bytes")),
            )
            cache = counters(f"{memory}/memory.stat").get("total_cache", 0)
            yield "memory_cache_bytes", "bytes", cache
            return
        group = groups[""]
        cpu = counters(f"{group}/cpu.stat")
        yield "cpu_seconds_total", "s", cpu["usage_usec"] * 1e-6
        yield "cpu_throttled_seconds_total", "s", cpu.get("throttled_usec", 0) * 1e-6
        yield from _periods(cpu)
        yield "memory_used_bytes", "bytes", int(read(f"{group}/memory.current"))
        yield (
            "memory_cache_bytes",
            "bytes",
            counters(f"{group}/memory.stat").get("file", 0),
        )


def _folders(machine: powers.Machine, node: model.Node) -> dict[str, str]:
    """Controller → folder. Version 2 has one folder for all controllers, under the key ""."""
    # Read, not looked for: files are read all at once.
    unified = text_of(machine, f"{_MOUNTS}/cgroup.controllers")
    return {
        controller: "/".join(part for part in (_MOUNTS, controller, group) if part)
        for controller, group in containers.groups(machine, node).items()
        if controller or unified
    }


def _periods(cpu: Mapping[str, int]) -> Iterable[local.Reading]:
    """Periods of its CPU quota in which it ran, and those in which it used the quota up; none
    without a quota. Throttled time is a sum over cores, so only their ratio is a share."""
    if cpu.get("nr_periods"):
        yield "cpu_periods_total", "", cpu["nr_periods"]
        yield "cpu_throttled_periods_total", "", cpu.get("nr_throttled", 0)


def _counters(machine: powers.Machine, file: str) -> Mapping[str, int]:
    """A `key value` file such as cpu.stat or memory.stat."""
    return {name: int(count) for name, count in _COUNTER.findall(machine.read(file))}
