"""No tier: a plain Docker volume on this machine's own disk, neither limited nor verified.

For looking at a database or a load generator by itself; it says nothing about any disk tier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.model import Gate, Tier, Volume
from orchestrator.protocols import World


class UnlimitedTier:
    name = "none"

    def check(self, tier: Tier, world: World) -> None:
        if tier.iops or tier.bytes_per_s or tier.read_latency_s or tier.write_latency_s:
            raise UsageError(
                f"{tier.name}: `enforcement: none` enforces no limit, but limits are declared",
                advice="take the limits out, or use `enforcement: emulated`",
            )

    def keeps_images(self, tier: Tier) -> bool:
        return False

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        return None  # nothing is measured

    def facts(self) -> Mapping[str, Any]:
        return {"mechanism": "none: this machine's own disk, its page cache included"}

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        with ExitStack() as up:
            names = [f"tierbench-node-{number}" for number in range(1, len(sizes_bytes) + 1)]
            for name in names:
                up.enter_context(world.containers.volume(name, "", ""))
            yield tuple(Volume(name, "", restored=False) for name in names)

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        raise NotImplementedError("a plain volume keeps no images; keeps_images() says so")
        yield

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return Gate(tier=tier.name, taken_s=world.clock.now(), checks=())
