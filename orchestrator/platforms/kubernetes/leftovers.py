"""Removes what a block of ours made, and the leftovers of killed campaigns.

Only things with our label are ever removed. Inside the campaign's own namespace everything is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from orchestrator.errors import RunError, TierbenchError
from orchestrator.platforms.kubernetes import trouble
from orchestrator.platforms.kubernetes.connection import Api, Thing
from orchestrator.platforms.kubernetes.errors import cluster_errors
from orchestrator.platforms.kubernetes.guard import (
    CLASSES,
    NAMESPACES,
    VOLUMES,
    Guard,
    namespace_of,
)
from orchestrator.platforms.kubernetes.labels import (
    CAMPAIGN,
    MARK,
    NAME,
    ROLE,
    annotation_of,
    label_of,
    name_of,
)
from orchestrator.platforms.kubernetes.spreading import NODES
from orchestrator.platforms.kubernetes.volume_manifests import SNAPSHOTS
from orchestrator.powers import Clock
from orchestrator.system.clock import wait_until

REMOVAL_S = 120.0
_POLITE_S = 5.0  # of a leftover: its campaign is dead, nobody keeps what it would still write
# Those that use others come first.
_KINDS = (
    ("container", "api/v1", "pods"),
    ("secret", "api/v1", "secrets"),
    ("snapshot", f"apis/{SNAPSHOTS}/v1", "volumesnapshots"),
    ("claim", "api/v1", "persistentvolumeclaims"),
    ("network", "api/v1", "services"),
)


class Leftovers:
    """The part of `KubernetesPlatform` that removes things."""

    campaign: str
    guard: Guard
    _api: Api
    _clock: Clock
    _kept: set[str]  # addresses of claims and snapshots that stay until the end of the campaign

    @property
    def _namespace(self) -> str:
        return namespace_of(self.campaign)

    def _forget(self, container: str) -> None:
        raise NotImplementedError

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        if only_list:
            with cluster_errors("looking for leftovers"):
                return tuple(self._listed())
        self._kept.clear()
        return self.sweep_between_runs()

    def sweep_between_runs(self) -> tuple[str, ...]:
        removed: list[str] = []
        kept: list[str] = []
        with cluster_errors("removing leftovers"):
            for kind, thing, remove in self._leftovers():
                try:
                    removed += remove() or [f"{kind} {thing}"]
                except TierbenchError as error:
                    kept.append(error.what)
            try:
                self.guard.await_rented(self._namespace, self._kept)
            except TierbenchError as error:
                kept.append(error.what)
        if kept:
            raise RunError(
                f"leftovers of an earlier run could not be removed: {'; '.join(kept)}",
                advice="look with `kubectl get all,pvc,pv -A -l tierbench=1` at what holds them, "
                "then `make clean`",
            )
        return tuple(removed)

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
            folder = f"/{group}/namespaces/{self._namespace}/{plural}"
            for thing in sorted(self._api.listed(folder, MARK), key=_is_disk):
                name = name_of(thing)
                if f"{folder}/{name}" in self._kept:
                    continue
                if kind == "container":
                    self._forget(annotation_of(thing, NAME))
                yield kind, annotation_of(thing, NAME) or name, self._removal(kind, folder, name)
        living = {*self.guard.living(), self.campaign}
        found = {label_of(one, CAMPAIGN): name_of(one) for one in self.guard.namespaces()}
        for campaign in sorted(found.keys() - living):
            yield "namespace", found[campaign], partial(self.guard.remove, campaign)
        for kind, folder in (("volume", VOLUMES), ("storage class", CLASSES)):
            for thing in self._api.listed(folder, MARK):
                owner, name = label_of(thing, CAMPAIGN), name_of(thing)
                if (own and owner == self.campaign) or owner not in living:
                    yield kind, name, self._removal(kind, folder, name)

    def _removal(self, kind: str, folder: str, name: str) -> Callable[[], None]:
        return lambda: self._remove_object(kind, f"{folder}/{name}", name, _POLITE_S)

    def _remove_object(self, kind: str, path: str, name: str, grace_s: float | None = None) -> None:
        """Removes a thing; it is gone when this returns. `grace_s`: of a pod."""
        is_pod = "/pods/" in path

        def gone() -> bool:
            found = self._api.found(path)
            if found and is_pod and trouble.may_be_lost(found) and self._of_machine(found):
                self._api.remove(path, 0.0)  # nobody will ever say that it has ended
            return found is None

        with cluster_errors(f"removing {kind} {name}"):
            self._kept.discard(path)
            self._api.remove(path, grace_s if is_pod else None)
            deadline_s = REMOVAL_S + (grace_s or 0)
            if not wait_until(gone, deadline_s=deadline_s, clock=self._clock, every_s=0.1):
                raise RunError(
                    f"{kind} {name} could not be removed within {deadline_s:g} s",
                    advice=f"`kubectl describe` it in {self._namespace}: it says what holds it",
                )

    def _of_machine(self, pod: Thing) -> str:
        """Returns why a pod's machine can tell nothing of it any more; "" if it can."""
        name = str(pod["spec"]["nodeName"])
        with cluster_errors(f"looking at the machine {name}"):
            return trouble.of_machine(name, self._api.found(f"{NODES}/{name}"))

    def _path(self, plural: str, name: str = "", group: str = "api/v1") -> str:
        """The address of a kind of thing in the campaign's namespace, or of one of them."""
        folder = f"/{group}{NAMESPACES.removeprefix('/api/v1')}/{self._namespace}/{plural}"
        return f"{folder}/{name}" if name else folder


def _is_disk(thing: Thing) -> bool:
    """Databases and clients go before disks: a mounted device cannot be removed."""
    return label_of(thing, ROLE) == "disk"
