"""Allows one campaign on an engine: two would disturb each other's figures and remove each other's
containers.

The guard is a volume with a fixed name, because making a volume that exists returns the existing
one: the campaign that finds its own labels on it holds it. They name campaign, host and process.
The holder is alive while that process is. If the process cannot be seen from here (another host or
container), it is alive while its second volume, renewed every half minute, is young by the engine's
clock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from docker.errors import DockerException, NotFound

from orchestrator.platforms.common import guarding
from orchestrator.platforms.common.guarding import DEAD_S
from orchestrator.platforms.docker.client import CAMPAIGN, Engine
from orchestrator.system import host

NAME = "tierbench-campaign"
_HOST, _PROCESS = "tierbench.host", "tierbench.process"
_TAKING_OVER_S = 1.0


class VolumeGuard:
    """The `Guard` protocol on an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._client = engine, engine.client

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._engine.errors("looking for another campaign"):
            self._take()
            self._beat()
        try:
            with guarding.beating(self._beat_anew):
                yield
        finally:
            # The next campaign takes over what stays: this process is dead by then.
            with contextlib.suppress(DockerException, OSError):
                self._drop(_beat_name(self._engine.campaign))
                if (holder := self._holder()) and self._is_own(holder):
                    self._drop(NAME)

    def other(self) -> str | None:
        with self._engine.errors("looking for another campaign"):
            holder = self._holder()
            if holder is None or self._is_own(holder) or not self._lives(holder):
                return None
            return _of(holder, CAMPAIGN)

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
        at, drop = _of(holder, _HOST), f"docker volume rm {NAME}"
        raise guarding.refusal("Docker engine", _of(holder, _PROCESS), at, since, drop)

    def _lives(self, holder: Any) -> bool:
        if not _of(holder, CAMPAIGN):
            return True  # tierbench did not make it, so it must not be removed
        return guarding.lives(_of(holder, _PROCESS), lambda: self._is_young(holder))

    def _is_young(self, holder: Any) -> bool:
        """Whether the holder's last beat is recent by the engine's clock; True if unknown."""
        beat = self._last_beat(holder)
        try:
            now = self._engine.patiently(self._client.info)["SystemTime"]
            age = datetime.fromisoformat(now) - datetime.fromisoformat(beat.attrs["CreatedAt"])
        except (KeyError, TypeError, ValueError):
            return True
        return age.total_seconds() < DEAD_S

    def _last_beat(self, holder: Any) -> Any:
        """The volume of the last beat, which is missing for a moment while it is renewed; if it
        stays missing, the guard itself."""
        name = _beat_name(_of(holder, CAMPAIGN))
        for _ in range(3):
            try:
                return self._engine.patiently(lambda: self._client.volumes.get(name))
            except NotFound:
                self._engine.clock.sleep(1.0)
        return holder

    def _beat_anew(self) -> None:
        self._drop(_beat_name(self._engine.campaign))
        self._beat()
        self._make(NAME)  # a `docker volume prune` may have taken it

    def _beat(self) -> None:
        self._make(_beat_name(self._engine.campaign))

    def _holder(self) -> Any | None:
        try:
            return self._engine.patiently(lambda: self._client.volumes.get(NAME))
        except NotFound:
            return None

    def _make(self, name: str) -> Any:
        labels = {
            CAMPAIGN: self._engine.campaign,
            _HOST: host.name(),
            _PROCESS: host.process_mark(),
        }
        self._engine.patiently(lambda: self._client.volumes.create(name, labels=labels))
        return self._engine.patiently(lambda: self._client.volumes.get(name))

    def _drop(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            self._engine.patiently(lambda: self._client.volumes.get(name).remove(force=True))


def _beat_name(campaign: str) -> str:
    return f"{NAME}-beat-{campaign}"


def _of(holder: Any, label: str) -> str:
    return str((holder.attrs.get("Labels") or {}).get(label, ""))
