"""Volumes of a StorageClass, one claim for each node: the cluster provisions the real disks.

Nothing is throttled, everything is verified: what a claim was given is read back from its
PersistentVolume, and the gate measures a volume of the class on the machine of each node. Volumes
and a class of ours are rented for a block and given back at its end. Loaded data stay as long as
the campaign: as snapshots, or as claims that each run's claims are copies of."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.design.node_disks import node_names
from orchestrator.errors import GateError, UnavailableError, UsageError
from orchestrator.model import Volume
from orchestrator.parts import Disks, KeptData, NodesData, TierAbilities
from orchestrator.platforms import own_images
from orchestrator.powers import (
    Claims,
    RentedVolume,
    StorageClass,
    VolumeSource,
    World,
)
from orchestrator.system import at_once, files
from orchestrator.tier import ClassVolumes, ClassWanted, DiskKind, Gate, Tier
from orchestrator.tier_catalog import storage_classes
from orchestrator.tiers.common.emulated import disk_files, disk_server
from orchestrator.tiers.common.gate import truth_gate
from orchestrator.units import format_bytes, listed

_RENT_S = 600.0  # a cloud makes and attaches a disk within minutes
_COPY_S = 3600.0
_READ_ALL = ("sh", "-c", "find /tier -xdev -type f -exec cat {} + > /dev/null")


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
        platform = _claims(tier.name, world)
        wanted = _wanted(tier)
        own_images.need(world.root, "disk", world.platform)
        classes = {there.name: there for there in platform.storage_classes()}
        if not wanted.provisioner and wanted.name not in classes:
            raise _no_such_class(tier, wanted.name, list(classes))
        if isinstance(tier.disk, ClassVolumes) and tier.disk.allow_retained_volumes:
            return
        driver = wanted.provisioner
        if not driver:
            named = classes[wanted.name]
            driver = named.provisioner
            if named.retains:
                what = f"StorageClass {named.name!r} keeps its volumes"
                raise _retained(tier, what, "reclaimPolicy")
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
        wanted = _wanted(tier)
        asked = tier.disk.snapshots
        if asked is None:
            if not _makes_snapshots(tier, world):
                return ()
        elif asked.way != "copy":
            return ()
        rented = f"{wanted} {asked} {world.platform.campaign}"
        mark = hashlib.sha256(rented.encode()).hexdigest()[:8]
        folder = world.cache / "datasets" / f"{name}-{mark}"
        return tuple(folder / f"{node}.claim" for node in node_names(len(sizes_bytes)))

    def are_on_nodes(self, snapshots: Sequence[Path], world: World) -> bool:
        """The cache has notes only: a claim or snapshot may have been removed by others."""
        claims = _claims("a data set that is kept", world)
        return all(at_once.each(lambda note: claims.holds(_source(note)), snapshots))

    @contextmanager
    def loading(
        self, tier: Tier, data: NodesData, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        platform = _claims(tier.name, world)
        copies = tier.disk.snapshots is not None
        names: list[str] = []
        before: list[VolumeSource | None] = []
        for note in data.snapshots:
            names.append(_next_name(note, len(names) + 1))
            source = None
            if data.resumed:
                source = _source(note)
            before.append(source)
        with _rented(tier, names, before, world, stays=copies, kept=True) as rented:
            yield rented.volumes
            if not copies:
                for name in names:
                    world.progress.step(f"keeping a snapshot of {name}")
                    with platform.snapshot(name, name, _COPY_S, stays=True):
                        pass
        kind = "snapshot"
        if copies:
            kind = "claim"
        for note, name in zip(data.snapshots, names, strict=True):
            files.make_folder(note.parent)
            files.write_text(note, f"{kind} {name}\n")

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        sources: list[VolumeSource | None] = [_source(note) for note in data.snapshots]
        sources = sources or [None] * len(data.sizes_bytes)
        names = [f"{world.scope}-{node}" for node in node_names(len(sources))]
        with _rented(tier, names, sources, world) as rented:
            given = at_once.each(
                lambda volume: _given(tier, volume, rented.storage_class, world),
                rented.volumes,
            )
            disks: dict[str, dict[str, Any]] = {}
            differences: list[str] = []
            for volume, claimed in zip(rented.volumes, given, strict=True):
                node = volume.placement
                disks[node] = _about(node, claimed)
                differences += _differences(node, rented.storage_class, claimed)
            facts = {**_mechanism(rented.storage_class), "disks": disks}
            if differences:
                facts["cloud"] = {"differences": differences}
            first = sources[0]
            if first:
                facts["restored"] = {"way": first.kind}
            yield Disks(rented.volumes, facts)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Measures one volume on the machine of each node, one after the other."""
        taken: list[truth_gate.Taken] = []
        with _class(tier, world) as storage_class:
            for node in node_names(_wanted(tier).nodes):
                world.progress.note(f"disk check of {tier.name}: a volume for {node}")
                name = f"{world.scope}-gate-{len(taken) + 1}"
                gate = self._gate_of(tier, node, name, storage_class, world, thorough)
                title = f"{node} ({storage_class.name})"
                taken.append(truth_gate.Taken(node, title, (node,), gate))
            return truth_gate.of_disks(tier, _mechanism(storage_class), taken, world)

    def _gate_of(
        self,
        tier: Tier,
        node: str,
        name: str,
        storage_class: StorageClass,
        world: World,
        thorough: bool,
    ) -> Gate:
        platform = _claims(tier.name, world)
        with platform.claim(name, storage_class.name, _size(tier)) as claim:
            volume = Volume(claim, "", restored=False, kept=False, placement=node)
            given = _given(tier, volume, storage_class, world)
            disks = Disks((volume,), _about(node, given))
            return self._take(tier, disks, world, thorough=thorough)


