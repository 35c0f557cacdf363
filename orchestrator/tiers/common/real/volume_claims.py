"""Volumes that a cluster provisions for claims, one for each node of a tier's StorageClass.

Volumes and a class of ours are rented for a block and given back at its end. What a claim was given
is read back from its PersistentVolume, because a driver may give less than was asked for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.design.node_disks import node_names
from orchestrator.errors import GateError, UnavailableError, UsageError
from orchestrator.model import Volume
from orchestrator.powers import Claims, RentedVolume, StorageClass, VolumeSource, World
from orchestrator.system import at_once
from orchestrator.tier import ClassWanted, Tier
from orchestrator.tier_catalog import storage_classes
from orchestrator.tiers.common.emulated import disk_files
from orchestrator.tiers.common.gate import fio_containers
from orchestrator.units import format_bytes, listed

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


def wanted_by(tier: Tier) -> ClassWanted:
    if tier.disk.storage_class is None:
        raise UsageError(
            f"{tier.name}: `enforcement: storage-class` needs a `storage_class`",
            advice="name one, or a row of the catalog as `type`",
        )
    return tier.disk.storage_class


def size_bytes(tier: Tier) -> int:
    # The volume holds the file of the disk check where nothing says how large it must be.
    return wanted_by(tier).size_bytes or disk_files.GATE_BYTES


@contextmanager
def class_of(tier: Tier, world: World) -> Iterator[StorageClass]:
    """The class that the tier names, or one that is made for the block."""
    platform = claims_of(tier.name, world)
    wanted = wanted_by(tier)
    if not wanted.provisioner:
        classes = {there.name: there for there in platform.storage_classes()}
        if wanted.name not in classes:
            raise UnavailableError(
                f"{tier.name}: the StorageClass {wanted.name!r} is gone"
            )
        yield classes[wanted.name]
        return
    # Classes are of the whole cluster, and another campaign may want the same row at this moment.
    name = storage_classes.object_name(
        f"tierbench-{world.platform.campaign}-{wanted.name}"
    )
    content = storage_classes.content(replace(wanted, name=name))
    with platform.storage_class(content) as storage_class:
        yield storage_class


@dataclass(frozen=True)
class Rented:
    """A class, and volumes of it, one for each node."""

    storage_class: StorageClass
    volumes: tuple[Volume, ...]


@contextmanager
def rented(
    tier: Tier,
    names: Sequence[str],
    sources: Sequence[VolumeSource | None],
    world: World,
    stays: bool = False,
    kept: bool = False,
) -> Iterator[Rented]:
    """A volume for each node, which is a copy of its source."""
    with class_of(tier, world) as storage_class:
        platform = claims_of(tier.name, world)
        class_name = storage_class.name
        claims = [
            platform.claim(name, class_name, size_bytes(tier), source, stays=stays)
            for name, source in zip(names, sources, strict=True)
        ]
        with at_once.entered(claims) as claimed:
            volumes = _on_nodes(claimed, sources, kept)
            yield Rented(storage_class, volumes)


def _on_nodes(
    claims: Sequence[str], sources: Sequence[VolumeSource | None], kept: bool
) -> tuple[Volume, ...]:
    """The claim of each node as a volume, in their order."""
    volumes: list[Volume] = []
    nodes = node_names(len(sources))
    for claim, source, node in zip(claims, sources, nodes, strict=True):
        restored = source is not None
        volume = Volume(claim, "", restored=restored, kept=kept, placement=node)
        volumes.append(volume)
    return tuple(volumes)


def keep_snapshots(tier: Tier, names: Sequence[str], world: World) -> None:
    """Makes a snapshot of each claim, of the same name, which stays."""
    platform = claims_of(tier.name, world)
    for name in names:
        world.progress.step(f"keeping a snapshot of {name}")
        # The block begins once the snapshot is whole, and leaves it there.
        with platform.snapshot(name, name, _COPY_S, stays=True):
            pass


def facts_of_rented(tier: Tier, rented: Rented, world: World) -> dict[str, Any]:
    """What all volumes are, as a run's facts keep it. GateError as `given`."""
    storage_class = rented.storage_class
    volumes = rented.volumes
    given_to_all = at_once.each(
        lambda volume: given(tier, volume, storage_class, world), volumes
    )
    disks: dict[str, dict[str, Any]] = {}
    differences: list[str] = []
    for volume, given_volume in zip(volumes, given_to_all, strict=True):
        node = volume.placement
        disks[node] = facts_of(node, given_volume)
        differences += _differences(node, storage_class, given_volume)
    facts = {**mechanism(storage_class), "disks": disks}
    if differences:
        facts["cloud"] = {"differences": differences}
    return facts


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


def mechanism(storage_class: StorageClass) -> dict[str, Any]:
    return {
        "mechanism": "volumes of a StorageClass",
        "storage_class": storage_class.name,
        "provisioner": storage_class.provisioner,
        "parameters": dict(storage_class.parameters),
    }


def facts_of(node: str, given: RentedVolume) -> dict[str, Any]:
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
