"""CPU and memory of each container, from its control group (version 1 or 2)."""

import re
from collections.abc import Iterable, Iterator, Mapping

from orchestrator import model, powers
from orchestrator.collectors.common import node_by_node
from orchestrator.kernel import containers
from orchestrator.platforms.common.machine_facts import text_of

_MOUNTS = "/sys/fs/cgroup"
_COUNTER = re.compile(r"^(\S+) (\d+)$", re.MULTILINE)


class CgroupCollector(node_by_node.OnItsMachine):
    name = "cgroup"

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[node_by_node.Reading]:
        folders = _folders(machine, node)
        if "cpuacct" in folders:
            return _version_1(machine, folders)
        return _version_2(machine, folders[""])


def _version_1(
    machine: powers.Machine, folders: Mapping[str, str]
) -> Iterator[node_by_node.Reading]:
    usage_ns = int(machine.read(f"{folders['cpuacct']}/cpuacct.usage"))
    yield "cpu_seconds_total", "s", usage_ns * 1e-9
    cpu: Mapping[str, int] = {}
    if "cpu" in folders:
        cpu = _counters(machine, f"{folders['cpu']}/cpu.stat")
    # Version 1 counts in nanoseconds, version 2 in microseconds.
    throttled_ns = cpu.get("throttled_time", 0)
    yield "cpu_throttled_seconds_total", "s", throttled_ns * 1e-9
    yield from _periods(cpu)
    memory = folders["memory"]
    used_bytes = int(machine.read(f"{memory}/memory.usage_in_bytes"))
    yield "memory_used_bytes", "bytes", used_bytes
    statistics = _counters(machine, f"{memory}/memory.stat")
    yield "memory_cache_bytes", "bytes", statistics.get("total_cache", 0)


def _version_2(machine: powers.Machine, folder: str) -> Iterator[node_by_node.Reading]:
    cpu = _counters(machine, f"{folder}/cpu.stat")
    yield "cpu_seconds_total", "s", cpu["usage_usec"] * 1e-6
    throttled_us = cpu.get("throttled_usec", 0)
    yield "cpu_throttled_seconds_total", "s", throttled_us * 1e-6
    yield from _periods(cpu)
    used_bytes = int(machine.read(f"{folder}/memory.current"))
    yield "memory_used_bytes", "bytes", used_bytes
    statistics = _counters(machine, f"{folder}/memory.stat")
    yield "memory_cache_bytes", "bytes", statistics.get("file", 0)


def _folders(machine: powers.Machine, node: model.Node) -> dict[str, str]:
    """Controller → folder. Version 2 has one folder for all controllers, under the key ""."""
    # Read, not looked for: an agent brings all files of a tick in one answer.
    unified = text_of(machine, f"{_MOUNTS}/cgroup.controllers")
    folders = {}
    for controller, group in containers.groups(machine, node).items():
        # Version 2 is mounted elsewhere beside version 1 (hybrid), without these controllers.
        if controller or unified:
            parts = [part for part in (_MOUNTS, controller, group) if part]
            folders[controller] = "/".join(parts)
    return folders


def _periods(cpu: Mapping[str, int]) -> Iterable[node_by_node.Reading]:
    """The periods in which the group ran, and the periods in which it used up its CPU quota.
    Nothing without a quota."""
    # Throttled time is a sum over cores: only the ratio of these is a share of the time.
    if cpu.get("nr_periods"):
        yield "cpu_periods_total", "", cpu["nr_periods"]
        yield "cpu_throttled_periods_total", "", cpu.get("nr_throttled", 0)


def _counters(machine: powers.Machine, file: str) -> Mapping[str, int]:
    """A `key value` file such as cpu.stat or memory.stat."""
    counters: dict[str, int] = {}
    for name, count in _COUNTER.findall(machine.read(file)):
        counters[name] = int(count)
    return counters
