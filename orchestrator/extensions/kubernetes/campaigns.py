"""What campaigns leave on a cluster, and how it is removed.

Outside of a campaign's own namespace only things with our label are ever removed. Of a namespace
that is given to campaigns that is so within it, too, and it stays."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.extensions.kubernetes import space
from orchestrator.extensions.kubernetes.connection import (
    Refused,
    Thing,
    Unanswered,
    cluster_errors,
)
from orchestrator.extensions.kubernetes.space import (
    Space,
    annotation_of,
    label_of,
    name_of,
)
from orchestrator.platforms.common.lifecycle import Swept
from orchestrator.system.clock import wait_while

_GONE_S = 300.0
# Seconds for a leftover to end: its campaign is dead, nobody keeps what it would still write.
_POLITE_S = 5.0
_WITHIN = ("container", "secret", "snapshot", "claim", "network")  # a namespace


class _Leftover(NamedTuple):
    """A thing that is to go. `remove` returns a line for each thing that went with it, or None."""

    kind: str
    name: str
    remove: Callable[[], list[str] | None]


class ClusterLeftovers:
    """What is there of all campaigns: their namespaces, each with all that is in it, and what they
    have outside of them. `other`: the live campaign beside this one; `forget`: is told the name of
    each container that goes."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._api = space.api
        self._clock = space.clock

    def remove(self, campaign: str) -> list[str]:
        """Removes all of a campaign, of a given namespace only what it made there. Returns one line
        for each thing. RunError if something stays."""
        removed: list[str] = []
        kinds: tuple[str, ...] = space.OUTSIDE
        namespace = self._space.given or space.namespace_of(campaign)
        with cluster_errors(f"removing what campaign {campaign} has made"):
            if self._space.given:
                kinds = (*_WITHIN, *space.OUTSIDE)
            else:
                removed += self._remove_namespace(namespace)
            selector = f"{self._space.mark},{space.CAMPAIGN}={campaign}"
            for kind, thing in self._listed(kinds, selector):
                name = name_of(thing)
                path = self._space.path(kind, name)
                self._space.claimed.add(path)
                self._api.remove(path, _grace_s(kind))
                self._space.await_gone(kind, name, _GONE_S)
                removed.append(f"{kind} {name}")
            self.await_rented(namespace)
        return removed

    def _listed(
        self, kinds: Iterable[str], selector: str
    ) -> Iterator[tuple[str, Thing]]:
        """The things of these kinds in the order of their removal: databases and clients go before
        disks, because a mounted device cannot be removed."""
        for kind in kinds:
            things = self._space.listed(kind, selector)
            for thing in sorted(things, key=_is_disk):
                yield kind, thing

    def _remove_namespace(self, name: str) -> Iterator[str]:
        path = space.address("namespace", name)
        if self._api.find(path) is not None:
            # A namespace that goes gives its pods their own time to end, up to five minutes.
            for pod in self._api.listed(space.address("container", "", name)):
                self._api.remove(
                    space.address("container", name_of(pod), name), _POLITE_S
                )
            self._api.remove(path)
            yield f"namespace {name}"
        self._space.await_gone("namespace", name, _GONE_S)

    def trouble_of_removal(self) -> TierbenchError | None:
        """Removes this campaign's; returns why what was rented may still be there, if it may."""
        selector = ""
        if self._space.given:
            selector = self._space.mark
        try:
            self.remove(self._space.campaign)
        except (RunError, UnavailableError) as error:
            with contextlib.suppress(Refused, Unanswered, TierbenchError):
                # Objects that could not be removed cost nothing if no volume of them is left.
                claims = self._space.listed("claim", selector)
                if not claims and not self.rented(self._space.namespace):
                    return None
            return error
        return None

    def await_rented(self, namespace: str, kept: Collection[str] = ()) -> None:
        """Waits until the namespace's volumes and snapshots are gone, because they cost money.

        It does not wait for `kept` (addresses), nor for volumes whose class keeps them. RunError if
        some stay.
        """

        rented = partial(self.rented, namespace, kept)
        names = wait_while(rented, deadline_s=_GONE_S, clock=self._clock, every_s=0.5)
        if names:
            listed = ", ".join(names)
            raise RunError(
                f"what {namespace} rented is not gone after {_GONE_S:g} s: {listed}",
                advice=(
                    "look with `kubectl get pv,volumesnapshotcontent`, and for the "
                    "disks at the provider. They may cost money until they are removed"
                ),
            )

    def rented(
        self, namespace: str, kept: Collection[str] = (), wanted: str = "Delete"
    ) -> list[str]:
        """The volumes and snapshots of a namespace whose policy is `wanted`, without `kept`."""
        try:
            contents = self._api.listed(space.address("snapshot content"))
        except Refused:  # who may not see them can have made none
            contents = []
        names: list[str] = []
        for volume in self._space.listed("volume"):
            spec = volume["spec"]
            claim = self._owned(spec.get("claimRef"), "claim", namespace)
            policy = spec.get("persistentVolumeReclaimPolicy")
            if claim and claim not in kept and policy == wanted:
                names.append(name_of(volume))
        for content in contents:
            spec = content["spec"]
            snapshot = self._owned(spec.get("volumeSnapshotRef"), "snapshot", namespace)
            if (
                snapshot
                and snapshot not in kept
                and spec.get("deletionPolicy") == wanted
            ):
                names.append(name_of(content))
        return names

    def _owned(self, owner: Thing | None, kind: str, namespace: str) -> str | None:
        """The address of the claim or snapshot of the namespace that something belongs to; of a
        given namespace only of one that is ours. None if it belongs to none."""
        if not owner or owner.get("namespace") != namespace:
            return None
        address = space.address(kind, str(owner.get("name")), namespace)
        # Claims of others in a namespace that is given are none of ours.
        if self._space.given and address not in self._space.claimed:
            return None
        return address

    def listed(
        self, other: str | None, forget: Callable[[str], None]
    ) -> tuple[str, ...]:
        """What others have left, and what is in their namespaces, one line each."""
        lines: list[str] = []
        with cluster_errors("looking for leftovers"):
            for leftover in self._left_by_others(other, forget):
                if leftover.kind == "namespace":
                    lines += self._content_of(leftover.name)
                lines.append(f"{leftover.kind} {leftover.name}")
        return tuple(lines)

    def _content_of(self, namespace: str) -> Iterator[str]:
        for kind in _WITHIN:
            place = space.address(kind, "", namespace)
            for thing in self._api.listed(place, space.MARK):
                yield f"{kind} {space.name_here(thing)} of {namespace}"

    def sweep(
        self, other: str | None, forget: Callable[[str], None]
    ) -> tuple[str, ...]:
        """Removes all but what is kept in the space."""
        swept = Swept()
        with cluster_errors("removing leftovers"):
            for leftover in self._left_by_all(other, forget):
                swept.take(f"{leftover.kind} {leftover.name}", leftover.remove)
            try:
                self.await_rented(self._space.namespace, self._space.kept)
            except TierbenchError as error:
                swept.kept.append(error.what)
        return swept.result("kubectl get all,pvc,pv -A -l tierbench=1")

    def _left_by_others(
        self, other: str | None, forget: Callable[[str], None]
    ) -> Iterator[_Leftover]:
        """What is ours, without what the live campaigns have: this one and `other`."""
        living = {other, self._space.campaign}
        # A namespace of its own has nothing but this campaign's.
        if self._space.given:
            yield from self._ours(_WITHIN, living, forget)
        yield from self._dead_namespaces(living)
        yield from self._ours(space.OUTSIDE, living, forget)

    def _left_by_all(
        self, other: str | None, forget: Callable[[str], None]
    ) -> Iterator[_Leftover]:
        """What is ours, with what this campaign has made, but for its namespace."""
        yield from self._ours(_WITHIN, {other}, forget)
        yield from self._dead_namespaces({other, self._space.campaign})
        yield from self._ours(space.OUTSIDE, {other}, forget)

    def _dead_namespaces(self, living: Collection[str | None]) -> Iterator[_Leftover]:
        """The namespaces of campaigns that are not live; none where one is given to all."""
        if self._space.given:
            return
        namespaces: dict[str, str] = {}
        for _, thing in self._listed(["namespace"], space.MARK):
            namespaces[label_of(thing, space.CAMPAIGN)] = name_of(thing)
        for campaign in sorted(namespaces):
            if campaign not in living:
                remove = partial(self.remove, campaign)
                yield _Leftover("namespace", namespaces[campaign], remove)

    def _ours(
        self,
        kinds: Iterable[str],
        spared: Collection[str | None],
        forget: Callable[[str], None],
    ) -> Iterator[_Leftover]:
        """Things of these kinds that are neither kept nor of a campaign that is spared."""
        for kind, thing in self._listed(kinds, self._space.mark):
            name = name_of(thing)
            path = self._space.path(kind, name)
            is_kept = path in self._space.kept
            if is_kept or label_of(thing, space.CAMPAIGN) in spared:
                continue
            self._space.claimed.add(path)
            if kind == "container":
                forget(annotation_of(thing, space.NAME))
            remove = partial(self._space.remove, kind, name, _grace_s(kind))
            yield _Leftover(kind, space.name_here(thing), remove)


def _is_disk(thing: Thing) -> bool:
    return label_of(thing, space.ROLE) == "disk"


def _grace_s(kind: str) -> float | None:
    if kind == "container":
        return _POLITE_S
    return None