def _claims(needed_by: str, world: World) -> Claims:
    """What the platform rents volumes by. UnavailableError if it rents none."""
    claims = world.platform.abilities.claims
    if claims is None:
        raise UnavailableError(
            f"{needed_by}: only Kubernetes has volumes of a StorageClass",
            advice="say PLATFORM=kubernetes, or use `enforcement: emulated`",
        )
    return claims


def _makes_snapshots(tier: Tier, world: World) -> bool:
    """Whether the driver of the tier's class does."""
    with _class(tier, world) as storage_class:
        platform = _claims(tier.name, world)
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


def _wanted(tier: Tier) -> ClassWanted:
    if tier.disk.storage_class is None:
        raise UsageError(
            f"{tier.name}: `enforcement: storage-class` needs a `storage_class`",
            advice="name one, or a row of the catalog as `type`",
        )
    return tier.disk.storage_class


def _size(tier: Tier) -> int:
    return _wanted(tier).size_bytes or disk_files.GATE_BYTES


@contextmanager
def _class(tier: Tier, world: World) -> Iterator[StorageClass]:
    """The class that the tier names, or one that is made for the block: classes are of the whole
    cluster, so its name has that of the campaign."""
    platform = _claims(tier.name, world)
    wanted = _wanted(tier)
    if not wanted.provisioner:
        classes = {there.name: there for there in platform.storage_classes()}
        if wanted.name not in classes:
            raise UnavailableError(
                f"{tier.name}: the StorageClass {wanted.name!r} is gone"
            )
        yield classes[wanted.name]
        return
    name = storage_classes.object_name(
        f"tierbench-{world.platform.campaign}-{wanted.name}"
    )
    content = storage_classes.content(replace(wanted, name=name))
    with platform.storage_class(content) as storage_class:
        yield storage_class


@dataclass(frozen=True)
class _Rented:
    """A class, and volumes of it, one for each node."""

    storage_class: StorageClass
    volumes: tuple[Volume, ...]


@contextmanager
def _rented(
    tier: Tier,
    names: Sequence[str],
    sources: Sequence[VolumeSource | None],
    world: World,
    stays: bool = False,
    kept: bool = False,
) -> Iterator[_Rented]:
    """A volume for each node, which is a copy of its source."""
    with _class(tier, world) as storage_class:
        platform = _claims(tier.name, world)
        class_name = storage_class.name
        claims = [
            platform.claim(name, class_name, _size(tier), source, stays=stays)
            for name, source in zip(names, sources, strict=True)
        ]
        with at_once.entered(claims) as claimed:
            volumes: list[Volume] = []
            nodes = node_names(len(sources))
            for claim, source, node in zip(claimed, sources, nodes, strict=True):
                restored = source is not None
                volume = Volume(claim, "", restored=restored, kept=kept, placement=node)
                volumes.append(volume)
            yield _Rented(storage_class, tuple(volumes))


