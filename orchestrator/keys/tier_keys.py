"""Which keys of a tier belong to which enforcement. Pure.

A key that its kind of disk does not use is refused: who wrote `path` believes that the disk there
was measured, and without `enforcement: mounted` it would have been an emulated one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.keys.schema import Mechanism
from orchestrator.tier import Cgroup, DiskKind, Latencies, Tier

_JUDGED: tuple[DiskKind, ...] = ("emulated", "mounted", "storage-class", "existing")
_DECLARED: tuple[DiskKind, ...] = ("emulated", "cgroup", "mounted", "storage-class", "existing")
_AT_A_PATH: tuple[DiskKind, ...] = ("mounted", "cgroup")

# Key → the kinds that use it; all others are used by every kind. Control groups hold rates alone,
# and only `mounted` asks a cloud.
_USED_BY: Mapping[str, tuple[DiskKind, ...]] = {
    **dict.fromkeys(("type", "iops", "throughput"), _DECLARED),
    **dict.fromkeys(("read_latency", "write_latency", "burst", "io_unit"), _JUDGED),
    **dict.fromkeys(("burst_time_scale", "recorded"), ("emulated",)),
    **dict.fromkeys(("storage_class", "size", "allow_retained_volumes"), ("storage-class",)),
    **dict.fromkeys(("path", "disks", "allow_root_disk"), _AT_A_PATH),
    **dict.fromkeys(("file_system", "mount_options"), _AT_A_PATH),
    "snapshots": (*_AT_A_PATH, "storage-class"),
    "cloud": ("mounted",),
}
_OF_DISKS = ("file_system", "mount_options", "allow_root_disk", "snapshots")


def mistakes(
    tier: Mapping[str, Any], mechanism: Mechanism, on_real_disks: bool
) -> Iterator[tuple[str, str]]:
    """Key → what is wrong with it, of the keys that a profile gives its `tier`."""
    kind, here = mechanism.kind, f"here it is `{mechanism.name}`"
    for key, value in tier.items():
        users = _USED_BY.get(key)
        if value is None or users is None or (key == "size" and "type" in tier):
            continue  # the size of a row is what is bought
        if kind not in users:
            at_a_path = key in ("path", "disks") and kind != "existing"
            instead = "write `enforcement: mounted` to measure the disk there, or leave it out"
            yield (
                key,
                f"is of `enforcement: {_either(users)}; {here}, which does not use it: "
                f"{instead if at_a_path else 'leave it out'}",
            )
        elif kind == "cgroup" and key in _OF_DISKS and not on_real_disks:
            yield key, f"is of a real disk, and {here} on a file: name it under `disks` or `path`"


def _either(kinds: tuple[DiskKind, ...]) -> str:
    *most, last = (f"{kind}`" for kind in kinds)
    return f"{', `'.join(most)} or `{last}" if most else last


def unused_by(kind: DiskKind) -> tuple[str, ...]:
    """The keys that it does not use."""
    return tuple(key for key, users in _USED_BY.items() if kind not in users)


def as_held(tier: Tier) -> Tier:
    """Without what a control group does not hold, which a catalog row or a VM brings along: burst
    and latency; and it counts a request once, however large."""
    if not isinstance(tier.disk, Cgroup):
        return tier
    rates = replace(tier.limits, burst=None, io_unit_bytes=2**30)
    return replace(tier, limits=rates, latency=Latencies(model=tier.latency.model))
