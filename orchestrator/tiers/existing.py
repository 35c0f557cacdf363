"""The disks of a cluster that others run: neither made, limited nor verified here.

The profile declares what was bought; what the disks did is in the telemetry of their machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.model import Gate, Tier, Volume
from orchestrator.protocols import World


class ExistingTier:
    name = "existing"

    def check(self, tier: Tier, world: World) -> None:
        """Whatever is declared is only declared."""

    def keeps_images(self, tier: Tier) -> bool:
        return False

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        return None  # nothing is measured

    def facts(self) -> Mapping[str, Any]:
        return {"mechanism": "existing: the cluster's own disks, as declared, not verified here"}

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        yield ()

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        raise NotImplementedError("others' disks keep no images; keeps_images() says so")
        yield

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return Gate(tier=tier.name, taken_s=world.clock.now(), checks=())
