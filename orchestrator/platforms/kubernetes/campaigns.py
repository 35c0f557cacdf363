"""What campaigns leave on a cluster, and how it is removed.

Outside of a campaign's own namespace only things with our label are ever removed. Of a namespace
that is given to campaigns that is so within it, too, and it stays.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator
from functools import partial

from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.keys.messages import failure
from orchestrator.platforms.common.lifecycle import Swept
from orchestrator.platforms.kubernetes import space
from orchestrator.platforms.kubernetes.connection import Refused, Thing, Unanswered, cluster_errors
from orchestrator.platforms.kubernetes.manifests import SNAPSHOTS
from orchestrator.platforms.kubernetes.space import Space, annotation_of, label_of, name_of
from orchestrator.system.clock import wait_while

CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
_GONE_S = 300.0
_POLITE_S = 5.0  # of a leftover: its campaign is dead, nobody keeps what it would still write
# Those that use others come first.
KINDS = (
    ("container", "api/v1", "pods"),
    ("secret", "api/v1", "secrets"),
    ("snapshot", f"apis/{SNAPSHOTS}/v1", "volumesnapshots"),
    ("claim", "api/v1", "persistentvolumeclaims"),
    ("network", "api/v1", "services"),
)


class ClusterLeftovers:
    """What is there of all campaigns: their namespaces, each with all that is in it, and what they
    have outside of them. `other`: the live campaign beside this one; `forget`: is told the name of
    each container that goes."""

    def __init__(self, space: Space) -> None:
        self._space, self._api, self._clock = space, space.api, space.clock

    def remove(self, campaign: str) -> list[str]:
        """Removes all of a campaign, of a given namespace only what it made there. Returns one line
        for each thing. RunError if something stays."""
        removed: list[str] = []
        folders = [("volume", space.VOLUMES), ("storage class", space.CLASSES)]
        if self._space.given:
            namespace = self._space.given
            within = [
                (kind, self._space.path(plural, group=group)) for kind, group, plural in KINDS
            ]
            folders = [*within, *folders]
        else:
            namespace = space.namespace_of(campaign)
            removed += self._remove_namespace(namespace)
        for kind, folder in folders:
            things = self._api.listed(folder, f"{self._space.mark},{space.CAMPAIGN}={campaign}")
            for thing in sorted(things, key=_is_disk):
                what, address = f"{kind} {name_of(thing)}", f"{folder}/{name_of(thing)}"
                self._space.claimed.add(address)
                self._api.remove(address, _POLITE_S if kind == "container" else None)
                self._space.await_gone(what, address, _GONE_S)
                removed.append(what)
        self.await_rented(namespace)
        return removed

    def _remove_namespace(self, name: str) -> Iterator[str]:
        path = f"{space.NAMESPACES}/{name}"
        if self._api.find(path) is not None:
            for pod in self._api.listed(f"{path}/pods"):
                self._api.remove(f"{path}/pods/{name_of(pod)}", _POLITE_S)
            self._api.remove(path)
            yield f"namespace {name}"
        self._space.await_gone(f"namespace {name}", path, _GONE_S)

    def trouble_of_removal(self) -> TierbenchError | None:
        """Removes this campaign's; returns why what was rented may still be there, if it may."""
        try:
            with cluster_errors("removing it"):
                self.remove(self._space.campaign)
        except (RunError, UnavailableError) as error:
            with contextlib.suppress(Refused, Unanswered):
                folder = self._space.path("persistentvolumeclaims")
                claims = self._api.listed(folder, self._space.mark if self._space.given else "")
                if not claims and not self.rented(self._space.namespace):
                    return None
            return error
        return None

    def await_rented(self, namespace: str, kept: Collection[str] = ()) -> None:
        """Waits until the namespace's volumes and snapshots are gone, which cost money, without
        those of `kept` (addresses) and of classes that keep them. RunError if some stay."""

        rented = partial(self.rented, namespace, kept)
        if names := wait_while(rented, deadline_s=_GONE_S, clock=self._clock, every_s=0.5):
            said = ", ".join(names)
            raise failure(RunError, "rent stays", of=namespace, within_s=_GONE_S, names=said)

    def rented(
        self, namespace: str, kept: Collection[str] = (), wanted: str = "Delete"
    ) -> list[str]:
        """The volumes and snapshots of a namespace whose policy is `wanted`, without `kept`."""
        try:
            contents = self._api.listed(CONTENTS)
        except Refused:  # who may not see them can have made none
            contents = []
        claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        snapshots = f"/apis/{SNAPSHOTS}/v1/namespaces/{namespace}/volumesnapshots"
        names = []
        for things, owner_key, folder, policy in (
            (self._api.listed(space.VOLUMES), "claimRef", claims, "persistentVolumeReclaimPolicy"),
            (contents, "volumeSnapshotRef", snapshots, "deletionPolicy"),
        ):
            for thing in things:
                spec = thing["spec"]
                owner = spec.get(owner_key) or {}
                address = f"{folder}/{owner.get('name')}"
                is_meant = owner.get("namespace") == namespace and spec.get(policy) == wanted
                is_meant &= not self._space.given or address in self._space.claimed
                if is_meant and address not in kept:
                    names.append(name_of(thing))
        return names

    def listed(self, other: str | None, forget: Callable[[str], None]) -> tuple[str, ...]:
        """What others have left, and what is in their namespaces, one line each."""
        lines: list[str] = []
        with cluster_errors("looking for leftovers"):
            for kind, name, _ in self._found(other, forget, own=False):
                for inner, group, plural in KINDS if kind == "namespace" else ():
                    things = self._api.listed(f"/{group}/namespaces/{name}/{plural}", space.MARK)
                    lines += [f"{inner} {space.name_here(thing)} of {name}" for thing in things]
                lines.append(f"{kind} {name}")
        return tuple(lines)

    def sweep(self, other: str | None, forget: Callable[[str], None]) -> tuple[str, ...]:
        """Removes all but what is kept in the space."""
        swept = Swept()
        with cluster_errors("removing leftovers"):
            for kind, thing, remove in self._found(other, forget):
                swept.take(f"{kind} {thing}", remove)
            try:
                self.await_rented(self._space.namespace, self._space.kept)
            except TierbenchError as error:
                swept.kept.append(error.what)
        return swept.result("kubectl get all,pvc,pv -A -l tierbench=1")

    def _found(
        self, other: str | None, forget: Callable[[str], None], own: bool = True
    ) -> Iterator[tuple[str, str, Callable[[], list[str] | None]]]:
        """What is ours, in the order of its removal. `own`: of this program, too."""
        living = {other, self._space.campaign}
        for kind, group, plural in KINDS if own or self._space.given else ():
            folder = f"/{group}/namespaces/{self._space.namespace}/{plural}"
            for thing in sorted(self._api.listed(folder, self._space.mark), key=_is_disk):
                name, owner = name_of(thing), label_of(thing, space.CAMPAIGN)
                if f"{folder}/{name}" in self._space.kept or owner in ({other} if own else living):
                    continue
                self._space.claimed.add(f"{folder}/{name}")
                if kind == "container":
                    forget(annotation_of(thing, space.NAME))
                yield kind, space.name_here(thing), self._removal(kind, folder, name)
        namespaces = [] if self._space.given else self._api.listed(space.NAMESPACES, space.MARK)
        owners = {label_of(thing, space.CAMPAIGN): name_of(thing) for thing in namespaces}
        for campaign in sorted(owners.keys() - living):
            yield "namespace", owners[campaign], partial(self._namespace_removed, campaign)
        for kind, folder in (("volume", space.VOLUMES), ("storage class", space.CLASSES)):
            for thing in self._api.listed(folder, self._space.mark):
                owner, name = label_of(thing, space.CAMPAIGN), name_of(thing)
                if (own and owner == self._space.campaign) or owner not in living:
                    yield kind, name, self._removal(kind, folder, name)

    def _namespace_removed(self, campaign: str) -> list[str]:
        with cluster_errors(f"removing the namespace of campaign {campaign}"):
            return self.remove(campaign)

    def _removal(self, kind: str, folder: str, name: str) -> Callable[[], None]:
        return partial(self._space.remove, kind, f"{folder}/{name}", name, _POLITE_S)


def _is_disk(thing: Thing) -> bool:
    """Databases and clients go before disks: a mounted device cannot be removed."""
    return label_of(thing, space.ROLE) == "disk"
