"""The power to rent volumes by claims, which only some platforms have (`RentsVolumes`).

A claim names a storage class and a size, and gets a volume of its own. Everything made here has our
label and belongs to the campaign: it is removed at the end of its block, and by `sweep`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable


@dataclass(frozen=True)
class VolumeSource:
    """What a new volume is a copy of: a claim, or a snapshot, of this campaign, by its name."""

    kind: Literal["claim", "snapshot"]
    name: str


@dataclass(frozen=True)
class RentedVolume:
    """What a claim got, as the platform says: for comparison with what was asked for.

    `size_bytes`: its capacity, as the provider rounded it. `handle`: the provider's name of the
    disk; `attributes`: what its driver noted about it (not all drivers note IOPS). `machines`:
    labels that a machine must have to use it, `key=value`; of a zonal disk, its zone.
    """

    name: str
    storage_class: str
    driver: str
    size_bytes: int
    handle: str = ""
    fstype: str = ""
    mount_options: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    machines: tuple[str, ...] = ()


@dataclass(frozen=True)
class StorageClass:
    """A class that exists. `waits`: a claim gets its volume only when a container uses it.
    `retains`: its volumes stay, and cost money, when their claims are gone."""

    name: str
    provisioner: str
    parameters: Mapping[str, str]
    waits: bool
    is_default: bool = False
    mount_options: tuple[str, ...] = ()
    retains: bool = False


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

    def storage_class(self, manifest: Mapping[str, Any]) -> AbstractContextManager[StorageClass]:
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
        """Makes a claim, empty or as a copy; removes it at the end, and waits until its volume is
        gone. Yields its name. UnavailableError if the class is missing, or its quota exceeded.
        `stays`: unless the block raises, it stays until the end of the campaign.

        The volume may come only when a container uses it: on what machine is then decided by the
        container's `placement`."""

    def rented(self, claim: str, timeout_s: float) -> RentedVolume:
        """Waits until a claim has its volume, and returns what it is. RunError, with what the
        provisioner says, if it gets none within the timeout. For a class that `waits`, call it
        when a container uses the claim."""

    def snapshot_class(self, driver: str) -> SnapshotClass | None:
        """Returns a driver's class of snapshots, rather one that does not keep them, if any."""

    def holds(self, source: VolumeSource) -> bool:
        """Returns whether a claim or a snapshot of this campaign is there."""

    def retained(self) -> tuple[str, ...]:
        """Returns what this campaign rented and outlives it, because its class keeps it."""

    def snapshot(
        self, name: str, claim: str, timeout_s: float, stays: bool = False
    ) -> AbstractContextManager[str]:
        """Keeps the content of a claim that nothing writes to; yields when the snapshot may be a
        `Source`. RunError, with the driver's words, if it is not ready within the timeout.
        `stays`: as of a claim."""


@runtime_checkable
class RentsVolumes(Protocol):
    """A platform on which volumes can be rented."""

    @property
    def claims(self) -> Claims: ...

    def sweep_between_runs(self) -> tuple[str, ...]:
        """As `Platform.sweep`, except what `stays` until the end of the campaign."""
