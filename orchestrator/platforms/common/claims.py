"""The power to rent volumes by claims, which only some platforms have (`RentsVolumes`).

A claim names a storage class and a size, and gets a volume of its own. Everything made here has our
label and belongs to the campaign: it is removed at the end of its block, and by `sweep`."""

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
    """What a claim got, as the platform says. `size_bytes`: as the provider rounded it. `handle`:
    the provider's name of the disk; `attributes`: what its driver noted. `machines`: labels that a
    machine must have to use it, `key=value`."""

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
        self, name: str, claim: str, timeout_s: float, stays: bool = False
    ) -> AbstractContextManager[str]:
        """Keeps the content of a claim that nothing writes to; yields when it may be a `Source`.
        RunError, with the driver's words, if that is not in time. `stays`: as of a claim."""


@runtime_checkable
class RentsVolumes(Protocol):
    """A platform on which volumes can be rented."""

    @property
    def claims(self) -> Claims: ...

    def sweep_between_runs(self) -> tuple[str, ...]:
        """As `Platform.sweep`, except what `stays` until the end of the campaign."""
