"""Volumes of a StorageClass: the cluster provisions the real disks. Each node has one claim for its
data, and one for its log if the tier has such disks.

Nothing is throttled, everything is verified: what a claim was given is read back from its
PersistentVolume, and the gate measures a volume of the class on the machine of each node. Volumes
and a class of ours are rented for a block and given back at its end. Loaded data stay as long as
the campaign: as snapshots, or as claims that each run's claims are copies of."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.design.node_disks import node_names, of_data_or_logs
from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import volume_claims
from orchestrator.model import Volume
from orchestrator.parts import Disks, KeptData, NodesData, TierAbilities
from orchestrator.platforms import own_images
from orchestrator.powers import Claims, StorageClass, VolumeSource, World
from orchestrator.system import at_once, files
from orchestrator.texts.prose import listed
from orchestrator.tier import DiskKind, Gate, Tier
from orchestrator.tiers.common.gate import truth_gate


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
        own_images.need(world.root, "disk", world.platform)
        classes = {there.name: there for there in platform.storage_classes()}
        for disks in volume_claims.claimed(tier):
            _check_class(disks.tier, classes, platform)

    def snapshots(
        self, tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
    ) -> tuple[Path, ...]:
        """Notes in the cache of what holds the data: as all rented, that ends with the campaign.
        They are copies of claims if the profile says so, snapshots where the driver makes them."""
        asked = tier.disk.snapshots
        all_disks = volume_claims.claimed(tier)
        if asked is None:
            for disks in all_disks:
                # Data without their log, or a log without its data, start no node.
                if not _makes_snapshots(disks.tier, world):
                    return ()
        elif asked.way != "copy":
            return ()
        # Data end with the campaign that rented them,
        # so another campaign's are never found by name.
        rented = f"{asked} {world.platform.campaign}"
        notes: list[str] = []
        for disks in all_disks:
            rented += f" {volume_claims.wanted_by(disks.tier)}"
            for volume in disks.names(len(sizes_bytes)):
                notes.append(f"{volume}.claim")
        mark = hashlib.sha256(rented.encode()).hexdigest()[:8]
        folder = world.cache / "datasets" / f"{name}-{mark}"
        return tuple(folder / note for note in notes)

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
        stays = kind == "claim"
        asked: list[volume_claims.AskedVolumes] = []
        for disks in volume_claims.claimed(tier):
            claims = tuple(_claims_of_load(disks, data))
            asked.append(volume_claims.AskedVolumes(disks, claims))
        with volume_claims.rented(asked, world, stays=stays, kept=True) as rents:
            yield volume_claims.volumes_of_nodes(rents)
            if kind == "snapshot":
                volume_claims.keep_snapshots(rents, world)
        # The notes are written last: they say that what they name is whole.
        for volumes in asked:
            _write_notes(kind, volumes, data)

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        asked: list[volume_claims.AskedVolumes] = []
        for disks in volume_claims.claimed(tier):
            claims = tuple(_claims_of_run(disks, data, world))
            asked.append(volume_claims.AskedVolumes(disks, claims))
        with volume_claims.rented(asked, world, stays=False, kept=False) as rents:
            # Read back before the node starts: a wrong volume would cost a whole run.
            facts = volume_claims.facts_of_rented(rents, world)
            if data.snapshots:
                facts["restored"] = {"way": _source(data.snapshots[0]).kind}
            yield Disks(volume_claims.volumes_of_nodes(rents), facts)

    def gate(self, tier: Tier, world: World, thorough: bool) -> Gate:
        """Measures one volume of each class on the machine of each node, one after the other."""
        taken: list[truth_gate.Taken] = []
        disks_of_nodes = volume_claims.claimed(tier)
        with ExitStack() as up:
            classes: list[StorageClass] = []
            for disks in disks_of_nodes:
                making = volume_claims.class_of(disks.tier, world)
                classes.append(up.enter_context(making))
            nodes = volume_claims.wanted_by(tier).nodes
            for volume in _gate_volumes(disks_of_nodes, classes, nodes):
                world.progress.note(
                    f"disk check of {tier.name}: a volume for {volume.user}"
                )
                taken.append(volume.taken(self._gate_of(volume, world, thorough)))
            mechanism = volume_claims.mechanism(classes)
            return truth_gate.of_disks(tier, mechanism, taken, world)

    def _gate_of(self, checked: "_GateVolume", world: World, thorough: bool) -> Gate:
        tier = checked.disks.tier
        platform = volume_claims.claims_of(tier.name, world)
        name = f"{world.scope}-gate-{checked.number}"
        size_bytes = volume_claims.size_bytes(tier)
        with platform.claim(name, checked.storage_class.name, size_bytes) as claim:
            volume = Volume(
                claim, "", restored=False, kept=False, placement=checked.node
            )
            given = volume_claims.given(tier, volume, checked.storage_class, world)
            facts = volume_claims.facts_of(checked.user, given)
            return self._take(tier, Disks((volume,), facts), world, thorough=thorough)


@dataclass(frozen=True)
class _GateVolume:
    """A volume that is checked where its node would run. `number`: among those of the gate."""

    disks: volume_claims.ClaimedTier
    storage_class: StorageClass
    node: str
    number: int

    @property
    def user(self) -> str:
        return self.disks.user(self.node)

    def taken(self, gate: Gate) -> truth_gate.Taken:
        name = self.disks.disk(self.node)
        title = f"{self.user} ({self.storage_class.name})"
        # Checks of a log's disk tell nothing of the one that holds the node's data.
        nodes: tuple[str, ...] = ()
        if not self.disks.of_log:
            nodes = (self.node,)
        return truth_gate.Taken(
            key=name,
            title=title,
            nodes=nodes,
            gate=gate,
            holds_log_alone=self.disks.of_log,
        )


def _gate_volumes(
    disks_of_nodes: Sequence[volume_claims.ClaimedTier],
    classes: Sequence[StorageClass],
    nodes: int,
) -> Iterator[_GateVolume]:
    """Node by node, because a volume is as good as its machine, whose own cap it may reach."""
    number = 0
    for node in node_names(nodes):
        for disks, storage_class in zip(disks_of_nodes, classes, strict=True):
            number += 1
            yield _GateVolume(disks, storage_class, node, number)


def _check_class(
    tier: Tier, classes: Mapping[str, StorageClass], platform: Claims
) -> None:
    """UnavailableError if the tier's class is missing, or keeps what nobody would see."""
    wanted = volume_claims.wanted_by(tier)
    if not wanted.provisioner and wanted.name not in classes:
        raise _no_such_class(tier, wanted.name, list(classes))
    # Volumes that a class keeps (Retain) stay when their claim is gone. They cost money until
    # somebody sees them.
    if tier.disk.allow_retained_volumes:
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


