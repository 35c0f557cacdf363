"""Removing: what a block of ours made, and what a killed program left behind.

Only what carries our label is ever removed; a thing of the same name that does not is refused. What
cannot be removed is said, with the engine's reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from docker.errors import APIError, DockerException, NotFound

from docker import DockerClient
from orchestrator.errors import RunError, TierbenchError, UnavailableError
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.guard import Guard
from orchestrator.platforms.docker.labels import CAMPAIGN, LABEL, OURS, ROLE
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import Clock
from orchestrator.system.clock import wait_until

_REMOVAL_S = 20.0


@dataclass
class _Swept:
    """What a sweep removed, and what it could not; `other` is a living campaign, left alone."""

    other: str | None
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def ours(self, found: Iterable[Any]) -> list[Any]:
        return [one for one in found if labels_of(one).get(CAMPAIGN, "") != self.other]

    def take(self, kind: str, made: Any, action: Callable[[], None]) -> None:
        try:
            action()
            self.removed.append(f"{kind} {made.name}")
        except TierbenchError as error:
            self.kept.append(error.what)


class Leftovers:
    """The removing half of the engine; `DockerPlatform` is the whole."""

    _client: DockerClient
    _clock: Clock
    guard: Guard

    def sweep(self) -> tuple[str, ...]:
        done = _Swept(self.guard.other())
        with engine_errors("removing leftovers"):
            containers = patiently(
                lambda: self._client.containers.list(all=True, filters=OURS, ignore_removed=True),
                self._clock,
            )
            # Databases and clients before disks: a device goes only when nothing is mounted on it.
            for made in sorted(done.ours(containers), key=_is_disk):
                if _is_disk(made):
                    self._sweep_volumes(done)
                    with contextlib.suppress(DockerException, OSError):
                        made.stop(timeout=15)
                done.take("container", made, partial(self._remove, made.name, made.id))
            self._sweep_volumes(done, patient=True)
            for network in done.ours(patiently(self._networks, self._clock)):
                done.take("network", network, partial(self._remove_network, network))
        if done.kept:
            raise RunError(
                f"what an earlier run left could not be removed: {'; '.join(done.kept)}",
                advice="look with `docker ps -a` at what holds it, then `make clean`",
            )
        return tuple(done.removed)

    def _networks(self) -> list[Any]:
        return list(self._client.networks.list(filters=OURS))

    def _sweep_volumes(self, done: _Swept, patient: bool = False) -> None:
        """Those that nothing holds any more; where `patient`, waits for the others."""
        found = patiently(lambda: self._client.volumes.list(filters=OURS), self._clock)
        for volume in done.ours(found):
            if patient:
                done.take("volume", volume, partial(self._remove_volume, volume))
                continue
            with contextlib.suppress(APIError):
                patiently(partial(volume.remove, force=True), self._clock)
                done.removed.append(f"volume {volume.name}")

    # -------------------------------------------------------------- one thing

    def _make_room(self, kind: str, name: str, get: Callable[[str], Any]) -> Any | None:
        """What of ours has that name, if anything has. UnavailableError where it is another's."""
        try:
            found = patiently(lambda: get(name), self._clock)
        except NotFound:
            return None
        if LABEL not in labels_of(found):
            raise UnavailableError(
                f"a {kind} named {name} is there that tierbench did not make: it is left alone",
                advice=f"rename or remove it (`docker {kind} rm {name}`), then run again",
            )
        return found

    def _remove(self, name: str, which: str) -> None:
        """A container, by its name or id; gone when this returns."""
        self._until_gone(
            f"container {name}",
            lambda: self._client.containers.get(which).remove(force=True, v=True),
        )

    def _remove_volume(self, volume: Any) -> None:
        self._until_gone(f"volume {volume.name}", lambda: volume.remove(force=True))

    def _remove_network(self, network: Any) -> None:
        self._until_gone(f"network {network.name}", network.remove)

    def _until_gone(self, what: str, remove: Callable[[], None]) -> None:
        """Tries for a while: others may hold it, or be removing it, at this moment."""
        said = ""

        def gone() -> bool:
            nonlocal said
            try:
                patiently(remove, self._clock)
            except NotFound:
                return True
            except APIError as error:
                said = str(error.explanation or error)
                return False
            return True

        with engine_errors(f"removing {what}"):
            if not wait_until(gone, deadline_s=_REMOVAL_S, clock=self._clock, every_s=0.2):
                raise RunError(
                    f"{what} could not be removed within {_REMOVAL_S:g} s: {said}",
                    advice="look with `docker ps -a` at what holds it",
                )


def labels_of(made: Any) -> dict[str, str]:
    """Containers have them as a property, volumes and networks among their attributes."""
    found = made.attrs.get("Labels")
    if found is None:
        found = made.attrs.get("Config", {}).get("Labels")
    return dict(found or {})


def _is_disk(made: Any) -> bool:
    return labels_of(made).get(ROLE) == "disk"


@contextmanager
def taken_down(action: Callable[[], None]) -> Iterator[None]:
    """`action` at the end of the block. Where the block raised, that is what is told: trouble in
    `action` is added to it as a note."""
    try:
        yield
    except BaseException as error:
        try:
            action()
        except TierbenchError as trouble:
            error.add_note(trouble.what)
        raise
    action()
