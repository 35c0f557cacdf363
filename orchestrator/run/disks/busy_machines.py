"""Whether a machine was too busy during a gate: then not the disk, but the machine, may have failed
it. The figures are among what a gate says of its device, as `host_load` of emulated disks and the
truth gate write them."""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.tier import Gate

# IOPS were up to 47 % too low with all cores busy (docs/research/DISKS.md).
BUSY_CPU_PCT = 90.0
# Sleeps end 50 to 150 µs late by themselves (docs/research/DISKS.md).
LATE_S = 150e-6
OVER_PCT = 20.0
_LOAD = ("host_cpu_pct", "late_s", "over_pct")


def worst(devices: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The highest of each figure of `since`, of several gates."""
    highest: dict[str, float] = {}
    for device in devices:
        for name in _LOAD:
            if name in device:
                highest[name] = max(highest.get(name, 0.0), device[name])
    return highest


def reasons(gate: Gate) -> tuple[str, ...]:
    """Why this machine, and not the disk, may have failed the gate. Empty if it was calm."""
    cpu_pct = gate.facts.host_cpu_pct or 0.0
    late_s = gate.facts.late_s or 0.0
    over_pct = gate.facts.over_pct or 0.0
    texts: list[str] = []
    if cpu_pct > BUSY_CPU_PCT:
        texts.append(f"its CPUs were {cpu_pct:.0f} % busy")
    if late_s > LATE_S:
        texts.append(
            "the threads that answer for the disk woke "
            f"{late_s * 1000000.0:.0f} µs late on average"
        )
    if over_pct > OVER_PCT:
        texts.append(
            f"for {over_pct:.0f} % of requests the host itself was slower than the tier"
        )
    return tuple(texts)
