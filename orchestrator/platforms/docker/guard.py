"""One campaign at a time on an engine.

The guard is a volume with a fixed name, because making a volume that exists returns the existing
one: the campaign that finds its own labels on it holds it. If the process that they name cannot be
seen from here, the holder is alive while its second volume, renewed every half minute, is young by
the engine's clock."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from docker.errors import APIError, DockerException

from orchestrator.errors import UnavailableError
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.labels import HOST, PROCESS
from orchestrator.platforms.docker.connection import CAMPAIGN, Engine
from orchestrator.powers import GuardBeats
from orchestrator.system import host
from orchestrator.system.clock import wait_until

NAME = "tierbench-campaign"
# Seconds in which a slower campaign removes what it takes for the dead one's guard.
_TAKING_OVER_S = 1.0


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
            with self.beats.during(self._beat_anew, self._engine.clock):
                yield
        finally:
            self._is_given_back = True
            self._give_back()

    def _give_back(self) -> None:
        # The next campaign takes over what cannot be removed: this process is dead by then.
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
        # A volume that exists is returned instead of made: its labels say whose it is.
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
            # The dead campaign's guard is gone: the next attempt makes ours.
            self._drop(_beat_name(_of(holder, CAMPAIGN)))
        since = f"since {holder.attrs.get('CreatedAt')}"
        at = _of(holder, HOST)
        drop = f"docker volume rm {NAME}"
        raise lifecycle.refusal("Docker engine", _of(holder, PROCESS), at, since, drop)

    def _lives(self, holder: Any) -> bool:
        if not _of(holder, CAMPAIGN):
            return True  # tierbench did not make it, so it must not be removed
        return lifecycle.lives(_of(holder, PROCESS), lambda: self._is_young(holder))

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
            # Both times are the engine's, so that clocks that differ make nobody look dead.
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
                    "the Docker engine", other, _of(holder, HOST)
                )
            self._drop(_beat_name(self._engine.campaign))
            self._make(_beat_name(self._engine.campaign))
            self._beside()
        except APIError as error:
            # This is no missed beat that may come later: none will be taken any more.
            if error.status_code in (401, 403):
                raise lifecycle.refused_beat("the Docker engine", error) from error
            raise
        finally:
            # A beat that the engine answered late may have made them again.
            if self._is_given_back:
                self._give_back()

    def _volume(self, name: str) -> Any | None:
        return self._engine.found(lambda: self._client.volumes.get(name))

    def _make(self, name: str) -> Any:
        labels = {
            **self._engine.labels,
            HOST: host.name(),
            PROCESS: host.process_mark(),
        }
        self._engine.patiently(lambda: self._client.volumes.create(name, labels=labels))
        return self._engine.patiently(lambda: self._client.volumes.get(name))

    def _drop(self, name: str) -> None:
        self._engine.found(lambda: self._client.volumes.get(name).remove(force=True))


def _beat_name(campaign: str) -> str:
    return f"{NAME}-beat-{campaign}"


def _of(holder: Any, label: str) -> str:
    return str((holder.attrs.get("Labels") or {}).get(label, ""))
