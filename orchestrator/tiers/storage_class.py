"""Volumes of a StorageClass, one claim for each node: the cluster provisions the real disks.

Nothing is throttled, everything is verified: what a claim was given is read back from its
PersistentVolume, and the gate measures a volume of the class on the machine of each node. Volumes
and a class of ours are rented for a block and given back at its end. Loaded data stay as long as
the campaign: as snapshots, or as claims that each run's claims are copies of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from orchestrator.errors import GateError, UnavailableError, UsageError
from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.platforms import own_images
from orchestrator.platforms.common.claims import (
    Claims,
    RentedVolume,
    RentsVolumes,
    StorageClass,
    VolumeSource,
)
from orchestrator.powers import World
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

    def check(self, tier: Tier, world: World) -> None:
        """See `TierMechanism`. A class that is named must exist; one of ours is made when needed,
        and whether its driver is there shows when the gate claims a volume."""
        platform, wanted = _claims(tier, world), _wanted(tier)
        own_images.need(world.root, "disk", world.platform)
        known = {one.name: one for one in platform.storage_classes()}
        if not wanted.provisioner and wanted.name not in known:
            raise UnavailableError(
                f"{tier.name}: the cluster has no StorageClass {wanted.name!r}; it has "
                f"{listed(list(known)) or 'none'}",
                advice="name one of these as `storage_class`, or leave that out where the tier "
                "names a row of the catalog: its class is then made",
            )
        if isinstance(tier.disk, ClassVolumes) and tier.disk.allow_retained_volumes:
            return
        named = None if wanted.provisioner else known[wanted.name]
        if named and named.retains:
            raise _retained(tier, f"StorageClass {named.name!r} keeps its volumes", "reclaimPolicy")
        driver = named.provisioner if named else wanted.provisioner
        shots = platform.snapshot_class(driver) if tier.disk.snapshots is None else None
        if shots and shots.retains:
            what = f"VolumeSnapshotClass {shots.name!r} keeps its snapshots"
            raise _retained(tier, what, "deletionPolicy")

    def snapshots(
        self, tier: Tier, sizes_bytes: Sequence[int], name: str, world: World
    ) -> tuple[Path, ...]:
        """Notes in the cache of what holds the data: as all rented, that ends with the campaign.
        They are copies of claims if the profile says so, snapshots where the driver makes them."""
        wanted, asked = _wanted(tier), tier.disk.snapshots
        if asked is None:
            with _class(tier, world) as found:
                restores = _claims(tier, world).snapshot_class(found.provisioner) is not None
        else:
            restores = asked.way == "copy"
        if not restores:
            return ()
        rented = f"{wanted} {asked} {world.platform.campaign}"
        mark = hashlib.sha256(rented.encode()).hexdigest()[:8]
        folder = world.cache / "datasets" / f"{name}-{mark}"
        return tuple(folder / f"node-{number}.claim" for number in range(1, len(sizes_bytes) + 1))

    def still_there(self, snapshots: Sequence[Path], world: World) -> bool:
        """See `Rented`: a claim or snapshot may have been removed by others."""
        claims = cast(RentsVolumes, world.platform).claims
        return all(at_once.each(lambda note: claims.holds(_source(note)), snapshots))

    @contextmanager
    def loading(self, tier: Tier, data: NodesData, world: World) -> Iterator[tuple[Volume, ...]]:
        platform, copies = _claims(tier, world), tier.disk.snapshots is not None
        before = [_source(one) if data.resumed else None for one in data.snapshots]
        names = [_next_name(one, number) for number, one in enumerate(data.snapshots, start=1)]
        with ExitStack() as up:
            found = up.enter_context(_class(tier, world))
            claims = [
                platform.claim(name, found.name, _size(tier), source, stays=copies)
                for name, source in zip(names, before, strict=True)
            ]
            yield tuple(
                _volume(claim, number, restored=data.resumed, kept=True)
                for number, claim in enumerate(up.enter_context(at_once.entered(claims)), start=1)
            )
            for name in () if copies else names:
                world.progress.step(f"keeping a snapshot of {name}")
                with platform.snapshot(name, name, _COPY_S, stays=True):
                    pass
        for note, name in zip(data.snapshots, names, strict=True):
            note.parent.mkdir(parents=True, exist_ok=True)
            files.write_text(note, f"{'claim' if copies else 'snapshot'} {name}\n")

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        platform, restored = _claims(tier, world), bool(data.snapshots)
        sources: list[VolumeSource | None] = [_source(one) for one in data.snapshots]
        sources = sources or [None] * len(data.sizes_bytes)
        way = sources[0].kind if sources and sources[0] else "none"
        with ExitStack() as up:
            found = up.enter_context(_class(tier, world))
            claims = [
                platform.claim(f"{world.scope}-node-{number}", found.name, _size(tier), source)
                for number, source in enumerate(sources, start=1)
            ]
            volumes = tuple(
                _volume(claim, number, restored=restored, kept=False)
                for number, claim in enumerate(up.enter_context(at_once.entered(claims)), start=1)
            )
            given = at_once.each(lambda volume: _given(tier, volume, found, world), volumes)
            of_nodes = {one.placement: its for one, its in zip(volumes, given, strict=True)}
            restored_by = {"restored": {"way": way}} if restored else {}
            yield Disks(volumes, {**_facts(tier, found, of_nodes), **restored_by})

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        """Measures one volume on the machine of each node, one after the other."""
        platform, gates = _claims(tier, world), list[tuple[str, str, tuple[str, ...], Gate]]()
        with _class(tier, world) as found:
            for number in range(1, _wanted(tier).nodes + 1):
                name = f"{world.scope}-gate-{number}"
                world.progress.note(f"truth gate of {tier.name}: a volume for node-{number}")
                with platform.claim(name, found.name, _size(tier)) as claim:
                    volume = _volume(claim, number, restored=False, kept=False)
                    given = _given(tier, volume, found, world)
                    disks = Disks((volume,), _about(volume.placement, given))
                    taken = self._take(tier, disks, world, thorough=thorough)
                node = volume.placement
                gates.append((node, f"{node} ({found.name})", (node,), taken))
            return truth_gate.of_disks(tier, _mechanism(found), gates, world)


def _claims(tier: Tier, world: World) -> Claims:
    """By which the platform rents volumes. UnavailableError if it rents none."""
    claims: Claims | None = getattr(world.platform, "claims", None)
    if claims is None:
        raise UnavailableError(
            f"{tier.name}: volumes of a StorageClass are to be had on Kubernetes only",
            advice="say PLATFORM=kubernetes, or use `enforcement: emulated`",
        )
    return claims


def _retained(tier: Tier, what: str, policy: str) -> UnavailableError:
    return UnavailableError(
        f"{tier.name}: the {what}: one for each node, run and gate would stay and cost money after "
        "the campaign",
        advice=f"name a class whose {policy} is Delete, or say `allow_retained_volumes: true` and "
        "remove them yourself",
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
    platform, wanted = _claims(tier, world), _wanted(tier)
    if not wanted.provisioner:
        known = {one.name: one for one in platform.storage_classes()}
        if wanted.name not in known:
            raise UnavailableError(f"{tier.name}: the StorageClass {wanted.name!r} is gone")
        yield known[wanted.name]
        return
    name = storage_classes.object_name(f"tierbench-{world.platform.campaign}-{wanted.name}")
    content = storage_classes.content(replace(wanted, name=name))
    with platform.storage_class(content) as made:
        yield made


def _volume(claim: str, number: int, restored: bool, kept: bool) -> Volume:
    return Volume(claim, "", restored=restored, kept=kept, placement=f"node-{number}")


def _source(note: Path) -> VolumeSource:
    """What holds the data of one node."""
    kind, name = note.read_text().split()
    return VolumeSource("claim" if kind == "claim" else "snapshot", name)


def _next_name(note: Path, number: int) -> str:
    """A name for the data of a node: another one if it goes on from data that are kept."""
    name = f"data-{note.parent.name}-{number}"
    return f"{name}-again" if note.is_file() and _source(note).name == name else name


# ------------------------------------------------------------------ what was given


def _given(tier: Tier, volume: Volume, found: StorageClass, world: World) -> RentedVolume:
    """What a claim was given. A class that waits gives a volume when a container uses it, on the
    machine where that runs. GateError if it is less, or another, than was asked for. A copy is read
    once in full: some clouds fetch each block only when it is first read. What that leaves in the
    page cache goes when the container does, as the volume is then unmounted."""
    platform = _claims(tier, world)
    if found.waits or volume.restored:
        spec = disk_server.fio_container(f"{volume.name}-first", "client", volume, world)
        with world.platform.running(spec) as container:
            given = platform.rented(volume.name, _RENT_S)
            if volume.restored:
                world.progress.step(f"reading the copy {volume.name} once")
                container.exec(_READ_ALL, timeout_s=_COPY_S)
    else:
        given = platform.rented(volume.name, _RENT_S)
    if wrong := listed(list(_wrong(tier, found, given))):
        raise GateError(
            f"{tier.name}: the volume of {volume.name} is not what was asked for: {wrong}",
            advice="figures made on it would say nothing about the tier: see the class and its "
            "driver (`kubectl describe pv`)",
        )
    return given


def _wrong(tier: Tier, found: StorageClass, given: RentedVolume) -> Iterator[str]:
    asked = storage_classes.whole_gib_bytes(_size(tier))
    size = format_bytes(given.size_bytes)
    if given.size_bytes < asked:
        yield f"it has {size}, less than the {format_bytes(asked)} asked for"
    # A larger disk of a cloud has other limits.
    if given.size_bytes > asked and _wanted(tier).provisioner:
        yield f"it has {size}, more than the {format_bytes(asked)} asked for"
    if given.storage_class != found.name:
        yield f"it is of the class {given.storage_class!r}, not {found.name!r}"
    if given.driver and given.driver != found.provisioner:
        yield f"{given.driver} made it, not {found.provisioner}"


def _differences(node: str, found: StorageClass, given: RentedVolume) -> Iterator[str]:
    """Parameters of the class that the driver noted otherwise; names are alike in any case."""
    noted = {name.lower(): value for name, value in given.attributes.items()}
    for name, asked in found.parameters.items():
        value = noted.get(name.lower(), asked)
        if value.lower() != asked.lower():
            yield f"{node}: the driver notes {name} {value} for its volume, the class has {asked}"


def _mechanism(found: StorageClass) -> dict[str, Any]:
    return {
        "mechanism": "volumes of a StorageClass",
        "storage_class": found.name,
        "provisioner": found.provisioner,
        "parameters": dict(found.parameters),
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


def _facts(tier: Tier, found: StorageClass, given: Mapping[str, RentedVolume]) -> dict[str, Any]:
    differences = [text for node, one in given.items() for text in _differences(node, found, one)]
    return {
        **_mechanism(found),
        "disks": {node: _about(node, one) for node, one in given.items()},
        **({"cloud": {"differences": differences}} if differences else {}),
    }
