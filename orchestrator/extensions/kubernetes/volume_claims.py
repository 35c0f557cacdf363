"""Volumes that a cluster provisions for claims, one for each node of a tier's StorageClass, and one
for its log if the tier has such disks.

Volumes and a class of ours are rented for a block and given back at its end. What a claim was given
is read back from its PersistentVolume, because a driver may give less than was asked for.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.design.node_disks import WAL_DISK, node_names
from orchestrator.errors import GateError, UnavailableError, UsageError
from orchestrator.extensions.kubernetes import class_manifests, volume_places
from orchestrator.model import Volume
from orchestrator.powers import Claims, RentedVolume, StorageClass, VolumeSource, World
from orchestrator.system import at_once
from orchestrator.texts.prose import listed
from orchestrator.tier import ClassWanted, Tier
from orchestrator.tier.slow_disk import disk_of_node, whose_disk
from orchestrator.tier_catalog import storage_classes
from orchestrator.tiers.common.any_disk import fio_containers, log_disks
from orchestrator.units import format_bytes

_RENT_S = 600.0  # a cloud makes and attaches a disk within minutes
_COPY_S = 3600.0  # the limit of making a snapshot, or of reading a copy in full
_READ_ALL = ("sh", "-c", "find /tier -xdev -type f -exec cat {} + > /dev/null")


def claims_of(needed_by: str, world: World) -> Claims:
    """What the platform rents volumes by. UnavailableError if it rents none."""
    claims = world.platform.abilities.claims
    if claims is None:
        raise UnavailableError(
            f"{needed_by}: only Kubernetes has volumes of a StorageClass",
            advice="say PLATFORM=kubernetes, or use `enforcement: emulated`",
        )
    return claims


@dataclass(frozen=True)
class ClaimedTier:
    """The tier of the volumes that hold the nodes' data, or of those of their logs."""

    tier: Tier
    of_log: bool

    def names(self, nodes: int) -> list[str]:
        """A name for the volume of each node, which no other one of the nodes has."""
        names = node_names(nodes)
        if self.of_log:
            return [f"{name}{WAL_DISK}" for name in names]
        return names

    def disk(self, node: str) -> str:
        """The name of that node's disk in facts and checks."""
        return disk_of_node(node, of_log=self.of_log)

    def user(self, node: str) -> str:
        """Who uses that node's disk, in words."""
        return whose_disk(node, of_log=self.of_log)


def claimed(tier: Tier) -> tuple[ClaimedTier, ...]:
    """The volumes that each node has: of its data, and of its log if the tier has such disks."""
    data = ClaimedTier(tier, of_log=False)
    if tier.wal is None:
        return (data,)
    return (data, ClaimedTier(tier.wal, of_log=True))


def wanted_by(tier: Tier) -> ClassWanted:
    if tier.disk.storage_class is None:
        raise UsageError(
            f"{tier.name}: `enforcement: storage-class` needs a `storage_class`",
            advice="name one, or a row of the catalog as `type`",
        )
    return tier.disk.storage_class


def size_bytes(tier: Tier) -> int:
    # The volume holds the file of the disk check where nothing says how large it must be.
    return wanted_by(tier).size_bytes or fio_containers.GATE_BYTES


@contextmanager
def class_of(tier: Tier, world: World) -> Iterator[StorageClass]:
    """The class that the tier names, or one that is made for the block."""
    platform = claims_of(tier.name, world)
    wanted = wanted_by(tier)
    if not wanted.provisioner:
        classes = {there.name: there for there in platform.storage_classes()}
        if wanted.name not in classes:
            raise UnavailableError(
                f"{tier.name}: the StorageClass {wanted.name!r} is gone",
                advice=f"make it again, or name one of {listed(list(classes))}",
            )
        yield classes[wanted.name]
        return
    name = _name_of_class(tier, wanted, world.platform.campaign)
    content = class_manifests.content(replace(wanted, name=name))
    with platform.storage_class(content) as storage_class:
        yield storage_class


def _name_of_class(tier: Tier, wanted: ClassWanted, campaign: str) -> str:
    """What a class that is made is called in the cluster: unlike for unlike tiers."""
    # Classes are of the whole cluster, and another campaign may want the same row at this moment.
    name = storage_classes.object_name(f"tierbench-{campaign}-{wanted.name}")
    if wanted.name == storage_classes.class_name(tier.name):
        return name
    # Tiers whose names differ may want classes of one name.
    digest = hashlib.sha256(tier.name.encode()).hexdigest()[:6]
    return f"{name}-{digest}"


