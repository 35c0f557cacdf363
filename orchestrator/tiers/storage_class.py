"""Volumes of a StorageClass, one claim for each node: the cluster provisions the real disks.

Nothing is throttled, everything is verified: what a claim was given is read back from its
PersistentVolume, and the gate measures a volume of the class on the machine of each node. Volumes
and a class of ours are rented for a block and given back at its end. Loaded data stay as long as
the campaign: as snapshots, or as claims that each run's claims are copies of."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.design.node_disks import node_names
from orchestrator.errors import UnavailableError
from orchestrator.model import Volume
from orchestrator.parts import Disks, KeptData, NodesData, TierAbilities
from orchestrator.platforms import own_images
from orchestrator.powers import StorageClass, VolumeSource, World
from orchestrator.system import at_once, files
from orchestrator.tier import ClassVolumes, DiskKind, Gate, Tier
from orchestrator.tiers.common.gate import truth_gate
from orchestrator.tiers.common.real import volume_claims
from orchestrator.units import listed


class StorageClassTier:
    name = "storage-class"
    kind: DiskKind = "storage-class"

    def __init__(self, take: Callable[..., Gate] = truth_gate.take) -> None:
        self._take = take

    @property
    def abilities(self) -> TierAbilities:
        kept_data = KeptData(
            self.snapshots, self.loading, are_on_nodes=self.are_on_nodes
        )
        return TierAbilities(kept_data=kept_data)

    def check(self, tier: Tier, world: World) -> None:
        """See `TierMechanism`. A class that is named must exist; one of ours is made when needed,
        and whether its driver is there shows when the gate claims a volume."""
        platform = volume_claims.claims_of(tier.name, world)
        wanted = volume_claims.wanted_by(tier)
        own_images.need(world.root, "disk", world.platform)
        classes = {there.name: there for there in platform.storage_classes()}
        if not wanted.provisioner and wanted.name not in classes:
            raise _no_such_class(tier, wanted.name, list(classes))
        # Volumes that a class keeps (Retain) stay when their claim is gone. They cost money until
        # somebody sees them.
        if isinstance(tier.disk, ClassVolumes) and tier.disk.allow_retained_volumes:
            return
        driver = wanted.provisioner
        if not driver:
            named = classes[wanted.name]
            driver = named.provisioner
            if named.retains:
                what = f"StorageClass {named.name!r} keeps its volumes"
                raise _retained(tier, what, "reclaimPolicy")
        # Copies are claims again, and take no class of snapshots.
        if tier.disk.snapshots is not None:
            return
        shots = platform.snapshot_class(driver)
        if shots and shots.retains:
            what = f"VolumeSnapshotClass {shots.name!r} keeps its snapshots"
            raise _retained(tier, what, "deletionPolicy")

    def snapshots(
        self, tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
    ) -> tuple[Path, ...]:
        """Notes in the cache of what holds the data: as all rented, that ends with the campaign.
        They are copies of claims if the profile says so, snapshots where the driver makes them."""
        wanted = volume_claims.wanted_by(tier)
        asked = tier.disk.snapshots
        if asked is None:
            if not _makes_snapshots(tier, world):
                return ()
        elif asked.way != "copy":
            return ()
        # Data end with the campaign that rented them,
        # so another campaign's are never found by name.
        rented = f"{wanted} {asked} {world.platform.campaign}"
        mark = hashlib.sha256(rented.encode()).hexdigest()[:8]
        folder = world.cache / "datasets" / f"{name}-{mark}"
        return tuple(folder / f"{node}.claim" for node in node_names(len(sizes_bytes)))

    def are_on_nodes(self, snapshots: Sequence[Path], world: World) -> bool:
        """Whether the claims or snapshots of these notes are still there."""
        claims = volume_claims.claims_of("a data set that is kept", world)
        # The cache has notes only: a claim or snapshot may have been removed by others.
        return all(at_once.each(lambda note: claims.holds(_source(note)), snapshots))

    @contextmanager
    def loading(
        self, tier: Tier, data: NodesData, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        kind = "snapshot"
        if tier.disk.snapshots is not None:
            kind = "claim"
        names = _next_names(data.snapshots)
        before: list[VolumeSource | None] = [None] * len(names)
        if data.resumed:
            # A load that goes on begins with what the earlier one had kept.
            before = [_source(note) for note in data.snapshots]
        stays = kind == "claim"
        with volume_claims.rented(
            tier, names, before, world, stays=stays, kept=True
        ) as rented:
            yield rented.volumes
            if kind == "snapshot":
                volume_claims.keep_snapshots(tier, names, world)
        # The note is written last: it says that what it names is whole.
        for note, name in zip(data.snapshots, names, strict=True):
            files.make_folder(note.parent)
            files.write_text(note, f"{kind} {name}\n")

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        sources: list[VolumeSource | None] = [_source(note) for note in data.snapshots]
        # Each volume begins empty without kept data, and the run loads.
        sources = sources or [None] * len(data.sizes_bytes)
        names = [f"{world.scope}-{node}" for node in node_names(len(sources))]
        with volume_claims.rented(tier, names, sources, world) as rented:
            # Read back before the node starts: a wrong volume would cost a whole run.
            facts = volume_claims.facts_of_rented(tier, rented, world)
            first = sources[0]
            if first:
                facts["restored"] = {"way": first.kind}
            yield Disks(rented.volumes, facts)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Measures one volume on the machine of each node, one after the other."""
        taken: list[truth_gate.Taken] = []
        with volume_claims.class_of(tier, world) as storage_class:
            # A volume is as good as its machine, whose own cap it may reach.
            for node in node_names(volume_claims.wanted_by(tier).nodes):
                world.progress.note(f"disk check of {tier.name}: a volume for {node}")
                name = f"{world.scope}-gate-{len(taken) + 1}"
                gate = self._gate_of(tier, node, name, storage_class, world, thorough)
                title = f"{node} ({storage_class.name})"
                taken.append(truth_gate.Taken(node, title, (node,), gate))
            return truth_gate.of_disks(
                tier, volume_claims.mechanism(storage_class), taken, world
            )

    def _gate_of(
        self,
        tier: Tier,
        node: str,
        name: str,
        storage_class: StorageClass,
        world: World,
        thorough: bool,
    ) -> Gate:
        platform = volume_claims.claims_of(tier.name, world)
        with platform.claim(
            name, storage_class.name, volume_claims.size_bytes(tier)
        ) as claim:
            volume = Volume(claim, "", restored=False, kept=False, placement=node)
            given = volume_claims.given(tier, volume, storage_class, world)
            disks = Disks((volume,), volume_claims.facts_of(node, given))
            return self._take(tier, disks, world, thorough=thorough)


