"""Removes what a block of ours made, and the leftovers of a killed program.

Only things with our label are ever removed; without it, a thing whose name is needed is an error.
What cannot be removed is reported with the engine's reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from docker.errors import APIError, DockerException, NotFound

from docker import DockerClient
from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.guard import Guard
from orchestrator.platforms.docker.labels import CAMPAIGN, LABEL, OURS, ROLE, STANDING, STANDS
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import Clock, Standing
from orchestrator.system.clock import wait_until

_REMOVAL_S = 20.0


@dataclass
class _Swept:
    """What a sweep removed, and what it could not. It leaves `other`, a live campaign, and all that
    stands alone. If only `listed_by` a campaign, nothing goes, and what that has made is left out:
    it goes with it."""

    other: str | None
    listed_by: str | None = None
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def ours(self, things: Iterable[Any]) -> list[Any]:
        labelled = [(thing, labels_of(thing)) for thing in things]
        return [
            thing
            for thing, labels in labelled
            if STANDING not in labels
            and labels.get(CAMPAIGN, "") not in (self.other, self.listed_by)
        ]

    def take(self, kind: str, thing: Any, remove: Callable[[], None]) -> None:
        try:
            if self.listed_by is None:
                remove()
            self.removed.append(f"{kind} {thing.name}")
        except TierbenchError as error:
            self.kept.append(error.what)


class Leftovers:
    """The part of `DockerPlatform` that removes things."""

    campaign: str
    _client: DockerClient
    _clock: Clock
    guard: Guard

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        swept = _Swept(self.guard.other(), self.campaign if only_list else None)
        with engine_errors("removing leftovers"):
            containers = patiently(
                lambda: self._client.containers.list(all=True, filters=OURS, ignore_removed=True),
                self._clock,
            )
            # Databases and clients before disks: a mounted device cannot be removed.
            for container in sorted(swept.ours(containers), key=_is_disk):
                if _is_disk(container) and not only_list:
                    self._sweep_volumes(swept)
                    with contextlib.suppress(DockerException, OSError):
                        container.stop(timeout=15)
                remove = partial(self._remove, container.name, container.id)
                swept.take("container", container, remove)
            self._sweep_volumes(swept, patient=True)
            networks = patiently(lambda: self._client.networks.list(filters=OURS), self._clock)
            for network in swept.ours(networks):
                swept.take("network", network, partial(self._remove_network, network))
        if swept.kept:
            raise RunError(
                f"leftovers of an earlier run could not be removed: {'; '.join(swept.kept)}",
                advice="look with `docker ps -a` at what holds them, then `make clean`",
            )
        return tuple(swept.removed)

    def _sweep_volumes(self, swept: _Swept, patient: bool = False) -> None:
        """Removes the volumes that nothing holds; if `patient`, waits for the others."""
        volumes = patiently(lambda: self._client.volumes.list(filters=OURS), self._clock)
        for volume in swept.ours(volumes):
            if patient:
                swept.take("volume", volume, partial(self._remove_volume, volume))
                continue
            with contextlib.suppress(APIError):
                patiently(partial(volume.remove, force=True), self._clock)
                swept.removed.append(f"volume {volume.name}")

    # -------------------------------------------------------------- what stands

    def standing(self) -> tuple[Standing, ...]:
        with engine_errors("looking for what stands"):
            containers = patiently(
                lambda: self._client.containers.list(all=True, filters=STANDS, ignore_removed=True),
                self._clock,
            )
        found = [
            Standing(str(one.name), labels_of(one)[STANDING], str(one.status)) for one in containers
        ]
        return tuple(sorted(found, key=lambda one: one.name))

    def remove(self, container: str, timeout_s: float) -> None:
        with contextlib.suppress(DockerException, OSError):
            self._client.containers.get(container).stop(timeout=round(timeout_s))
        self._remove(container, container)

    # -------------------------------------------------------------- one thing

    def _make_room(self, kind: str, name: str, get: Callable[[str], Any]) -> Any | None:
        """Returns our leftover of that name, if any. UnavailableError if it is not ours."""
        try:
            leftover = patiently(lambda: get(name), self._clock)
        except NotFound:
            return None
        if LABEL not in labels_of(leftover):
            raise UnavailableError(
                f"there is a {kind} named {name} that tierbench did not make: it is left alone",
                advice=f"rename or remove it (`docker {kind} rm {name}`), then run again",
            )
        return leftover

    def _remove(self, name: str, container: str) -> None:
        """Removes a container, given its name or id; it is gone when this returns."""
        self._until_gone(
            f"container {name}",
            lambda: self._client.containers.get(container).remove(force=True, v=True),
        )

    def _remove_volume(self, volume: Any) -> None:
        self._until_gone(f"volume {volume.name}", lambda: volume.remove(force=True))

    def _remove_network(self, network: Any) -> None:
        self._until_gone(f"network {network.name}", network.remove)

    def _until_gone(self, thing: str, remove: Callable[[], None]) -> None:
        """Tries for a while: others may hold it, or be removing it, at this moment."""
        reason = ""

        def gone() -> bool:
            nonlocal reason
            try:
                patiently(remove, self._clock)
            except NotFound:
                return True
            except APIError as error:
                reason = str(error.explanation or error)
                return False
            return True

        with engine_errors(f"removing {thing}"):
            if not wait_until(gone, deadline_s=_REMOVAL_S, clock=self._clock, every_s=0.2):
                raise RunError(
                    f"{thing} could not be removed within {_REMOVAL_S:g} s: {reason}",
                    advice="look with `docker ps -a` at what holds it",
                )


def labels_of(thing: Any) -> dict[str, str]:
    """Returns the labels: volumes and networks have them elsewhere than containers."""
    labels = thing.attrs.get("Labels")
    if labels is None:
        labels = thing.attrs.get("Config", {}).get("Labels")
    return dict(labels or {})


def _is_disk(container: Any) -> bool:
    return labels_of(container).get(ROLE) == "disk"
