"""Kept data sets held to a size (`--cache-max`): the longest unused go, none of this campaign."""

from __future__ import annotations

from pathlib import Path

from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.planning.plan import as_used
from orchestrator.powers import World
from orchestrator.run import datasets
from orchestrator.tiers.common.real import removal
from orchestrator.units import format_bytes


def hold_to(most_bytes: int, plan: Plan, parts: Parts, world: World) -> None:
    """Removes what is ours of the longest unused data sets of the cache until all have no more than
    so many bytes. Those that `plan` starts from stay."""
    used: set[str | None] = set()
    for profile in plan.profiles:
        for workload in plan.workloads:
            own = as_used(profile, workload)
            used.add(datasets.whereabouts(own, workload, plan.seed, parts, world)[0])
    kept = list((world.cache / "datasets").glob(f"*/{datasets.DATASET}"))
    sizes = {file.parent: _disk_bytes(file.parent) for file in kept}
    for file in sorted(kept, key=lambda file: file.stat().st_mtime):
        if sum(sizes.values()) > most_bytes and file.parent.name not in used:
            for gone in removal.here([file.parent], world):
                world.progress.note(f"beyond --cache-max, so removed: {gone}")
            if not file.exists():
                del sizes[file.parent]
    if (left := sum(sizes.values())) > most_bytes:
        world.progress.warn(
            f"kept data sets have {format_bytes(left)}, more than --cache-max: this campaign's stay"
        )


def _disk_bytes(folder: Path) -> int:
    """What it takes of the disk: images have holes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
