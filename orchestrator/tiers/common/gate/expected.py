"""What a tier lets through: the lowest of its caps, and what the requests in flight can reach.

One disk has several limits at once. 120 IOPS are 8.3 ms a request at depth 1 whatever its latency,
6 MB/s are 1,465 requests of 4 KiB a second whatever its IOPS, and 128 requests in flight at 25 ms
are 5,120 a second whatever both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from orchestrator.planning.latency_quantiles import mean_s
from orchestrator.tier import Quantiles, Tier
from orchestrator.units import format_bytes_per_s, format_seconds

Way = Literal["read", "write"]

MAX_DEPTH = 128  # what a loop device queues
_DEPTH_RESERVE = 4
_ALIKE = 0.01
_UNHURRIED = 0.5  # of the cap's rate: a lone request then never waits for the cap


def latency_s(tier: Tier, way: Way) -> float | None:
    """The latency to judge by; None for a real disk whose provider promises none."""
    if tier.disk.is_real and way in tier.latency.assumed:
        return None
    return tier.latency.read_s if way == "read" else tier.latency.write_s


def quantiles(tier: Tier, way: Way) -> Quantiles | None:
    """What the latency of each request is drawn from; None if it is constant."""
    model = tier.latency.model
    return None if model is None else (model.read if way == "read" else model.write)


def _average_s(tier: Tier, way: Way) -> float | None:
    """The mean latency: what Little's law is about. Of a constant one it is the same."""
    table = quantiles(tier, way)
    return latency_s(tier, way) if table is None else mean_s(table)


def cap_per_s(tier: Tier, block_bytes: int) -> float | None:
    """Requests of this size a second that the caps let through; None without a cap. An I/O beyond
    the tier's unit counts as several."""
    per_io = -(-block_bytes // tier.limits.io_unit_bytes)
    caps = [tier.limits.iops / per_io] if tier.limits.iops else []
    caps += [tier.limits.bytes_per_s / block_bytes] if tier.limits.bytes_per_s else []
    return min(caps, default=None)


def reach_per_s(tier: Tier, depth: int, read_share: float) -> float | None:
    """Requests a second that `depth` in flight can make by Little's law; None if not known."""
    shares: dict[Way, float] = {"read": read_share, "write": 1 - read_share}
    latencies_s = [(share, _average_s(tier, way)) for way, share in shares.items() if share]
    if any(latency is None for _, latency in latencies_s):
        return None
    mean_s = sum(share * (latency or 0.0) for share, latency in latencies_s)
    return depth / mean_s if mean_s else None


def at_peak(tier: Tier) -> Tier | None:
    """The tier while it has burst credit; None without burst."""
    limits = tier.limits
    if limits.burst is None:
        return None
    peak = replace(
        limits,
        iops=limits.burst.iops or limits.iops,
        bytes_per_s=limits.burst.bytes_per_s or limits.bytes_per_s,
    )
    return replace(tier, limits=peak)


def depth(tier: Tier, block_bytes: int = 4096, least: int = 32) -> int:
    """The queue depth that reaches the caps through the latency, with reserve."""
    slowest_s = max(_average_s(tier, "read") or 0.0, _average_s(tier, "write") or 0.0)
    needed = _DEPTH_RESERVE * (cap_per_s(tier, block_bytes) or 0.0) * slowest_s
    return int(min(MAX_DEPTH, max(least, needed)))


def pause_s(tier: Tier, block_bytes: int = 4096) -> float:
    """The pause between single requests in which no cap holds them up; 0 if latency is enough."""
    cap = cap_per_s(tier, block_bytes)
    if cap is None:
        return 0.0
    needed_s = 1 / (_UNHURRIED * cap)
    alone_s = min(latency_s(tier, "read") or 0.0, latency_s(tier, "write") or 0.0)
    return 0.0 if alone_s >= needed_s else needed_s


def bound_by_depth(tier: Tier, depth: int, read_share: float) -> str:
    """The limit in a few words: `128 in flight at 25 ms`."""
    mean_s = depth / (reach_per_s(tier, depth, read_share) or 1.0)
    return f"{depth} in flight at {format_seconds(mean_s)}"


def bound_by_bytes(tier: Tier, block_bytes: int) -> str:
    """The limit in a few words if bytes/s and not IOPS are the cap at this size; else ""."""
    rate = tier.limits.bytes_per_s
    binds = tier.limits.iops and rate and rate / block_bytes < (1 - _ALIKE) * tier.limits.iops
    return f"{format_bytes_per_s(rate)} bind" if rate and binds else ""