@dataclass(frozen=True)
class Claim:
    """A claim that is to be made. `source`: what its volume begins as a copy of; None: empty."""

    name: str
    source: VolumeSource | None = None


@dataclass(frozen=True)
class AskedVolumes:
    """Volumes that are to be rented, one for each node, in their order."""

    disks: ClaimedTier
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Rented:
    """Volumes of a class, one for each node: of their data, or of their logs."""

    disks: ClaimedTier
    storage_class: StorageClass
    volumes: tuple[Volume, ...]


@contextmanager
def rented(
    asked: Sequence[AskedVolumes],
    world: World,
    stays: bool,
    kept: bool,
) -> Iterator[tuple[Rented, ...]]:
    """The volumes of the nodes' data, and those of their logs if these are asked for too."""
    rents: list[Rented] = []
    with ExitStack() as up:
        for volumes in asked:
            tier = volumes.disks.tier
            storage_class = up.enter_context(class_of(tier, world))
            platform = claims_of(tier.name, world)
            making: list[AbstractContextManager[str]] = []
            class_name = storage_class.name
            for claim in volumes.claims:
                bracket = platform.claim(
                    claim.name, class_name, size_bytes(tier), claim.source, stays=stays
                )
                making.append(bracket)
            up.enter_context(at_once.entered(making))
            on_nodes = _on_nodes(volumes.claims, kept)
            rents.append(Rented(volumes.disks, storage_class, on_nodes))
        yield tuple(rents)


def _on_nodes(claims: Sequence[Claim], kept: bool) -> tuple[Volume, ...]:
    """The claim of each node as a volume, in their order."""
    volumes: list[Volume] = []
    for claim, node in zip(claims, node_names(len(claims)), strict=True):
        restored = claim.source is not None
        volume = Volume(claim.name, "", restored=restored, kept=kept, placement=node)
        volumes.append(volume)
    return tuple(volumes)


def volumes_of_nodes(rents: Sequence[Rented]) -> tuple[Volume, ...]:
    """The volume of each node's data, with that of its log if it has one."""
    data, *logs = rents
    if not logs:
        return data.volumes
    (log,) = logs
    return log_disks.on_nodes(data.volumes, log.volumes)


def keep_snapshots(rents: Sequence[Rented], world: World) -> None:
    """Makes a snapshot of each claim, of the same name, which stays."""
    for rented in rents:
        platform = claims_of(rented.disks.tier.name, world)
        for volume in rented.volumes:
            _keep_snapshot(volume.name, platform, world)


def _keep_snapshot(name: str, platform: Claims, world: World) -> None:
    world.progress.step(f"keeping a snapshot of {name}")
    # The block begins once the snapshot is whole, and leaves it there.
    with platform.snapshot(name, name, _COPY_S, stays=True):
        pass


@dataclass(frozen=True)
class _RentedDisk:
    """One of the volumes that were rented."""

    rented: Rented
    volume: Volume

    def given(self, world: World) -> RentedVolume:
        """GateError as the function `given`."""
        tier = self.rented.disks.tier
        return given(tier, self.volume, self.rented.storage_class, world)


def facts_of_rented(rents: Sequence[Rented], world: World) -> dict[str, Any]:
    """What all volumes are, as a run's facts keep it. GateError as `given`; UnavailableError if no
    machine takes the volumes of a node's data and of its log together."""
    rented_disks: list[_RentedDisk] = []
    for rented in rents:
        for volume in rented.volumes:
            rented_disks.append(_RentedDisk(rented, volume))
    # All at once, because a cloud takes minutes to make and attach one.
    given_to_all = at_once.each(lambda disk: disk.given(world), rented_disks)
    _require_a_machine_for_each(rented_disks, given_to_all)
    disks: dict[str, dict[str, Any]] = {}
    differences: list[str] = []
    for disk, volume_given in zip(rented_disks, given_to_all, strict=True):
        claimed_tier = disk.rented.disks
        node = disk.volume.placement
        name = claimed_tier.disk(node)
        disks[name] = facts_of(claimed_tier.user(node), volume_given)
        differences += _differences(name, disk.rented.storage_class, volume_given)
    classes = [rented.storage_class for rented in rents]
    facts = {**mechanism(classes), "disks": disks}
    if differences:
        facts["cloud"] = {"differences": differences}
    return facts


