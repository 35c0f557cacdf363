"""Volumes that are rented for a campaign, by claims and snapshots."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class VolumeSource:
    """What a new volume is a copy of: a claim, or a snapshot, of this campaign, by its name."""

    kind: Literal["claim", "snapshot"]
    name: str


# Key of a label → the values of which a machine has one. It has to have all of the labels.
MachineTerm = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class RentedVolume:
    """What a claim got, as the platform says."""

    name: str
    storage_class: str
    driver: str
    # The size as the provider rounded it.
    size_bytes: int
    # The provider's name of the disk.
    handle: str = ""
    fstype: str = ""
    mount_options: tuple[str, ...] = ()
    # Attributes that its driver noted.
    attributes: Mapping[str, str] = field(default_factory=dict)
    # A machine can use it that meets one of these terms; any machine can where there is none.
    machine_terms: tuple[MachineTerm, ...] = ()

    @property
    def machines(self) -> tuple[str, ...]:
        """Labels of machines that can use it, `key=value`, of all terms."""
        labels: dict[str, None] = {}
        for term in self.machine_terms:
            for key, values in term.items():
                for value in values:
                    labels[f"{key}={value}"] = None
        return tuple(labels)


@dataclass(frozen=True)
class StorageClass:
    """A class that exists."""

    name: str
    provisioner: str
    parameters: Mapping[str, str]
    # A claim gets its volume only when a container uses it.
    waits: bool
    is_default: bool
    # The volumes of the class stay, and cost money, when their claims are gone.
    retains: bool
    mount_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class SnapshotClass:
    """`retains`: what a snapshot holds stays, and costs money, when the snapshot is gone."""

    name: str
    retains: bool


class Claims(Protocol):
    """Names of claims and snapshots are those of the caller; a `Mount` names a claim as its source.
    All may raise UnavailableError, if rights are missing or nothing answers."""

    def storage_classes(self) -> tuple[StorageClass, ...]:
        """Returns all classes that exist, ours and others', by name."""

    def storage_class(
        self, manifest: Mapping[str, Any]
    ) -> AbstractContextManager[StorageClass]:
        """Makes the class of a manifest (as in YAML), and yields it. One of ours that has its name
        is replaced; UnavailableError if one that is not ours has it."""

    def claim(
        self,
        name: str,
        storage_class: str,
        size_bytes: int,
        source: VolumeSource | None = None,
        stays: bool = False,
    ) -> AbstractContextManager[str]:
        """Makes a claim, empty or as a copy, and yields its name; removes it at the end, and its
        volume with it. UnavailableError if the class is missing, or its quota exceeded. `stays`:
        until the end of the campaign, unless the block raises. The volume may come only when a
        container uses it."""

    def rented(self, claim: str, timeout_s: float) -> RentedVolume:
        """Waits for a claim's volume, and returns what it is; of a class that `waits`, while a
        container uses it. RunError, with what the provisioner says, if none comes in time."""

    def snapshot_class(self, driver: str) -> SnapshotClass | None:
        """Returns a driver's class of snapshots, rather one that does not keep them, if any."""

    def holds(self, source: VolumeSource) -> bool:
        """Returns whether a claim or a snapshot of this campaign is there."""

    def retained(self) -> tuple[str, ...]:
        """Returns what this campaign rented and outlives it, because its class keeps it."""

    def snapshot(
        self, name: str, claim: str, timeout_s: float, stays: bool
    ) -> AbstractContextManager[str]:
        """Keeps the content of a claim that nothing writes to; yields when it may be a
        `VolumeSource`. RunError, with the driver's words, if that is not in time. `stays`: as of a
        claim."""
