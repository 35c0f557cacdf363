"""Removes what a block of ours made, and the leftovers of killed campaigns.

Only things with our label are ever removed. Inside the campaign's own namespace everything is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from orchestrator.errors import TierbenchError
from orchestrator.platforms.common.sweeping import Swept
from orchestrator.platforms.kubernetes.connection import Thing
from orchestrator.platforms.kubernetes.errors import cluster_errors
from orchestrator.platforms.kubernetes.guard import NamespaceGuard
from orchestrator.platforms.kubernetes.labels import (
    CAMPAIGN,
    MARK,
    NAME,
    ROLE,
    annotation_of,
    label_of,
    name_of,
)
from orchestrator.platforms.kubernetes.space import CLASSES, VOLUMES, Space
from orchestrator.platforms.kubernetes.volume_manifests import SNAPSHOTS

_POLITE_S = 5.0  # of a leftover: its campaign is dead, nobody keeps what it would still write
# Those that use others come first.
_KINDS = (
    ("container", "api/v1", "pods"),
    ("secret", "api/v1", "secrets"),
    ("snapshot", f"apis/{SNAPSHOTS}/v1", "volumesnapshots"),
    ("claim", "api/v1", "persistentvolumeclaims"),
    ("network", "api/v1", "services"),
)


class Sweeper:
    """Removes what is left. `forget`: is told the name of each container that goes."""

    def __init__(self, space: Space, guard: NamespaceGuard, forget: Callable[[str], None]) -> None:
        self._space, self._api, self._guard, self._forget = space, space.api, guard, forget

    def listed(self) -> tuple[str, ...]:
        """What others have left, one line each; nothing is removed."""
        with cluster_errors("looking for leftovers"):
            return tuple(self._listed())

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

    def _listed(self) -> Iterator[str]:
        """What others have left, with what is in their namespaces."""
        for kind, name, _ in self._leftovers(own=False):
            for inner, group, plural in _KINDS if kind == "namespace" else ():
                for one in self._api.listed(f"/{group}/namespaces/{name}/{plural}", MARK):
                    yield f"{inner} {annotation_of(one, NAME) or name_of(one)} of {name}"
            yield f"{kind} {name}"

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
                yield kind, annotation_of(thing, NAME) or name, self._removal(kind, folder, name)
        living = {*self._guard.living(), self._space.campaign}
        found = {label_of(one, CAMPAIGN): name_of(one) for one in self._guard.namespaces()}
        for campaign in sorted(found.keys() - living):
            yield "namespace", found[campaign], partial(self._guard.remove, campaign)
        for kind, folder in (("volume", VOLUMES), ("storage class", CLASSES)):
            for thing in self._api.listed(folder, MARK):
                owner, name = label_of(thing, CAMPAIGN), name_of(thing)
                if (own and owner == self._space.campaign) or owner not in living:
                    yield kind, name, self._removal(kind, folder, name)

    def _removal(self, kind: str, folder: str, name: str) -> Callable[[], None]:
        return lambda: self._space.remove(kind, f"{folder}/{name}", name, _POLITE_S)


def _is_disk(thing: Thing) -> bool:
    """Databases and clients go before disks: a mounted device cannot be removed."""
    return label_of(thing, ROLE) == "disk"