def _require_a_machine_for_each(
    rented_disks: Sequence[_RentedDisk], volumes: Sequence[RentedVolume]
) -> None:
    volumes_of_node: dict[str, list[RentedVolume]] = {}
    for disk, volume in zip(rented_disks, volumes, strict=True):
        volumes_of_node.setdefault(disk.volume.placement, []).append(volume)
    for node, volumes_there in volumes_of_node.items():
        volume_places.require_one_machine(node, volumes_there)


def given(
    tier: Tier, volume: Volume, storage_class: StorageClass, world: World
) -> RentedVolume:
    """What a claim was given. GateError if it is less, or another, than was asked for."""
    platform = claims_of(tier.name, world)
    # A class that waits (WaitForFirstConsumer) makes the volume only when a pod uses the claim, on
    # the machine where that runs.
    if storage_class.waits or volume.restored:
        spec = fio_containers.fio_container(
            f"{volume.name}-first", "client", volume, world
        )
        with world.platform.running(spec) as container:
            volume_given = platform.rented(volume.name, _RENT_S)
            if volume.restored:
                world.progress.step(f"reading the copy {volume.name} once")
                # EBS fetches a block of a copy when it is first read, so a
                # run would wait for that. What is left in the page cache
                # goes with the container, as the volume is then unmounted.
                container.exec(_READ_ALL, timeout_s=_COPY_S)
    else:
        volume_given = platform.rented(volume.name, _RENT_S)
    wrong = listed(list(_wrong(tier, storage_class, volume_given)))
    if wrong:
        raise GateError(
            f"{tier.name}: the volume of {volume.name} is not what was asked "
            f"for: {wrong}",
            advice=(
                "figures made on it would say nothing about the tier. See the "
                "class and its driver (`kubectl describe pv`)"
            ),
        )
    return volume_given


def _wrong(
    tier: Tier, storage_class: StorageClass, given: RentedVolume
) -> Iterator[str]:
    asked_bytes = storage_classes.whole_gib_bytes(size_bytes(tier))
    asked = format_bytes(asked_bytes)
    size = format_bytes(given.size_bytes)
    if given.size_bytes < asked_bytes:
        yield f"it has {size}, less than the {asked} asked for"
    # A class of ours has a row's size, and a cloud's larger disk has other limits. A driver of a
    # person's own class may round up as it likes.
    if given.size_bytes > asked_bytes and wanted_by(tier).provisioner:
        yield f"it has {size}, more than the {asked} asked for"
    if given.storage_class != storage_class.name:
        yield f"it is of the class {given.storage_class!r}, not {storage_class.name!r}"
    # A volume that nobody provisioned for the claim names no driver.
    if given.driver and given.driver != storage_class.provisioner:
        yield f"{given.driver} made it, not {storage_class.provisioner}"


def _differences(
    node: str, storage_class: StorageClass, volume: RentedVolume
) -> Iterator[str]:
    """Parameters of the class that the driver noted otherwise."""
    # Drivers note the parameters' names in other upper and lower case than the class has them.
    noted = {name.lower(): value for name, value in volume.attributes.items()}
    for name, asked in storage_class.parameters.items():
        # A parameter that the driver does not note is believed to be as asked.
        value = noted.get(name.lower(), asked)
        if value.lower() != asked.lower():
            yield (
                f"{node}: the driver reports {name} {value} for its volume, but the "
                f"class has {asked}"
            )


def mechanism(classes: Sequence[StorageClass]) -> dict[str, Any]:
    """What makes the disks of the data, and under `wal` those of the log if there are some."""
    data, *logs = classes
    facts = {"mechanism": "volumes of a StorageClass", **_class_facts(data)}
    for log in logs:
        facts["wal"] = _class_facts(log)
    return facts


def _class_facts(storage_class: StorageClass) -> dict[str, Any]:
    return {
        "storage_class": storage_class.name,
        "provisioner": storage_class.provisioner,
        "parameters": dict(storage_class.parameters),
    }


def facts_of(user: str, given: RentedVolume) -> dict[str, Any]:
    """A volume as the report shows a disk that was found. `user`: what a node keeps on it."""
    return {
        "used_by": [user],
        "device": given.name,
        "made_of": given.handle,
        "size_bytes": given.size_bytes,
        "file_system": given.fstype,
        "mount_options": ",".join(given.mount_options),
        "attributes": dict(given.attributes),
        "machines": list(given.machines),
    }
