"""Where containers run, for what can be done on one machine only, or only on this computer."""

from __future__ import annotations

from orchestrator.errors import UnavailableError
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.units import listed


def is_here(world: World) -> bool:
    """Whether containers run on this computer, and nowhere else."""
    return world.platform.folder(world.cache) == world.cache


def require_here(what: str, world: World) -> None:
    """UnavailableError if containers run elsewhere; `what`: "`disk up` mounts a disk"."""
    if is_here(world):
        return
    names = listed([machine.name for machine in world.platform.machines()])
    raise UnavailableError(
        f"{what} on the computer it is started on, but containers run on {names}",
        advice="start this program there, or let it use an engine of this computer",
    )


def require_one_machine(tier: Tier, world: World) -> None:
    """UnavailableError for real disks if nodes are spread over several machines: they are looked
    for and made ready on one."""
    names = [machine.name for machine in world.platform.machines()]
    if len(names) > 1:
        raise UnavailableError(
            f"{tier.name} names disks by their paths on one machine, but nodes are spread over "
            f"{listed(names)}",
            advice="take `enforcement: storage-class` on Kubernetes, or `existing` for a cluster "
            "that runs already; an engine with one machine can use disks by path",
        )