def _claims_of_load(
    disks: volume_claims.ClaimedTier, data: NodesData
) -> Iterator[volume_claims.Claim]:
    """The claim of each node in which its data are to be kept."""
    for note in of_data_or_logs(data.snapshots, of_logs=disks.of_log):
        source = None
        if data.resumed:
            # A load that goes on begins with what the earlier one had kept.
            source = _source(note)
        yield volume_claims.Claim(_next_name(note), source)


def _write_notes(
    kind: str, volumes: volume_claims.AskedVolumes, data: NodesData
) -> None:
    """`kind`: of what holds the data, as a note has it."""
    notes = of_data_or_logs(data.snapshots, of_logs=volumes.disks.of_log)
    for note, claim in zip(notes, volumes.claims, strict=True):
        files.make_folder(note.parent)
        files.write_text(note, f"{kind} {claim.name}\n")


def _claims_of_run(
    disks: volume_claims.ClaimedTier, data: NodesData, world: World
) -> Iterator[volume_claims.Claim]:
    """The claim of each node, which is a copy of what is kept, if anything is."""
    notes = of_data_or_logs(data.snapshots, of_logs=disks.of_log)
    for number, volume in enumerate(disks.names(len(data.sizes_bytes))):
        # A volume begins empty without kept data, and the run loads.
        source = None
        if notes:
            source = _source(notes[number])
        yield volume_claims.Claim(f"{world.scope}-{volume}", source)


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


def _next_name(note: Path) -> str:
    """A name for what the note is to name: another one than that of data that are kept."""
    name = f"data-{note.parent.name}-{note.stem.removeprefix('node-')}"
    # The old data must stay until the new are whole, so both need a name.
    if note.is_file() and _source(note).name == name:
        return f"{name}-again"
    return name
