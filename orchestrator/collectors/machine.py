"""CPU and pressure of whole machines, from /proc/stat and /proc/pressure.

On a laptop everything shares these cores, so this shows whether the machine itself was the limit.
/proc/stat counts in ticks of 1/100 s (USER_HZ). Pressure "some": time in which at least one task
waited (Documentation/accounting/psi.rst); a kernel without it gives no such sample.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from orchestrator.collectors.common import local
from orchestrator.model import Node
from orchestrator.powers import Machine

_TICK_S = 0.01


class MachineCollector(local.OnItsMachine):
    name = "machine"

    def watched(self, node: Node) -> bool:
        return node.role == "host"

    def readings(self, machine: Machine, _: Node) -> Iterable[local.Reading]:
        first = machine.read("/proc/stat").split("\n", 1)[0].split()[1:]
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, first[:8])
        yield "cpu_busy_seconds_total", "s", (user + nice + system + irq + softirq) * _TICK_S
        yield "cpu_steal_seconds_total", "s", steal * _TICK_S
        for resource in ("cpu", "io", "memory"):
            with contextlib.suppress(OSError):
                text = machine.read(f"/proc/pressure/{resource}")
                total_us = int(text.split("\n", 1)[0].rpartition("total=")[2])
                yield f"pressure_{resource}_some_seconds_total", "s", total_us * 1e-6