def _makes_snapshots(tier: Tier, world: World) -> bool:
    """Whether the driver of the tier's class does."""
    with volume_claims.class_of(tier, world) as storage_class:
        platform = volume_claims.claims_of(tier.name, world)
        return platform.snapshot_class(storage_class.provisioner) is not None


def _no_such_class(tier: Tier, name: str, classes: Sequence[str]) -> UnavailableError:
    return UnavailableError(
        f"{tier.name}: the cluster has no StorageClass {name!r}; it "
        f"has {listed(classes) or 'none'}",
        advice=(
            "name one of these as `storage_class`. If the tier names a row of "
            "the catalog, leave `storage_class` out: its class is then made"
        ),
    )


def _retained(tier: Tier, what: str, policy: str) -> UnavailableError:
    return UnavailableError(
        f"{tier.name}: the {what}. One for each node, run and disk check "
        "would stay and cost money after the campaign",
        advice=(
            f"name a class that has {policy} Delete, or set "
            "`allow_retained_volumes: true` and remove the volumes yourself"
        ),
    )


def _source(note: Path) -> VolumeSource:
    """What holds the data of one node."""
    kind, name = note.read_text(encoding="utf-8").split()
    if kind == "claim":
        return VolumeSource("claim", name)
    return VolumeSource("snapshot", name)


def _next_names(notes: Sequence[Path]) -> list[str]:
    """A name for the data of each node: another one than that of data that are kept."""
    names: list[str] = []
    for number, note in enumerate(notes, start=1):
        name = f"data-{note.parent.name}-{number}"
        # The old data must stay until the new are whole, so both need a name.
        if note.is_file() and _source(note).name == name:
            name = f"{name}-again"
        names.append(name)
    return names
