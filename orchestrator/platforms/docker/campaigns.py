"""Campaigns on an engine: one at a time, and what they left is removed, if it has our label.

The guard is a volume with a fixed name, because making a volume that exists returns the existing
one: the campaign that finds its own labels on it holds it. If the process that they name cannot be
seen from here, the holder is alive while its second volume, renewed every half minute, is young by
the engine's clock. Databases and disks end by themselves (`SignsOfLife`)."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any

from docker.errors import APIError, DockerException

from orchestrator.errors import RunError, UnavailableError
from orchestrator.guards import GuardBeats
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.docker.connection import (
    CAMPAIGN,
    LABEL,
    OURS,
    ROLE,
    STANDING,
    Engine,
)
from orchestrator.system import host, shell
from orchestrator.system.clock import wait_until, wait_while

NAME = "tierbench-campaign"
_HOST = "tierbench.host"
_PROCESS = "tierbench.process"
_TAKING_OVER_S = 1.0
_REMOVAL_S = 20.0
# Kind → how docker-py is told to remove one that is in use.
_REMOVAL = {"container": {"force": True, "v": True}, "volume": {"force": True}}
RENTED = ("database", "disk")  # roles: a client ends itself, much sooner
_STEPS = 12


class VolumeGuard:
    """The `Guard` protocol on an engine. Several of one campaign share their beats."""

    beats: GuardBeats = lifecycle.passed_on("_engine", "beats")

    def __init__(self, engine: Engine, beside: Callable[[], None]) -> None:
        """`beside`: is called with each beat of a guard that is ours."""
        self._engine = engine
        self._client = engine.client
        self._beside = beside
        self._is_given_back = False

    @contextmanager
    def held(self) -> Iterator[None]:
        self._is_given_back = False
        with self._engine.errors("looking for another campaign"):
            self._take()
            self._make(_beat_name(self._engine.campaign))
        try:
            with self.beats.during(self._beat_anew):
                yield
        finally:
            self._is_given_back = True
            self._give_back()

    def _give_back(self) -> None:
        """The next campaign takes over what stays: this process is dead by then."""
        with suppress(DockerException, OSError, UnavailableError):
            self._drop(_beat_name(self._engine.campaign))
            holder = self._volume(NAME)
            if holder and self._is_own(holder):
                self._drop(NAME)

    def other(self) -> str | None:
        with self._engine.errors("looking for another campaign"):
            holder = self._volume(NAME)
            if holder is None or self._is_own(holder) or not self._lives(holder):
                return None
            return _of(holder, CAMPAIGN)

    def keeps(self, volume: Any) -> bool:
        """Whether this volume guards this campaign, or another that is alive now: one may have
        taken the place of a dead one since the volume was listed."""
        if not volume.name.startswith(NAME):
            return False
        if self._is_own(volume):
            return True
        other = self.other()
        if other is None:
            return False
        return volume.name == NAME or _of(volume, CAMPAIGN) == other

    def _is_own(self, holder: Any) -> bool:
        return _of(holder, CAMPAIGN) == self._engine.campaign

    def _take(self) -> None:
        for attempt in range(3):
            holder = self._make(NAME)
            if attempt and self._is_own(holder):
                # Another campaign may be replacing the dead one too, and have removed our guard.
                self._engine.clock.sleep(_TAKING_OVER_S)
                holder = self._make(NAME)
            if self._is_own(holder):
                return
            if self._lives(holder):
                break
            self._drop(NAME)
            self._drop(_beat_name(_of(holder, CAMPAIGN)))
        since = f"since {holder.attrs.get('CreatedAt')}"
        at = _of(holder, _HOST)
        drop = f"docker volume rm {NAME}"
        raise lifecycle.refusal("Docker engine", _of(holder, _PROCESS), at, since, drop)

    def _lives(self, holder: Any) -> bool:
        if not _of(holder, CAMPAIGN):
            return True  # tierbench did not make it, so it must not be removed
        return lifecycle.lives(_of(holder, _PROCESS), lambda: self._is_young(holder))

    def _is_young(self, holder: Any) -> bool:
        """Whether the holder's last beat is recent by the engine's clock; True if unknown."""
        name = _beat_name(_of(holder, CAMPAIGN))
        clock = self._engine.clock
        # It is missing while it is renewed; else the guard itself says when it was made.
        beat = wait_until(
            lambda: self._volume(name), deadline_s=2.0, clock=clock, every_s=1.0
        )
        beat = beat or holder
        try:
            now = self._engine.patiently(self._client.info)["SystemTime"]
            age = datetime.fromisoformat(now) - datetime.fromisoformat(
                beat.attrs["CreatedAt"]
            )
        except (KeyError, TypeError, ValueError):
            return True
        return age.total_seconds() < lifecycle.DEAD_S

    def _beat_anew(self) -> None:
        try:
            holder = self._make(NAME)  # a `docker volume prune` may have taken it
            if not self._is_own(holder):
                other = _of(holder, CAMPAIGN)
                raise lifecycle.taken_over(
                    "the Docker engine", other, _of(holder, _HOST)
                )
            self._drop(_beat_name(self._engine.campaign))
            self._make(_beat_name(self._engine.campaign))
            self._beside()
        except APIError as error:
            if error.status_code in (401, 403):
                raise lifecycle.refused_beat("the Docker engine", error) from error
            raise
        finally:
            # One that the engine answered late may have made them again.
            if self._is_given_back:
                self._give_back()

    def _volume(self, name: str) -> Any | None:
        return self._engine.found(lambda: self._client.volumes.get(name))

    def _make(self, name: str) -> Any:
        labels = {
            **self._engine.labels,
            _HOST: host.name(),
            _PROCESS: host.process_mark(),
        }
        self._engine.patiently(lambda: self._client.volumes.create(name, labels=labels))
        return self._engine.patiently(lambda: self._client.volumes.get(name))

    def _drop(self, name: str) -> None:
        self._engine.found(lambda: self._client.volumes.get(name).remove(force=True))


def _beat_name(campaign: str) -> str:
    return f"{NAME}-beat-{campaign}"


def _of(holder: Any, label: str) -> str:
    return str((holder.attrs.get("Labels") or {}).get(label, ""))


def _nothing() -> None:
    """What is only listed stays."""


def _not_of(campaigns: Collection[str | None], things: Iterable[Any]) -> list[Any]:
    """Things that neither stand nor belong to one of these campaigns."""
    left: list[Any] = []
    for thing in things:
        labels = labels_of(thing)
        if STANDING not in labels and labels.get(CAMPAIGN, "") not in campaigns:
            left.append(thing)
    return left


class Leftovers:
    def __init__(self, engine: Engine, guard: VolumeGuard) -> None:
        self._engine = engine
        self._client = engine.client
        self._guard = guard

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        """Removes what `Platform.sweep` says.

        `only_list`: without things of this campaign, which removes them itself.
        """
        spared = {self._guard.other()}
        if only_list:
            spared.add(self._engine.campaign)
        swept = lifecycle.Swept()
        patiently = self._engine.patiently

        def take(kind: str, thing: Any) -> None:
            remove: Callable[[], None] = partial(self.remove, kind, thing)
            if only_list:
                remove = _nothing
            swept.take(f"{kind} {thing.name}", remove)

        def volumes() -> list[Any]:
            listed = patiently(lambda: self._client.volumes.list(filters=OURS))
            left = _not_of(spared, listed)
            return [volume for volume in left if not self._guard.keeps(volume)]

        with self._engine.errors("removing leftovers"):
            containers = patiently(
                lambda: self._client.containers.list(
                    all=True, filters=OURS, ignore_removed=True
                )
            )
            # Databases and clients before disks: a mounted device cannot be removed.
            for container in sorted(_not_of(spared, containers), key=_is_disk):
                if _is_disk(container) and not only_list:
                    self._free_disk(container, volumes(), swept)
                take("container", container)
            for volume in volumes():
                take("volume", volume)
            networks = patiently(lambda: self._client.networks.list(filters=OURS))
            for network in _not_of(spared, networks):
                take("network", network)
        return swept.result("docker ps -a")

    def _free_disk(
        self, container: Any, volumes: Iterable[Any], swept: lifecycle.Swept
    ) -> None:
        """Removes the volumes that nothing holds any more, and stops the disk's server."""
        for volume in volumes:
            with suppress(APIError):
                self._engine.patiently(partial(volume.remove, force=True))
                swept.removed.append(f"volume {volume.name}")
        with suppress(DockerException, OSError):
            self._engine.answering.heard(partial(container.stop, timeout=15))

    def make_room(self, kind: str, name: str, get: Callable[[str], Any]) -> None:
        """Removes our leftover of that name, if any. UnavailableError if it is not ours."""
        leftover = self._engine.found(lambda: get(name))
        if leftover is None:
            return
        if LABEL not in labels_of(leftover):
            how = f"rename or remove it (`docker {kind} rm {name}`)"
            raise UnavailableError(
                f"there is a {kind} named {name} that tierbench did not make: it is "
                "left alone",
                advice=f"{how}, then run again",
            )
        self.remove(kind, leftover)

    def remove_container(self, name: str, container: str) -> None:
        """Removes a container, given its name or id; it is gone when this returns."""
        self._until_gone(
            f"container {name}",
            lambda: self._client.containers.get(container).remove(force=True, v=True),
        )

    def remove(self, kind: str, thing: Any) -> None:
        """Removes a thing that docker-py has; it is gone when this returns."""
        options = _REMOVAL.get(kind, {})
        self._until_gone(f"{kind} {thing.name}", lambda: thing.remove(**options))

    def _until_gone(self, thing: str, remove: Callable[[], None]) -> None:
        """Tries for a while: others may hold it, or be removing it, at this moment."""

        def refusal() -> str:
            try:
                self._engine.found(remove)
            except APIError as error:
                return str(error.explanation or error)
            return ""

        with self._engine.errors(f"removing {thing}"):
            clock = self._engine.clock
            reason = wait_while(
                refusal, deadline_s=_REMOVAL_S, clock=clock, every_s=0.2
            )
            if reason:
                within_s = _REMOVAL_S
                raise RunError(
                    f"{thing} could not be removed within {within_s:g} s: {reason}",
                    advice="look with `docker ps -a` at what holds it",
                )


