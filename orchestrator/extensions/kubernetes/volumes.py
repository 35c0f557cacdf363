"""Networks and volumes of a campaign, each for the duration of a block, and claims of storage
classes (the `Claims` power of `powers.py`)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from orchestrator.errors import RunError, UnavailableError
from orchestrator.extensions.kubernetes import (
    campaigns,
    manifests,
    placing,
    space,
    trouble,
    volume_manifests,
)
from orchestrator.extensions.kubernetes.connection import Thing, cluster_errors
from orchestrator.extensions.kubernetes.space import Space, name_of, object_name
from orchestrator.platforms.common.lifecycle import taken_down
from orchestrator.powers import (
    Network,
    RentedVolume,
    SnapshotClass,
    StorageClass,
    VolumeSource,
)
from orchestrator.system.clock import wait_until, wait_while

# The size of a volume without a declared device. A tier without limits gets it where there is a
# class.
_UNDECLARED_SIZE_BYTES = 16 * 2**30


@dataclass
class Volumes:
    """Networks, volumes, and the `Claims` power. `claims`: volume → the claim by which pods use it;
    the volumes that have none end with their pods."""

    binding_s = 20.0

    space: Space
    placement: placing.Placement
    leftovers: campaigns.ClusterLeftovers
    claims: dict[str, str]
    await_unmounted: Callable[[str, str], None]  # a device, where this placement runs

    @contextmanager
    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> Iterator[Network]:
        """A network in which nodes have names."""
        # The same in each campaign: a database that starts from a copy of its disk looks for its
        # peers by their old names.
        numbers = range(1, nodes + 1)
        names = [f"node-{number}.{manifests.SERVICE}" for number in numbers]
        with self.space.holding("network", manifests.service(name)):
            yield Network(name, tuple(names))

    @contextmanager
    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> Iterator[str]:
        with ExitStack() as up:
            if device:
                up.enter_context(self._local_volume(name, device, fstype, placement))
                self.claims[name] = object_name(name)
            else:
                default = self._default_class()
                if default:
                    claim = self.claim(name, default.name, _UNDECLARED_SIZE_BYTES)
                    up.enter_context(claim)
            up.callback(self.claims.pop, name, None)
            yield name

    def _default_class(self) -> StorageClass | None:
        """UnavailableError for one that keeps its volumes."""
        for storage_class in self.storage_classes():
            if storage_class.is_default:
                if storage_class.retains:
                    raise _keeps_volumes(storage_class)
                return storage_class
        return None

    @contextmanager
    def _local_volume(
        self, name: str, device: str, fstype: str, placement: str
    ) -> Iterator[None]:
        claim = object_name(name)
        machine = self.placement.machine_for(placement)
        namespace = self.space.namespace
        volume = object_name(f"{namespace}-{name.removeprefix(f'{namespace}-')}")

        manifest = volume_manifests.local_volume(
            volume, claim, namespace, device, fstype, machine
        )
        unmounted = partial(self.await_unmounted, device, placement)
        self.space.remove("claim", claim)
        with taken_down(unmounted), self.space.holding("volume", manifest):
            self._await_phase("volume", volume, "Available")
            with self.space.holding(
                "claim", volume_manifests.claim(claim, volume=volume)
            ):
                self._await_phase("claim", claim, "Bound")
                yield

    def _await_phase(self, kind: str, name: str, phase: str) -> None:
        """A claim that is seen before its volume is looked at again only 15 s later, and so is a
        pod before its claim. Past the deadline the pod's start says what is wrong."""

        def reached() -> bool:
            thing = self.space.api.get(self.space.path(kind, name))
            return (thing.get("status") or {}).get("phase") == phase

        wait_until(
            reached, deadline_s=self.binding_s, clock=self.space.clock, every_s=0.05
        )

    # -------------------------------------------------------------- claims of storage classes

    def storage_classes(self) -> tuple[StorageClass, ...]:
        things = self.space.listed("storage class")
        classes = [volume_manifests.described_class(thing) for thing in things]
        return tuple(sorted(classes, key=attrgetter("name")))

    @contextmanager
    def storage_class(self, manifest: Mapping[str, Any]) -> Iterator[StorageClass]:
        with self.space.holding("storage class", dict(manifest)) as created:
            yield volume_manifests.described_class(created)

    @contextmanager
    def claim(
        self,
        name: str,
        storage_class: str,
        size_bytes: int,
        source: VolumeSource | None = None,
        stays: bool = False,
    ) -> Iterator[str]:
        names = [there.name for there in self.storage_classes()]
        if storage_class not in names:
            raise UnavailableError(
                f"the cluster has no storage class {storage_class}",
                advice=f"it has: {', '.join(names) or 'none'}",
            )
        manifest = volume_manifests.claim(name, storage_class, str(size_bytes), source)
        doing = f"claiming volume {name} of {storage_class}"
        remove = partial(self._remove_claim, name)
        with self.space.holding("claim", manifest, stays, doing, remove):
            self.claims[name] = object_name(name)
            yield name
            self.claims.pop(name, None)

    def _remove_claim(self, name: str) -> None:
        """Removes a claim, and waits until its volume is gone, too, where that costs money."""
        # Looked up before: without its claim the volume would not be found.
        volume = self._volume_of(name)
        self.space.remove("claim", name)
        if not volume:
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
            return
        rented = name_of(volume)
        there = partial(self.space.find, "volume", rented)
        limit_s = space.REMOVAL_S
        if wait_while(there, deadline_s=limit_s, clock=self.space.clock, every_s=0.3):
            raise RunError(
                f"the rented volume {rented} of {name} is not gone after {limit_s:g} s",
                advice="look with `kubectl get pv`: it may cost money until it is removed",
            )

    def _volume_of(self, claim: str) -> Thing | None:
        thing = self.space.find("claim", claim) or {}
        bound = thing.get("spec", {}).get("volumeName")
        if bound:
            return self.space.find("volume", bound)
        return None

    def rented(self, claim: str, timeout_s: float) -> RentedVolume:
        bound = partial(self._volume_of, claim)
        volume = wait_until(
            bound, deadline_s=timeout_s, clock=self.space.clock, every_s=0.3
        )
        if volume is None:
            events = self.space.events(object_name(claim))
            why = trouble.volume_trouble(events) or "its provisioner says nothing"
            raise RunError(
                f"the claim {claim} got no volume within {timeout_s:g} s: {why}",
                advice=(
                    "check its storage class, and that its driver runs. A class that "
                    "waits for its first consumer gives a volume only to a container "
                    "that uses it"
                ),
            )
        return volume_manifests.described_volume(volume)

    # -------------------------------------------------------------- snapshots

    def snapshot_class(self, driver: str) -> SnapshotClass | None:
        classes: list[SnapshotClass] = []
        for thing in self.space.listed("snapshot class"):
            if thing.get("driver") == driver:
                retains = thing.get("deletionPolicy") == "Retain"
                classes.append(SnapshotClass(name_of(thing), retains))
        # One of a driver's classes that removes its snapshots is taken: others would stay, and cost
        # money.
        return min(classes, key=attrgetter("retains"), default=None)

    def holds(self, source: VolumeSource) -> bool:
        return self.space.find(source.kind, source.name) is not None

    def retained(self) -> tuple[str, ...]:
        with cluster_errors("looking for volumes that stay"):
            return tuple(self.leftovers.rented(self.space.namespace, wanted="Retain"))

    @contextmanager
    def snapshot(
        self, name: str, claim: str, timeout_s: float, stays: bool
    ) -> Iterator[str]:
        with cluster_errors(f"keeping {claim} as a snapshot"):
            snapshot_class = self._snapshot_class_of(claim)
            # Whether a snapshot is gone is seen by its content: who may not list that is refused
            # before one is made.
            self.space.listed("snapshot content")
        class_name = ""
        if snapshot_class:
            class_name = snapshot_class.name
        manifest = volume_manifests.snapshot(name, claim, class_name)
        with self.space.holding("snapshot", manifest, stays):
            self._await_snapshot(name, timeout_s)
            yield name

    def _snapshot_class_of(self, claim: str) -> SnapshotClass | None:
        """The snapshot class of the driver that made the claim's volume; None if the driver has
        none."""
        thing = self.space.api.get(self.space.path("claim", claim))
        class_name = thing["spec"].get("storageClassName")
        for storage_class in self.storage_classes():
            if storage_class.name == class_name:
                return self.snapshot_class(storage_class.provisioner)
        return None

    def _await_snapshot(self, name: str, timeout_s: float) -> None:
        """RunError, with the driver's words, if it is not ready in time."""

        def unready() -> str:
            thing = self.space.api.get(self.space.path("snapshot", name))
            status = thing.get("status") or {}
            if status.get("readyToUse"):
                return ""
            message = (status.get("error") or {}).get("message")
            return str(message or "its driver says nothing")

        with cluster_errors(f"waiting for the snapshot {name}"):
            why = wait_while(
                unready, deadline_s=timeout_s, clock=self.space.clock, every_s=0.3
            )
            if why:
                raise RunError(
                    f"the snapshot {name} is not ready after {timeout_s:g} s: {why}"
                )


def _keeps_volumes(storage_class: StorageClass) -> UnavailableError:
    return UnavailableError(
        f"the default storage class {storage_class.name} keeps its volumes. "
        "One for each node and run would stay, and cost money",
        advice="make one the default whose reclaimPolicy is Delete, or declare "
        "the nodes' disks in the profile",
    )
