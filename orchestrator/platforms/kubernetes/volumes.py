"""Networks and volumes of a campaign, each for the duration of a block, and claims of storage
classes (the `Claims` power of `platforms/common/claims.py`)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from orchestrator.errors import RunError, UnavailableError
from orchestrator.platforms.common import claims as rent
from orchestrator.platforms.common.lifecycle import taken_down
from orchestrator.platforms.kubernetes import (
    campaigns,
    manifests,
    placing,
    space,
    trouble,
)
from orchestrator.platforms.kubernetes.connection import Thing, cluster_errors
from orchestrator.platforms.kubernetes.space import Space, name_of, object_name
from orchestrator.powers import Network
from orchestrator.system.clock import wait_until, wait_while

# Of a volume without a declared device: what a tier without limits gets where there is a class.
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
        """Names are always the same, so that databases start from copies of disks."""
        with self.space.holding("network", manifests.service(name)):
            numbers = range(1, nodes + 1)
            yield Network(name, tuple(f"node-{n}.{manifests.SERVICE}" for n in numbers))

    @contextmanager
    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> Iterator[str]:
        with ExitStack() as up:
            if device:
                up.enter_context(self._local_volume(name, device, fstype, placement))
                self.claims[name] = object_name(name)
            elif defaults := [
                known for known in self.storage_classes() if known.is_default
            ]:
                default = defaults[0]
                if default.retains:
                    raise UnavailableError(
                        f"the default storage class {default.name} keeps its volumes: one "
                        "for each node and run would stay, and cost money",
                        advice="make one the default whose reclaimPolicy is Delete, or declare "
                        "the nodes' disks in the profile",
                    )
                up.enter_context(self.claim(name, default.name, _UNDECLARED_SIZE_BYTES))
            up.callback(self.claims.pop, name, None)
            yield name

    @contextmanager
    def _local_volume(
        self, name: str, device: str, fstype: str, placement: str
    ) -> Iterator[None]:
        claim = object_name(name)
        machine = self.placement.machine_for(placement)
        namespace = self.space.namespace
        volume = object_name(f"{namespace}-{name.removeprefix(f'{namespace}-')}")

        manifest = manifests.local_volume(
            volume, claim, namespace, device, fstype, machine
        )
        unmounted = partial(self.await_unmounted, device, placement)
        self.space.remove("claim", claim)
        with taken_down(unmounted), self.space.holding("volume", manifest):
            self._await_phase("volume", volume, "Available")
            with self.space.holding("claim", manifests.claim(claim, volume=volume)):
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

    def storage_classes(self) -> tuple[rent.StorageClass, ...]:
        classes = map(manifests.described_class, self.space.listed("storage class"))
        return tuple(sorted(classes, key=lambda described: described.name))

    @contextmanager
    def storage_class(self, manifest: Mapping[str, Any]) -> Iterator[rent.StorageClass]:
        with self.space.holding("storage class", dict(manifest)) as created:
            yield manifests.described_class(created)

    @contextmanager
    def claim(
        self,
        name: str,
        storage_class: str,
        size_bytes: int,
        source: rent.VolumeSource | None = None,
        stays: bool = False,
    ) -> Iterator[str]:
        names = [known.name for known in self.storage_classes()]
        if storage_class not in names:
            known = ", ".join(names) or "none"
            raise UnavailableError(
                f"the cluster has no storage class {storage_class}",
                advice=f"it has: {known}",
            )
        manifest = manifests.claim(name, storage_class, str(size_bytes), source)
        doing = f"claiming volume {name} of {storage_class}"
        remove = partial(self._remove_claim, name)
        with self.space.holding("claim", manifest, stays, doing, remove):
            self.claims[name] = object_name(name)
            yield name
            self.claims.pop(name, None)

    def _remove_claim(self, name: str) -> None:
        """And waits until its volume is gone, too, where that costs money."""
        volume = self._volume_of(name)
        self.space.remove("claim", name)
        if (
            not volume
            or volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete"
        ):
            return
        there = partial(self.space.find, "volume", name_of(volume))
        limit_s = space.REMOVAL_S
        if wait_while(there, deadline_s=limit_s, clock=self.space.clock, every_s=0.3):
            of = name_of(volume)
            raise RunError(
                f"the rented volume {of} of {name} is not gone after {limit_s:g} s",
                advice="look with `kubectl get pv`: it may cost money until it is removed",
            )

    def _volume_of(self, claim: str) -> Thing | None:
        thing = self.space.find("claim", claim) or {}
        bound = thing.get("spec", {}).get("volumeName")
        if bound:
            return self.space.find("volume", bound)
        return None

    def rented(self, claim: str, timeout_s: float) -> rent.RentedVolume:
        bound = partial(self._volume_of, claim)
        volume = wait_until(
            bound, deadline_s=timeout_s, clock=self.space.clock, every_s=0.3
        )
        if volume is None:
            events = self.space.events(object_name(claim))
            said = trouble.volume_trouble(events) or "its provisioner says nothing"
            raise RunError(
                f"the claim {claim} got no volume within {timeout_s:g} s: {said}",
                advice="is its storage class right, and its driver running? A class that "
                "waits for its first consumer gives a volume only to a container "
                "that uses it",
            )
        return manifests.described_volume(volume)

    # -------------------------------------------------------------- snapshots

    def snapshot_class(self, driver: str) -> rent.SnapshotClass | None:
        classes = [
            rent.SnapshotClass(name_of(thing), thing.get("deletionPolicy") == "Retain")
            for thing in self.space.listed("snapshot class")
            if thing.get("driver") == driver
        ]
        return min(classes, key=lambda described: described.retains, default=None)

    def holds(self, source: rent.VolumeSource) -> bool:
        return self.space.find(source.kind, source.name) is not None

    def retained(self) -> tuple[str, ...]:
        with cluster_errors("looking for volumes that stay"):
            return tuple(self.leftovers.rented(self.space.namespace, wanted="Retain"))

    @contextmanager
    def snapshot(
        self, name: str, claim: str, timeout_s: float, stays: bool = False
    ) -> Iterator[str]:
        with cluster_errors(f"keeping {claim} as a snapshot"):
            of = self.space.api.get(self.space.path("claim", claim))["spec"].get(
                "storageClassName"
            )
            drivers = [
                known.provisioner
                for known in self.storage_classes()
                if known.name == of
            ]
            by = None
            if drivers:
                by = self.snapshot_class(drivers[0])
            self.space.listed(
                "snapshot content"
            )  # by which it is seen whether it is gone

        def trouble_of_driver() -> str:
            status = (
                self.space.api.get(self.space.path("snapshot", name)).get("status")
                or {}
            )
            said = (status.get("error") or {}).get(
                "message"
            ) or "its driver says nothing"
            if status.get("readyToUse"):
                return ""
            return str(said)

        manifest = manifests.snapshot(name, claim, by.name if by else "")
        with self.space.holding("snapshot", manifest, stays):
            with cluster_errors(f"waiting for the snapshot {name}"):
                said = wait_while(
                    trouble_of_driver,
                    deadline_s=timeout_s,
                    clock=self.space.clock,
                    every_s=0.3,
                )
                if said:
                    why = f"is not ready after {timeout_s:g} s: {said}"
                    raise RunError(f"the snapshot {name} {why}")
            yield name