class SignsOfLife:
    """Signs of life to containers that end if they hear none for `seconds`, or a step later.

    The first sign starts a watch in each (scripts/sign.sh). What the image runs is as it was.
    """

    def __init__(self, engine: Engine, seconds: int) -> None:
        self._engine = engine
        self._step_s = max(1, seconds // _STEPS)
        self._containers = set[str]()
        self._signed_s = 0.0

    @contextmanager
    def paid(self, container: str) -> Iterator[None]:
        """The container is told of each sign until the block ends."""
        self._containers.add(container)
        self._reach(container)
        try:
            yield
        finally:
            self._containers.discard(container)

    def sign(self) -> None:
        """Tells all, not more often than each second step; who cannot be told is not waited for."""
        now_s = self._engine.clock.monotonic()
        if now_s - self._signed_s >= 2 * self._step_s:
            self._signed_s = now_s
            for container in tuple(self._containers):
                self._reach(container)

    def _reach(self, container: str) -> None:
        api: Any = self._engine.client.api
        place = "/tmp/tierbench-rent"
        step_s = str(self._step_s)
        argv = list(shell.script(__package__, "sign", place, step_s, str(_STEPS)))
        with suppress(DockerException, OSError):
            command = api.exec_create(container, argv, stdout=False, stderr=False)
            api.exec_start(command["Id"], detach=True)


def labels_of(thing: Any) -> dict[str, str]:
    """Returns the labels: volumes and networks have them elsewhere than containers."""
    labels = thing.attrs.get("Labels")
    if labels is None:
        labels = thing.attrs.get("Config", {}).get("Labels")
    return dict(labels or {})


def _is_disk(container: Any) -> bool:
    return labels_of(container).get(ROLE) == "disk"
