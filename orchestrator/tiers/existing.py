"""The disks of a cluster that others run: they are neither made, limited nor verified here.

The profile declares what was bought; what the disks did is in the telemetry of their machines.
Loaded data are kept only by the owner's commands: a volume here is no disk, it tells the database
which snapshot they are to make or to bring back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.model import Volume
from orchestrator.parts import Disks, KeptData, NodesData, TierAbilities, TierMechanism
from orchestrator.powers import World
from orchestrator.tier import DiskKind, Tier

# A file that says that the owner's command has made the snapshot.
_SAVED = "cluster.saved"


class ExistingTier(TierMechanism):
    name = "existing"
    kind: DiskKind = "existing"

    @property
    def abilities(self) -> TierAbilities:
        return TierAbilities(kept_data=KeptData(self.snapshots, self.loading))

    def snapshots(
        self, tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
    ) -> tuple[Path, ...]:
        """The database says whether its owner has commands for it."""
        return (world.cache / "datasets" / name / _SAVED,)

    @contextmanager
    def loading(
        self, tier: Tier, data: NodesData, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        # No disk: by its name the database tells the owner's command which snapshot to make.
        yield (Volume(str(data.snapshots[0]), "", restored=False),)

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        volumes: tuple[Volume, ...] = ()
        if data.snapshots:
            snapshot = str(data.snapshots[0])
            volumes = (Volume(snapshot, "", restored=True, kept=False),)
        mechanism = "existing: the cluster's own disks, as declared, not verified here"
        yield Disks(volumes, {"mechanism": mechanism})
