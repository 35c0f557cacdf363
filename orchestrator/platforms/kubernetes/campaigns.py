"""Campaigns on a cluster: each has a namespace, which keeps others out, and goes with all in it.

The annotations of the namespace name host and process and bear the time of the last heartbeat, by
the API server's clock, renewed every half minute. If the process cannot be seen from here, a
campaign is alive while its heartbeat is young. Outside of a campaign's own namespace only things
with our label are ever removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.lifecycle import DEAD_S, Swept
from orchestrator.platforms.kubernetes import manifests
from orchestrator.platforms.kubernetes.connection import (
    RIGHTS,
    Refused,
    Thing,
    Unanswered,
    cluster_errors,
)
from orchestrator.platforms.kubernetes.space import (
    BEAT,
    CAMPAIGN,
    CLASSES,
    HOST,
    MARK,
    NAME,
    NAMESPACES,
    PROCESS,
    ROLE,
    VOLUMES,
    Space,
    annotation_of,
    label_of,
    name_of,
    namespace_of,
)
from orchestrator.platforms.kubernetes.volume_manifests import SNAPSHOTS
from orchestrator.system import host
from orchestrator.system.clock import wait_until

CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
_ACCOUNT_S, _GONE_S = 60.0, 300.0
_POLITE_S = 5.0  # of a leftover: its campaign is dead, nobody keeps what it would still write
# Those that use others come first.
_KINDS = (
    ("container", "api/v1", "pods"),
    ("secret", "api/v1", "secrets"),
    ("snapshot", f"apis/{SNAPSHOTS}/v1", "volumesnapshots"),
    ("claim", "api/v1", "persistentvolumeclaims"),
    ("network", "api/v1", "services"),
)


class NamespaceGuard:
    """The `Guard` protocol: the cluster's campaigns, as seen by that of `space`. `within`: what is
    done to the namespace while it is there."""

    def __init__(self, space: Space, within: Callable[[], AbstractContextManager[None]]) -> None:
        self._space, self._api, self._clock = space, space.api, space.clock
        self._within = within

    @contextmanager
    def held(self) -> Iterator[None]:
        """Makes the namespace, and removes it with all that is in it at the end of the block.
        UnavailableError if a live campaign has one, or if none may be made."""
        with cluster_errors("looking for another campaign"):
            self._refuse_if_one_lives()
        with cluster_errors(f"making the namespace {self._space.namespace}"):
            own = self._made()
        try:
            with cluster_errors("looking for another campaign"):
                self._refuse_if_one_lives(before=_age_and_name(own))
                self._await_account()
            with lifecycle.beating(self._beat), self._within():
                yield
        finally:
            # What cannot be removed now, the next campaign finds: this process is dead by then.
            with contextlib.suppress(Refused, Unanswered, RunError):
                self.remove(self._space.campaign)

    def other(self) -> str | None:
        """Returns the live campaign on this cluster, unless it is this one."""
        with cluster_errors("looking for another campaign"):
            living = self.living()
        return next((campaign for campaign in living if campaign != self._space.campaign), None)

    def living(self) -> set[str]:
        """Returns the campaigns that are alive; this one is while it has its namespace."""
        return {
            label_of(namespace, CAMPAIGN)
            for namespace in self.namespaces()
            if label_of(namespace, CAMPAIGN) == self._space.campaign or self._lives(namespace)
        }

    def namespaces(self) -> list[Thing]:
        return self._api.listed(NAMESPACES, MARK)

    def remove(self, campaign: str) -> list[str]:
        """Removes a campaign's namespace, classes and volumes; returns what it removed, one line
        each. RunError if something stays."""
        namespace = namespace_of(campaign)
        removed: list[str] = []
        if self._api.found(f"{NAMESPACES}/{namespace}") is not None:
            for pod in self._api.listed(f"{NAMESPACES}/{namespace}/pods"):
                self._api.remove(f"{NAMESPACES}/{namespace}/pods/{name_of(pod)}", grace_s=5)
            self._api.remove(f"{NAMESPACES}/{namespace}")
            removed.append(f"namespace {namespace}")
        self._space.await_gone(f"namespace {namespace}", f"{NAMESPACES}/{namespace}", _GONE_S)
        selector = f"{MARK},{CAMPAIGN}={campaign}"
        for kind, path in (("volume", VOLUMES), ("storage class", CLASSES)):
            for thing in self._api.listed(path, selector):
                what, address = f"{kind} {name_of(thing)}", f"{path}/{name_of(thing)}"
                self._api.remove(address)
                self._space.await_gone(what, address, _GONE_S)
                removed.append(what)
        self.await_rented(namespace)
        return removed

    def await_rented(self, namespace: str, kept: Collection[str] = ()) -> None:
        """Waits until the volumes and snapshots that the namespace's claims had are gone: they cost
        money. Of classes that keep them it waits for none, nor for those of `kept`, addresses of
        claims and snapshots. RunError if some stay."""

        def gone() -> bool:
            return not self.rented(namespace, kept)

        if not wait_until(gone, deadline_s=_GONE_S, clock=self._clock, every_s=0.5):
            names = ", ".join(self.rented(namespace, kept))
            raise RunError(
                f"what {namespace} rented is not gone after {_GONE_S:g} s: {names}",
                advice="look with `kubectl get pv,volumesnapshotcontent`, and for the disks at the "
                "provider: they may cost money until they are removed",
            )

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
            (self._api.listed(VOLUMES), "claimRef", claims, "persistentVolumeReclaimPolicy"),
            (contents, "volumeSnapshotRef", snapshots, "deletionPolicy"),
        ):
            for thing in things:
                spec = thing["spec"]
                owner = spec.get(owner_key) or {}
                address = f"{folder}/{owner.get('name')}"
                is_meant = owner.get("namespace") == namespace and spec.get(policy) == wanted
                if is_meant and address not in kept:
                    names.append(name_of(thing))
        return names

    def _made(self) -> Thing:
        now = str(round(self._api.now()))
        notes = {HOST: host.name(), PROCESS: host.process_mark(), BEAT: now}
        thing = manifests.namespace(self._space.namespace, self._space.labels, notes)
        try:
            return self._api.make(NAMESPACES, thing)
        except Refused as error:
            if error.status != 403:
                raise
            raise UnavailableError(
                f"a campaign needs a namespace of its own, and you may not make one: {error}",
                advice=f"ask for the right to create and delete namespaces; {RIGHTS}",
            ) from error

    def _await_account(self) -> None:
        """Pods may be made when the namespace has its default service account."""
        path = f"{NAMESPACES}/{self._space.namespace}/serviceaccounts/default"

        def there() -> bool:
            return self._api.found(path) is not None

        if not wait_until(there, deadline_s=_ACCOUNT_S, clock=self._clock, every_s=0.1):
            raise UnavailableError(
                f"{self._space.namespace} got no service account within {_ACCOUNT_S:g} s",
                advice="is the cluster's controller manager running?",
            )

    def _refuse_if_one_lives(self, before: tuple[str, str] | None = None) -> None:
        """UnavailableError if another campaign lives; with `before`, if one does that is older:
        of two that begin at the same time, one goes on."""
        for namespace in self.namespaces():
            if label_of(namespace, CAMPAIGN) == self._space.campaign or not self._lives(namespace):
                continue
            if before is not None and _age_and_name(namespace) > before:
                continue
            drop = f"kubectl delete namespace {name_of(namespace)}"
            at, where = annotation_of(namespace, HOST), f"in the namespace {name_of(namespace)}"
            raise lifecycle.refusal("cluster", annotation_of(namespace, PROCESS), at, where, drop)

    def _lives(self, namespace: Mapping[str, Any]) -> bool:
        if namespace["metadata"].get("deletionTimestamp"):
            return False
        return lifecycle.lives(
            annotation_of(namespace, PROCESS),
            lambda: self._api.now() - _last_sign_s(namespace) < DEAD_S,
        )

    def _beat(self) -> None:
        beat = {BEAT: str(round(self._api.now()))}
        path = f"{NAMESPACES}/{self._space.namespace}"
        self._api.change(path, {"metadata": {"annotations": beat}})


def _last_sign_s(namespace: Mapping[str, Any]) -> float:
    """Unix seconds of its last heartbeat, or of its making."""
    try:
        return float(annotation_of(namespace, BEAT))
    except ValueError:
        created = str(namespace["metadata"]["creationTimestamp"])
        return datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp()


def _age_and_name(namespace: Mapping[str, Any]) -> tuple[str, str]:
    return str(namespace["metadata"]["creationTimestamp"]), name_of(namespace)


class Sweeper:
    """Removes what is left. `forget`: is told the name of each container that goes."""

    def __init__(self, space: Space, guard: NamespaceGuard, forget: Callable[[str], None]) -> None:
        self._space, self._api, self._guard, self._forget = space, space.api, guard, forget

    def listed(self) -> tuple[str, ...]:
        """What others have left, with what is in their namespaces, one line each; nothing is
        removed."""
        lines: list[str] = []
        with cluster_errors("looking for leftovers"):
            for kind, name, _ in self._leftovers(own=False):
                for inner, group, plural in _KINDS if kind == "namespace" else ():
                    things = self._api.listed(f"/{group}/namespaces/{name}/{plural}", MARK)
                    lines += [f"{inner} {_name_here(thing)} of {name}" for thing in things]
                lines.append(f"{kind} {name}")
        return tuple(lines)

    def sweep(self) -> tuple[str, ...]:
        """Removes all but what is kept in the space."""
        swept = Swept()
        with cluster_errors("removing leftovers"):
            for kind, thing, remove in self._leftovers():
                swept.take(f"{kind} {thing}", remove)
            try:
                self._guard.await_rented(self._space.namespace, self._space.kept)
            except TierbenchError as error:
                swept.kept.append(error.what)
        return swept.result("kubectl get all,pvc,pv -A -l tierbench=1")

    def _leftovers(
        self, own: bool = True
    ) -> Iterator[tuple[str, str, Callable[[], list[str] | None]]]:
        """What is ours, in the order in which it goes: kind, name, and how it is removed. `own`: of
        this program, too."""
        for kind, group, plural in _KINDS if own else ():
            folder = f"/{group}/namespaces/{self._space.namespace}/{plural}"
            for thing in sorted(self._api.listed(folder, MARK), key=_is_disk):
                name = name_of(thing)
                if f"{folder}/{name}" in self._space.kept:
                    continue
                if kind == "container":
                    self._forget(annotation_of(thing, NAME))
                yield kind, _name_here(thing), self._removal(kind, folder, name)
        living = {*self._guard.living(), self._space.campaign}
        owners = {
            label_of(namespace, CAMPAIGN): name_of(namespace)
            for namespace in self._guard.namespaces()
        }
        for campaign in sorted(owners.keys() - living):
            yield "namespace", owners[campaign], partial(self._guard.remove, campaign)
        for kind, folder in (("volume", VOLUMES), ("storage class", CLASSES)):
            for thing in self._api.listed(folder, MARK):
                owner, name = label_of(thing, CAMPAIGN), name_of(thing)
                if (own and owner == self._space.campaign) or owner not in living:
                    yield kind, name, self._removal(kind, folder, name)

    def _removal(self, kind: str, folder: str, name: str) -> Callable[[], None]:
        return partial(self._space.remove, kind, f"{folder}/{name}", name, _POLITE_S)


def _name_here(thing: Thing) -> str:
    """The name by which this program knows a thing."""
    return annotation_of(thing, NAME) or name_of(thing)


def _is_disk(thing: Thing) -> bool:
    """Databases and clients go before disks: a mounted device cannot be removed."""
    return label_of(thing, ROLE) == "disk"
