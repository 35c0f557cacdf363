"""Changes limits of emulated disks while a run uses them, and has the run's record say so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.cli.app import App
from orchestrator.errors import UsageError
from orchestrator.system import store
from orchestrator.tiers import emulated
from orchestrator.tiers.common.emulated import disk_server


def set_limits(
    app: App, run: str, limits: Mapping[str, float], results: Path
) -> Mapping[str, float]:
    """Changes limits of the emulated disks of the run that is going on; returns what they enforce.

    The change is written beside the run's raw files and becomes part of its record. UsageError
    if that run is not going on or has no such disks.
    """
    folder = store.unfinished_run(results, run)
    campaign = store.load(folder.parent.parent, tables=False).plan
    world = app.world(campaign.platform, campaign.placing)
    running = world.platform.guard.other()
    if running is None:
        raise UsageError(
            f"the campaign of {folder.name} is not running: no disk has limits to change",
            advice="start one; `tierbench tiers set` works while a run warms up or measures",
        )
    world.platform.campaign = running  # its containers are looked for, where it has its own
    disks = disk_server.running_disks(world)
    if not disks:
        raise UsageError(
            f"{folder.name} has no emulated disk at this moment",
            advice="try again when it measures; other tiers' limits cannot be changed",
        )
    if not store.limit_changes(folder) and emulated.any_lifted(disks, world):
        raise UsageError(
            f"the limits of {folder.name} are lifted at this moment, as nothing is measured",
            advice="try again in its warm-up or window",
        )

    def keep(disk: str, verb: str, changed: Mapping[str, float]) -> None:
        change = {"time_s": world.clock.now(), "disk": disk, verb: dict(changed)}
        store.keep_limit_change(folder, change)

    return emulated.change_all(disks, limits, keep, world)
