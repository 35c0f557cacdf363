"""What campaigns leave on a cluster, and how it is removed.

Outside of a campaign's own namespace only things with our label are ever removed. Of a namespace
that is given to campaigns that is so within it, too, and it stays."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.platforms.common.lifecycle import Swept
from orchestrator.platforms.kubernetes import space
from orchestrator.platforms.kubernetes.connection import (
    Refused,
    Thing,
    Unanswered,
    cluster_errors,
)
from orchestrator.platforms.kubernetes.space import (
    Space,
    annotation_of,
    label_of,
    name_of,
)
from orchestrator.system.clock import wait_while

_GONE_S = 300.0
_POLITE_S = (
    5.0  # of a leftover: its campaign is dead, nobody keeps what it would still write
)
_WITHIN = ("container", "secret", "snapshot", "claim", "network")  # a namespace


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
        given = self._space.given
        namespace = given or space.namespace_of(campaign)
        kinds = (*(_WITHIN if given else ()), *space.OUTSIDE)
        with cluster_errors(f"removing what campaign {campaign} has made"):
            if given:
                removed = []
            else:
                removed = list(self._remove_namespace(namespace))
            selector = f"{self._space.mark},{space.CAMPAIGN}={campaign}"
            for kind, thing in self._listed(kinds, selector):
                name = name_of(thing)
                self._space.claimed.add(self._space.path(kind, name))
                self._api.remove(self._space.path(kind, name), _grace_s(kind))
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
            for thing in sorted(
                things, key=lambda each: label_of(each, space.ROLE) == "disk"
            ):
                yield kind, thing

    def _remove_namespace(self, name: str) -> Iterator[str]:
        path = space.address("namespace", name)
        if self._api.find(path) is not None:
            for pod in self._api.listed(space.address("container", "", name)):
                self._api.remove(
                    space.address("container", name_of(pod), name), _POLITE_S
                )
            self._api.remove(path)
            yield f"namespace {name}"
        self._space.await_gone("namespace", name, _GONE_S)

    def trouble_of_removal(self) -> TierbenchError | None:
        """Removes this campaign's; returns why what was rented may still be there, if it may."""
        try:
            self.remove(self._space.campaign)
        except (RunError, UnavailableError) as error:
            with contextlib.suppress(Refused, Unanswered, TierbenchError):
                claims = self._space.listed(
                    "claim", self._space.mark if self._space.given else ""
                )
                if not claims and not self.rented(self._space.namespace):
                    return None
            return error
        return None

    def await_rented(self, namespace: str, kept: Collection[str] = ()) -> None:
        """Waits until the namespace's volumes and snapshots are gone, which cost money, without
        those of `kept` (addresses) and of classes that keep them. RunError if some stay."""

        rented = partial(self.rented, namespace, kept)
        names = wait_while(rented, deadline_s=_GONE_S, clock=self._clock, every_s=0.5)
        if names:
            said = ", ".join(names)
            raise RunError(
                f"what {namespace} rented is not gone after {_GONE_S:g} s: {said}",
                advice="look with `kubectl get pv,volumesnapshotcontent`, and for the "
                "disks at the provider: they may cost money until they are removed",
            )

    def rented(
        self, namespace: str, kept: Collection[str] = (), wanted: str = "Delete"
    ) -> list[str]:
        """The volumes and snapshots of a namespace whose policy is `wanted`, without `kept`."""
        try:
            contents = self._api.listed(space.address("snapshot content"))
        except Refused:  # who may not see them can have made none
            contents = []
        volumes = self._space.listed("volume")
        names = []
        for things, owner_key, kind, policy in (
            (volumes, "claimRef", "claim", "persistentVolumeReclaimPolicy"),
            (contents, "volumeSnapshotRef", "snapshot", "deletionPolicy"),
        ):
            for thing in things:
                spec = thing["spec"]
                owner = spec.get(owner_key) or {}
                address = space.address(kind, str(owner.get("name")), namespace)
                is_meant = (
                    owner.get("namespace") == namespace and spec.get(policy) == wanted
                )
                is_meant &= not self._space.given or address in self._space.claimed
                if is_meant and address not in kept:
                    names.append(name_of(thing))
        return names

    def listed(
        self, other: str | None, forget: Callable[[str], None]
    ) -> tuple[str, ...]:
        """What others have left, and what is in their namespaces, one line each."""
        lines: list[str] = []
        with cluster_errors("looking for leftovers"):
            for kind, name, _ in self._found(other, forget, own=False):
                for inner in _WITHIN if kind == "namespace" else ():
                    things = self._api.listed(
                        space.address(inner, "", name), space.MARK
                    )
                    lines += [
                        f"{inner} {space.name_here(thing)} of {name}"
                        for thing in things
                    ]
                lines.append(f"{kind} {name}")
        return tuple(lines)

    def sweep(
        self, other: str | None, forget: Callable[[str], None]
    ) -> tuple[str, ...]:
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
        spared = living
        if own:
            spared = {other}

        def ours(kinds: Iterable[str]) -> Iterator[tuple[str, str, Callable[[], None]]]:
            for kind, thing in self._listed(kinds, self._space.mark):
                path = self._space.path(kind, name_of(thing))
                if (
                    path in self._space.kept
                    or label_of(thing, space.CAMPAIGN) in spared
                ):
                    continue
                self._space.claimed.add(path)
                if kind == "container":
                    forget(annotation_of(thing, space.NAME))
                removal = partial(
                    self._space.remove, kind, name_of(thing), _grace_s(kind)
                )
                yield kind, space.name_here(thing), removal

        yield from ours(_WITHIN if own or self._space.given else ())
        namespaces: Iterable[tuple[str, dict[str, Any]]] = ()
        if not self._space.given:
            namespaces = self._listed(["namespace"], space.MARK)
        owners = {
            label_of(thing, space.CAMPAIGN): name_of(thing) for _, thing in namespaces
        }
        for campaign in sorted(owners.keys() - living):
            yield "namespace", owners[campaign], partial(self.remove, campaign)
        yield from ours(space.OUTSIDE)


def _grace_s(kind: str) -> float | None:
    if kind == "container":
        return _POLITE_S
    return None
