"""The values behind a cause, in words. Pure."""

from __future__ import annotations

from orchestrator.analysis.telemetry.resources import Values
from orchestrator.units import format_bytes_per_s, format_number, format_seconds

NO_FASTER_DISK = "A faster disk would not."


def nearest_cap(values: Values) -> float:
    return max(values.get("iops_of_cap_pct", 0.0), values.get("bandwidth_of_cap_pct", 0.0))


def rate_text(cap: str, values: Values) -> str:
    iops, bytes_per_s = values.get("disk_iops"), values.get("disk_bytes_per_s")
    if cap == "iops":
        return "" if iops is None else f" ({format_number(iops)} IOPS)"
    return "" if bytes_per_s is None else f" ({format_bytes_per_s(bytes_per_s)})"


def burst_word(values: Values) -> str:
    return "burst's " if values.get("burst_credit_left_pct", 0.0) > 0 else ""


def wait_text(values: Values) -> str:
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return ""
    return f", each I/O taking {format_seconds(await_s)} instead of {format_seconds(idle_s)}"


def cap_text(values: Values) -> str:
    parts = (("IOPS", "iops_of_cap_pct"), ("bandwidth", "bandwidth_of_cap_pct"))
    known = [f"{name} at {values[key]:.0f} %" for name, key in parts if key in values]
    return f" with the disk's {' and '.join(known)} of their caps" if known else ""


def machine_text(values: Values) -> str:
    parts = (
        ("load generator", "client_cpu_pct"),
        ("emulated disks", "disk_server_cpu_pct"),
        ("not ours", "other_cpu_pct"),
    )
    apart = values.get("client_machine_cpu_pct")
    if apart is not None:
        client = f"{values.get('client_cpu_pct', 0.0):.0f} % by itself"
        of_node = {name: value for name, value in values.items() if not name.startswith("client_")}
        return (
            f"{machine_text(of_node)} where the node is, and {apart:.0f} % where the load "
            f"generator is ({client})"
        )
    used = [f"{name} {values[key]:.0f} %" for name, key in parts if key in values]
    whole = values.get("host_cpu_pct")
    if whole is None:
        return f"{', '.join(used)} of the machine's CPU"
    return f"{whole:.0f} % of the machine's CPU busy" + (f" ({', '.join(used)})" if used else "")


def memory_too(values: Values, least_pct: float) -> str:
    """A remark beside a cause at the disk: reads may come from too little memory."""
    pressure = values.get("memory_pressure_pct", 0.0)
    if pressure < least_pct:
        return ""
    return (
        f" More memory would help too: tasks waited for memory {pressure:.0f} % of the time, and "
        "what it cannot hold is read again."
    )
