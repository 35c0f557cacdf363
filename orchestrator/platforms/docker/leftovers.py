"""Removes what a block of ours made, and the leftovers of a killed program.

Only things with our label are ever removed; without it, a thing whose name is needed is an error.
What cannot be removed is reported with the engine's reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from docker.errors import APIError, DockerException, NotFound

from orchestrator.errors import RunError, UnavailableError
from orchestrator.platforms.common.sweeping import Swept
from orchestrator.platforms.docker.client import CAMPAIGN, LABEL, OURS, ROLE, STANDING, Engine
from orchestrator.platforms.docker.guard import VolumeGuard
from orchestrator.system.clock import wait_until

_REMOVAL_S = 20.0


class Leftovers:
    """Removes things of an engine."""

    def __init__(self, engine: Engine, guard: VolumeGuard) -> None:
        self._engine, self._client, self._guard = engine, engine.client, guard

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        """As `Platform.sweep`. What is only listed is not of this campaign: that goes with it."""
        spared = (self._guard.other(), self._engine.campaign if only_list else None)
        swept, patiently = Swept(), self._engine.patiently

        def ours(things: Iterable[Any]) -> list[Any]:
            labelled = [(thing, labels_of(thing)) for thing in things]
            return [
                thing
                for thing, labels in labelled
                if STANDING not in labels and labels.get(CAMPAIGN, "") not in spared
            ]

        def take(kind: str, thing: Any, remove: Callable[[], None]) -> None:
            swept.take(f"{kind} {thing.name}", (lambda: None) if only_list else remove)

        def volumes() -> list[Any]:
            return ours(patiently(lambda: self._client.volumes.list(filters=OURS)))

        with self._engine.errors("removing leftovers"):
            containers = patiently(
                lambda: self._client.containers.list(all=True, filters=OURS, ignore_removed=True)
            )
            # Databases and clients before disks: a mounted device cannot be removed.
            for container in sorted(ours(containers), key=_is_disk):
                if _is_disk(container) and not only_list:
                    for volume in volumes():  # those that nothing holds any more
                        with contextlib.suppress(APIError):
                            patiently(partial(volume.remove, force=True))
                            swept.removed.append(f"volume {volume.name}")
                    with contextlib.suppress(DockerException, OSError):
                        container.stop(timeout=15)
                remove = partial(self.remove_container, container.name, container.id)
                take("container", container, remove)
            for volume in volumes():
                take("volume", volume, partial(self.remove_volume, volume))
            for network in ours(patiently(lambda: self._client.networks.list(filters=OURS))):
                take("network", network, partial(self.remove_network, network))
        return swept.result("docker ps -a")

    def make_room(self, kind: str, name: str, get: Callable[[str], Any]) -> Any | None:
        """Returns our leftover of that name, if any. UnavailableError if it is not ours."""
        try:
            leftover = self._engine.patiently(lambda: get(name))
        except NotFound:
            return None
        if LABEL not in labels_of(leftover):
            raise UnavailableError(
                f"there is a {kind} named {name} that tierbench did not make: it is left alone",
                advice=f"rename or remove it (`docker {kind} rm {name}`), then run again",
            )
        return leftover

    def remove_container(self, name: str, container: str) -> None:
        """Removes a container, given its name or id; it is gone when this returns."""
        self._until_gone(
            f"container {name}",
            lambda: self._client.containers.get(container).remove(force=True, v=True),
        )

    def remove_volume(self, volume: Any) -> None:
        self._until_gone(f"volume {volume.name}", lambda: volume.remove(force=True))

    def remove_network(self, network: Any) -> None:
        self._until_gone(f"network {network.name}", network.remove)

    def _until_gone(self, thing: str, remove: Callable[[], None]) -> None:
        """Tries for a while: others may hold it, or be removing it, at this moment."""
        reason = ""

        def gone() -> bool:
            nonlocal reason
            try:
                self._engine.patiently(remove)
            except NotFound:
                return True
            except APIError as error:
                reason = str(error.explanation or error)
                return False
            return True

        with self._engine.errors(f"removing {thing}"):
            if not wait_until(gone, deadline_s=_REMOVAL_S, clock=self._engine.clock, every_s=0.2):
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
