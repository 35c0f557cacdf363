"""The disks of a cluster that others run: they are neither made, limited nor verified here.

The profile declares what was bought; what the disks did is in the telemetry of their machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.model import Gate
from orchestrator.parts import Disks
from orchestrator.powers import World
from orchestrator.tier import DiskKind, Tier


class ExistingTier:
    name = "existing"
    kind: DiskKind = "existing"

    def check(self, tier: Tier, world: World) -> None:
        """Nothing can be checked: declared limits are not enforced here."""

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], snapshots: Sequence[Path] | None, world: World
    ) -> Iterator[Disks]:
        facts = {"mechanism": "existing: the cluster's own disks, as declared, not verified here"}
        yield Disks((), facts)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return Gate(tier=tier.name, taken_s=world.clock.now(), checks=())
