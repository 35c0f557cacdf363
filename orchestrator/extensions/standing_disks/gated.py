"""A disk that is put up, and measured first if that is asked for."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from orchestrator import powers
from orchestrator.extensions.standing_disks import standing
from orchestrator.parts import Disks
from orchestrator.tier import Gate, Tier
from orchestrator.tiers.common.emulated import limit_changes, server_limits
from orchestrator.tiers.common.emulated.standing_notes import StandingDisk
from orchestrator.tiers.common.gate import truth_gate


def put_up(
    disk: StandingDisk,
    tier: Tier,
    gate: bool,
    world: powers.World,
    take: Callable[..., Gate] = truth_gate.take,
) -> Gate | None:
    """Puts the disk up; measures it first if `gate` says so."""
    limits = server_limits.limits_of(tier)
    base = limits
    if gate:
        # The check is without bursts: fio would measure how full the bucket is, and not the limit.
        base = server_limits.limits_of(tier.without_burst())
    burst = {key: limits[key] for key in limits if key not in base}
    # If the check cannot be made all is taken down again; a disk that fails it stays.
    with standing.put_up(disk, base, world, tier.latency.model) as disks:
        if not gate:
            return None
        measured = _measured_in_folder(disk, disks, partial(take, tier), world)
        if burst:
            # The burst is allowed only now, so that fio has spent none of the credit.
            limit_changes.change(disk.container, burst, world)
    return measured


def _measured_in_folder(
    disk: StandingDisk,
    disks: Disks,
    take: Callable[[Disks, powers.World], Gate],
    world: powers.World,
) -> Gate:
    """The gate, in a folder of its own: the disk may hold a user's data, which are not touched."""
    (volume,) = disks.volumes
    folder = f"{disk.at}/tierbench-gate"
    inside = replace(disks, volumes=(replace(volume, name=folder),))
    try:
        return take(inside, world)
    finally:
        world.shell.run(("rm", "-rf", "--", folder), timeout_s=60)
