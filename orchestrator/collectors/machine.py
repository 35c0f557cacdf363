"""CPU and pressure of whole machines, from /proc/stat and /proc/pressure.

On a laptop everything shares these cores, so this shows whether the machine itself was the limit.
Pressure "some": time in which at least one task waited (Documentation/accounting/psi.rst)."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

from orchestrator import model, powers
from orchestrator.collectors.common import node_by_node

_TICK_S = 0.01  # USER_HZ of proc_stat(5)


class _Ticks(NamedTuple):
    """A row of /proc/stat without guests, which user and nice have too (proc_stat(5))."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    @classmethod
    def of(cls, fields: Sequence[str]) -> Self:
        """The times of a CPU, from what stands behind the name of its row."""
        return cls(*[int(field) for field in fields[: len(cls._fields)]])

    @property
    def busy(self) -> int:
        """Time at work, without low priority and steal, which are counted apart."""
        return self.user + self.system + self.irq + self.softirq


_Cores = Mapping[str, _Ticks]


class MachineCollector(node_by_node.OnItsMachine):
    name = "machine"

    def __init__(self, where: node_by_node.Where) -> None:
        super().__init__(where)
        self._cores: dict[str, _Cores] = {}

    def watched(self, node: model.Node) -> bool:
        return node.role == "host"

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[node_by_node.Reading]:
        first, *rest = machine.read("/proc/stat").splitlines()
        ticks = _Ticks.of(first.split()[1:])
        yield "cpu_busy_seconds_total", "s", ticks.busy * _TICK_S
        # Work at low priority gives way to others of its control group. It does not always to other
        # groups: it is counted apart.
        yield "cpu_low_priority_seconds_total", "s", ticks.nice * _TICK_S
        yield "cpu_steal_seconds_total", "s", ticks.steal * _TICK_S
        cores = _cores(rest)
        before = self._cores.get(node.name, {})
        self._cores[node.name] = cores
        # Counters of each core would be a hundred samples a second of a large machine. A thread
        # moves between cores, so growth over a window would not show the busiest one.
        busiest_pct = _busiest_pct(before, cores)
        if busiest_pct is not None:
            yield "busiest_core_pct", "%", busiest_pct
        for resource in ("cpu", "io", "memory"):
            yield from _pressure(machine, resource)


def _cores(lines: Iterable[str]) -> _Cores:
    cores = {}
    for line in lines:
        if line.startswith("cpu"):
            name, *fields = line.split()
            cores[name] = _Ticks.of(fields)
    return cores


def _busiest_pct(before: _Cores, now: _Cores) -> float | None:
    """How busy the busiest core was, in %. None without an earlier reading."""
    busy_pct = []
    for name in before.keys() & now.keys():
        # Steal counts as busy: the core could do no more.
        busy = _with_steal(now[name]) - _with_steal(before[name])
        passed = sum(now[name]) - sum(before[name])
        # A counter that fell, as that of iowait may (proc_stat(5)), tells nothing.
        if passed > 0 and busy >= 0:
            busy_pct.append(100 * busy / passed)
    return max(busy_pct, default=None)


def _with_steal(ticks: _Ticks) -> int:
    return ticks.busy + ticks.steal


def _pressure(machine: powers.Machine, resource: str) -> Iterator[node_by_node.Reading]:
    """Nothing of a kernel without it."""
    with contextlib.suppress(OSError):
        text = machine.read(f"/proc/pressure/{resource}")
        # `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`
        some, _, _ = text.partition("\n")
        total_us = int(some.rpartition("total=")[2])
        yield f"pressure_{resource}_some_seconds_total", "s", total_us * 1e-6
