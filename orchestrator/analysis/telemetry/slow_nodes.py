"""A node whose disk is slower than those of its peers, whatever its share of a cap. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from orchestrator.analysis.telemetry.bottleneck_words import nearest_cap
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.units import format_number, format_seconds

SLOWER = 3.0  # times its peers' time of an I/O
OVER_IDLE = 2.0  # times the idle disk's latency, which an emulated or a checked disk has
MORE = 1.25  # times its peers' IOPS: a node that does more may be slow for that
BUSY_PCT = 70.0  # of the time an I/O is under way
NEAR_CAP_PCT = 80.0  # from here on it may be its cap that makes it slow


def slow_node(by_node: Mapping[str, Values]) -> tuple[str, str]:
    """The node, and what a database administrator reads of it; empty if there is none."""
    for name, own in by_node.items():
        peers = [values for other, values in by_node.items() if other != name]
        if text := _beside(name, own, peers):
            return name, text
    return "", ""


def _beside(name: str, own: Values, peers: list[Values]) -> str:
    awaits = [values["disk_await_s"] for values in peers if "disk_await_s" in values]
    if not awaits or "disk_await_s" not in own:
        return ""
    await_s, usual_s = own["disk_await_s"], median(awaits)
    iops, usual = own.get("disk_iops", 0.0), median(v.get("disk_iops", 0.0) for v in peers)
    slower = await_s >= SLOWER * usual_s and await_s >= OVER_IDLE * own.get(
        "idle_disk_latency_s", 0.0
    )
    busy = own.get("disk_busy_pct", 0.0) >= BUSY_PCT and nearest_cap(own) < NEAR_CAP_PCT
    if not (slower and busy and iops <= MORE * usual):
        return ""
    return (
        f"Each I/O on {name} takes {format_seconds(await_s)}, on the other nodes "
        f"{format_seconds(usual_s)}, though it does no more of them ({format_number(iops)} IOPS, "
        f"the others {format_number(usual)}). Its disk or its machine is slow, and the cluster "
        "waits for it: mend or replace it, then measure again."
    )
