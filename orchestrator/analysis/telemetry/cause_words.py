"""Values in the words of a cause's sentences (causes.yaml). Pure."""

from collections.abc import Mapping
from typing import Any

from orchestrator.analysis.telemetry.resources import Values
from orchestrator.keys.strict_yaml import shipped
from orchestrator.units import format_bytes_per_s, format_link_rate, format_number, format_seconds

MEMORY_PRESSURE_PCT = 5.0


def said(name: str, values: Values, **more: object) -> str:
    """The sentences of that name, with these values and parts in their braces."""
    return str(shipped(__package__, "causes.yaml")[name]).format_map({**values, **more})


def table(name: str) -> Mapping[str, Any]:
    """A table: what the program calls something → what a reader does, or what says it."""
    return dict(shipped(__package__, "causes.yaml")[name])


def rate_text(cap: str, values: Values) -> str:
    iops, bytes_per_s = values.get("disk_iops"), values.get("disk_bytes_per_s")
    if cap == "iops":
        return "" if iops is None else f" ({format_number(iops)} IOPS)"
    return "" if bytes_per_s is None else f" ({format_bytes_per_s(bytes_per_s)})"


def link_text(values: Values) -> str:
    sent, received = (values.get(f"network_{way}_bytes_per_s", 0.0) for way in ("sent", "received"))
    packets, again = values.get("network_packets_per_s", 0.0), values.get("sent_again_pct", 0.0)
    way = f"{format_link_rate(sent)} sent, {format_link_rate(received)} received"
    return f"{way}, {format_number(packets)} packets/s, {again:.1f} % of segments sent again"


def wait_text(values: Values) -> str:
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    if await_s is None or not idle_s:
        return ""
    return f", each I/O taking {format_seconds(await_s)} instead of {format_seconds(idle_s)}"


def cap_text(values: Values) -> str:
    known = shares_of(values, "of caps")
    return f" with the disk's {' and '.join(known)} of their caps" if known else ""


def shares_of(values: Values, of: str) -> list[str]:
    """`title 95 %` for each of the values that is there, by the titles `of` something."""
    known = table(of).items()
    return [f"{title} {values[name]:.0f} %" for name, title in known if name in values]


def machine_text(values: Values) -> str:
    apart = values.get("client_machine_cpu_pct")
    if apart is not None:
        client = f"{values.get('client_cpu_pct', 0.0):.0f} % by itself"
        of_node = {name: value for name, value in values.items() if not name.startswith("client_")}
        where = f"{machine_text(of_node)} where the node is"
        return f"{where}, and {apart:.0f} % where the load generator is ({client})"
    used = ", ".join(shares_of(values, "of the machine"))
    busy = values.get("host_cpu_pct")
    if busy is None:
        return f"{used} of the machine's CPU"
    return f"{busy:.0f} % of the machine's CPU busy" + (f" ({used})" if used else "")


def memory_too(values: Values) -> str:
    """A remark beside a cause at the disk: reads may come from too little memory."""
    short = values.get("memory_pressure_pct", 0.0) >= MEMORY_PRESSURE_PCT
    return f" {said('more memory', values)}" if short else ""
