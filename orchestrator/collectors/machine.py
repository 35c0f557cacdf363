"""CPU and pressure of whole machines, from /proc/stat and /proc/pressure.

On a laptop everything shares these cores, so this shows whether the machine itself was the limit.
/proc/stat counts in ticks of 1/100 s (USER_HZ). What works at low priority ("nice") gives way
to others of its control group, but not always to those of other groups: it is counted apart. Of its
cores only the busiest since the last reading is kept, as a gauge: counters of each would be a
hundred samples a second of a large machine, and a thread moves between cores, so the growth over a
window would not show it.
Pressure "some": time in which at least one task waited (Documentation/accounting/psi.rst); a kernel
without it gives no such sample."""

import contextlib
from collections.abc import Iterable

from orchestrator import model, powers
from orchestrator.collectors.common import local

_TICK_S = 0.01
_Cores = dict[str, tuple[int, int]]  # a core's name → its busy ticks, and all


class MachineCollector(local.OnItsMachine):
    name = "machine"

    def __init__(self, where: local.Where) -> None:
        super().__init__(where)
        self._cores: dict[str, _Cores] = {}

    def watched(self, node: model.Node) -> bool:
        return node.role == "host"

    def readings(
        self, machine: powers.Machine, node: model.Node
    ) -> Iterable[local.Reading]:
        first, *rest = machine.read("/proc/stat").splitlines()
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(
            int, first.split()[1:9]
        )
        yield "cpu_busy_seconds_total", "s", (user + system + irq + softirq) * _TICK_S
        yield "cpu_low_priority_seconds_total", "s", nice * _TICK_S
        yield "cpu_steal_seconds_total", "s", steal * _TICK_S
        cores: _Cores = {}
        for name, *ticks in (line.split() for line in rest if line.startswith("cpu")):
            counts = [int(tick) for tick in ticks[:8]]
            user, _nice, system, _idle, _iowait, *interrupts_and_steal = counts
            cores[name] = user + system + sum(interrupts_and_steal), sum(counts)
        before = self._cores.get(node.name, {})
        self._cores[node.name] = cores
        shared = {name: cores[name] for name in cores if name in before}
        busiest_pct = _grown_most_pct(before, shared)
        if busiest_pct is not None:
            yield "busiest_core_pct", "%", busiest_pct
        for resource in ("cpu", "io", "memory"):
            with contextlib.suppress(OSError):
                text = machine.read(f"/proc/pressure/{resource}")
                total_us = int(text.split("\n", 1)[0].rpartition("total=")[2])
                yield f"pressure_{resource}_some_seconds_total", "s", total_us * 1e-6


def _grown_most_pct(before: _Cores, now: _Cores) -> float | None:
    """Steal counts as busy: the core could do no more. None without an earlier reading."""
    grown = (
        (busy - before[n][0], every - before[n][1]) for n, (busy, every) in now.items()
    )
    return max(
        (100 * busy / every for busy, every in grown if every > 0 <= busy), default=None
    )
