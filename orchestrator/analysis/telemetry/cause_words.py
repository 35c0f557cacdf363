"""Values in the words of a cause's sentences. Pure."""

from collections.abc import Mapping

from orchestrator.analysis.telemetry.resources import Values
from orchestrator.units import format_bytes_per_s, format_link_rate, format_number, format_seconds

MEMORY_PRESSURE_PCT = 5.0


def rate_text(cap: str, values: Values) -> str:
    iops, bytes_per_s = values.get("disk_iops"), values.get("disk_bytes_per_s")
    if cap == "iops":
        return "" if iops is None else f" ({format_number(iops)} IOPS)"
    return "" if bytes_per_s is None else f" ({format_bytes_per_s(bytes_per_s)})"


def link_text(values: Values) -> str:
    sent, received = (values.get(f"network_{way}_bytes_per_s", 0.0) for way in ("sent", "received"))
    again = values.get("sent_again_pct", 0.0)
    return (
        f" ({format_link_rate(sent)} sent, {format_link_rate(received)} received, "
        f"{format_number(values.get('network_packets_per_s', 0.0))} packets/s, {again:.1f} % of "
        "segments sent again)"
    )


def wait_text(values: Values) -> str:
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return ""
    return f", each I/O taking {format_seconds(await_s)} instead of {format_seconds(idle_s)}"


def cap_text(values: Values) -> str:
    titles = {"iops_of_cap_pct": "IOPS at", "bandwidth_of_cap_pct": "bandwidth at"}
    known = shares_of(values, titles)
    return f" with the disk's {' and '.join(known)} of their caps" if known else ""


def shares_of(values: Values, titles: Mapping[str, str]) -> list[str]:
    """`title 95 %` for each of the values that is there."""
    return [f"{title} {values[name]:.0f} %" for name, title in titles.items() if name in values]


def machine_text(values: Values) -> str:
    apart = values.get("client_machine_cpu_pct")
    if apart is not None:
        client = f"{values.get('client_cpu_pct', 0.0):.0f} % by itself"
        of_node = {name: value for name, value in values.items() if not name.startswith("client_")}
        return (
            f"{machine_text(of_node)} where the node is, and {apart:.0f} % where the load "
            f"generator is ({client})"
        )
    titles = {
        "client_cpu_pct": "load generator",
        "disk_server_cpu_pct": "emulated disks",
        "other_cpu_pct": "not ours",
    }
    used = ", ".join(shares_of(values, titles))
    busy = values.get("host_cpu_pct")
    if busy is None:
        return f"{used} of the machine's CPU"
    return f"{busy:.0f} % of the machine's CPU busy" + (f" ({used})" if used else "")


def memory_too(values: Values) -> str:
    """A remark beside a cause at the disk: reads may come from too little memory."""
    pressure = values.get("memory_pressure_pct", 0.0)
    if pressure < MEMORY_PRESSURE_PCT:
        return ""
    return (
        f" More memory would help too: tasks waited for memory {pressure:.0f} % of the time, and "
        "what it cannot hold is read again."
    )
