"""The do-nothing tier: no disk is made, no limit enforced, nothing verified (for rehearsals)."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.design.rehearsal import WARNING, Model
from orchestrator.keys.schema import DRY
from orchestrator.model import Volume
from orchestrator.parts import Disks, KeptData, NodesData, TierAbilities, TierMechanism
from orchestrator.powers import World
from orchestrator.system import files
from orchestrator.tier import DiskKind, Tier
from orchestrator.tiers.common.emulated import disk_files


class DryTier(TierMechanism):
    """Volumes that are only names: each name describes its made-up disk."""

    name: str = DRY
    kind: DiskKind = DRY

    @property
    def abilities(self) -> TierAbilities:
        kept_data = KeptData(
            self.snapshots,
            self.loading,
            are_there=disk_files.are_there,
            are_on_nodes=disk_files.are_on_nodes,
            discard=disk_files.discard,
        )
        return TierAbilities(kept_data=kept_data)

    snapshots = staticmethod(disk_files.snapshots)

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        # The name carries the made-up disk to the made-up load, which has nothing else of the tier.
        volume = Volume(str(Model.of_tier(tier)), "", restored=bool(data.snapshots))
        yield Disks((volume,) * len(data.sizes_bytes), {"mechanism": WARNING})

    @contextmanager
    def loading(
        self, tier: Tier, data: NodesData, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        for snapshot in data.snapshots:
            files.write_text(snapshot, f"{WARNING}\n")
        # Loading is not measured: the made-up disk is too fast to matter.
        yield (Volume(str(Model(1e6, 1e-6)), "", restored=data.resumed),) * len(
            data.sizes_bytes
        )