def _source(note: Path) -> VolumeSource:
    """What holds the data of one node."""
    kind, name = note.read_text(encoding="utf-8").split()
    if kind == "claim":
        return VolumeSource("claim", name)
    return VolumeSource("snapshot", name)


def _next_name(note: Path, number: int) -> str:
    """A name for the data of a node: another one if it goes on from data that are kept."""
    name = f"data-{note.parent.name}-{number}"
    if note.is_file() and _source(note).name == name:
        return f"{name}-again"
    return name


# ------------------------------------------------------------------ what was given


def _given(
    tier: Tier, volume: Volume, storage_class: StorageClass, world: World
) -> RentedVolume:
    """What a claim was given. A class that waits gives a volume when a container uses it, on the
    machine where that runs. GateError if it is less, or another, than was asked for. A copy is read
    once in full: some clouds fetch each block only when it is first read. What that leaves in the
    page cache goes when the container does, as the volume is then unmounted."""
    platform = _claims(tier.name, world)
    if storage_class.waits or volume.restored:
        spec = disk_server.fio_container(
            f"{volume.name}-first", "client", volume, world
        )
        with world.platform.running(spec) as container:
            given = platform.rented(volume.name, _RENT_S)
            if volume.restored:
                world.progress.step(f"reading the copy {volume.name} once")
                container.exec(_READ_ALL, timeout_s=_COPY_S)
    else:
        given = platform.rented(volume.name, _RENT_S)
    wrong = listed(list(_wrong(tier, storage_class, given)))
    if wrong:
        raise GateError(
            f"{tier.name}: the volume of {volume.name} is not what was asked "
            f"for: {wrong}",
            advice=(
                "figures made on it would say nothing about the tier. See the "
                "class and its driver (`kubectl describe pv`)"
            ),
        )
    return given


def _wrong(
    tier: Tier, storage_class: StorageClass, given: RentedVolume
) -> Iterator[str]:
    asked_bytes = storage_classes.whole_gib_bytes(_size(tier))
    asked = format_bytes(asked_bytes)
    size = format_bytes(given.size_bytes)
    if given.size_bytes < asked_bytes:
        yield f"it has {size}, less than the {asked} asked for"
    # A larger disk of a cloud has other limits.
    if given.size_bytes > asked_bytes and _wanted(tier).provisioner:
        yield f"it has {size}, more than the {asked} asked for"
    if given.storage_class != storage_class.name:
        yield f"it is of the class {given.storage_class!r}, not {storage_class.name!r}"
    if given.driver and given.driver != storage_class.provisioner:
        yield f"{given.driver} made it, not {storage_class.provisioner}"


def _differences(
    node: str, storage_class: StorageClass, given: RentedVolume
) -> Iterator[str]:
    """Parameters of the class that the driver noted otherwise; names are alike in any case."""
    noted = {name.lower(): value for name, value in given.attributes.items()}
    for name, asked in storage_class.parameters.items():
        value = noted.get(name.lower(), asked)
        if value.lower() != asked.lower():
            yield (
                f"{node}: the driver reports {name} {value} for its volume, but the "
                f"class has {asked}"
            )


def _mechanism(storage_class: StorageClass) -> dict[str, Any]:
    return {
        "mechanism": "volumes of a StorageClass",
        "storage_class": storage_class.name,
        "provisioner": storage_class.provisioner,
        "parameters": dict(storage_class.parameters),
    }


def _about(node: str, given: RentedVolume) -> dict[str, Any]:
    """A volume as the report shows a disk that was found."""
    return {
        "used_by": [node],
        "device": given.name,
        "made_of": given.handle,
        "size_bytes": given.size_bytes,
        "file_system": given.fstype,
        "mount_options": ",".join(given.mount_options),
        "attributes": dict(given.attributes),
        "machines": list(given.machines),
    }
