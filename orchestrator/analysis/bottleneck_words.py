"""How the figures behind a cause are put into words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchestrator.units import format_seconds

Figures = Mapping[str, float]


def nearest_cap(figures: Figures) -> float:
    return max(figures.get("iops_of_cap_pct", 0.0), figures.get("bandwidth_of_cap_pct", 0.0))


def rate_of(name: str, figures: Figures, words: Callable[[float], str], unit: str) -> str:
    return f" ({words(figures[name])}{unit})" if name in figures else ""


def burst_word(figures: Figures) -> str:
    return "burst's " if figures.get("burst_credit_left_pct", 0.0) > 0 else ""


def wait_text(figures: Figures) -> str:
    await_s, idle_s = figures.get("disk_await_s"), figures.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return ""
    return f", each I/O taking {format_seconds(await_s)} instead of {format_seconds(idle_s)}"


def cap_text(figures: Figures) -> str:
    parts = (("IOPS", "iops_of_cap_pct"), ("bandwidth", "bandwidth_of_cap_pct"))
    known = [f"{name} at {figures[key]:.0f} %" for name, key in parts if key in figures]
    return f" with the disk's {' and '.join(known)} of their caps" if known else ""


def machine_text(figures: Figures) -> str:
    parts = (
        ("load generator", "client_cpu_pct"),
        ("emulated disks", "disk_server_cpu_pct"),
        ("not ours", "other_cpu_pct"),
    )
    used = [f"{name} {figures[key]:.0f} %" for name, key in parts if key in figures]
    whole = figures.get("host_cpu_pct")
    if whole is None:
        return f"{', '.join(used)} of the machine's CPU"
    return f"{whole:.0f} % of the machine's CPU busy" + (f" ({', '.join(used)})" if used else "")


def memory_too(figures: Figures, least_pct: float) -> str:
    """Beside a cause at the disk: reads that come of too little memory are both."""
    pressure = figures.get("memory_pressure_pct", 0.0)
    if pressure < least_pct:
        return ""
    return (
        f" More memory would help too: tasks waited for memory {pressure:.0f} % of the time, and "
        "what it cannot hold is read again."
    )
