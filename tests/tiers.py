"""Tiers for tests, by the keys that result files have: most tests are about one or two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.tier import DISKS, Latencies, Limits, Tier

_LIMITS = ("iops", "bytes_per_s", "burst", "io_unit_bytes")
_LATENCY = {
    "read_latency_s": "read_s",
    "write_latency_s": "write_s",
    "latency_assumed": "assumed",
    "read_latency_measured": "read_measured",
    "write_latency_measured": "write_measured",
    "latency_model": "model",
}
_OF_TIER = ("name", "title", "price", "wal", "machine")
_ORIGIN = (
    "catalog_type",
    "source",
    "as_of",
    "notes",
    "vm_caps",
    "product",
    "bought_iops",
    "bought_bytes_per_s",
)


def a_tier(
    name: str,
    title: str,
    enforcement: Any,
    iops: int | None,
    bytes_per_s: int | None,
    read_latency_s: float | None = None,
    write_latency_s: float | None = None,
    **more: Any,
) -> Tier:
    """`like`: the kind of disk, if the mechanism has another name."""
    disk = DISKS[more.pop("like", None) or enforcement](enforcement=enforcement)
    limits, latency = (
        Limits(iops, bytes_per_s),
        Latencies(read_latency_s, write_latency_s),
    )
    return changed(Tier(name, title, limits, disk, latency), **more)


def changed(tier: Tier, **more: Any) -> Tier:
    """The tier with other values of these keys."""
    limits = {key: more.pop(key) for key in _LIMITS if key in more}
    latency = {name: more.pop(key) for key, name in _LATENCY.items() if key in more}
    origin = {key: more.pop(key) for key in _ORIGIN if key in more}
    if more.keys() & {"enforcement", "like"}:
        enforcement = more.pop("enforcement", tier.disk.enforcement)
        kind = more.pop("like", None) or enforcement
        tier = replace(tier, disk=DISKS[kind](enforcement=enforcement))
    own = {key: more.pop(key) for key in _OF_TIER if key in more}
    return replace(
        tier,
        **own,
        limits=replace(tier.limits, **limits),
        latency=replace(tier.latency, **latency),
        origin=replace(tier.origin, **origin),
        disk=replace(tier.disk, **more),
    )
