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
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from docker.errors import DockerException, NotFound

from docker import DockerClient
from orchestrator.errors import UnavailableError
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.labels import CAMPAIGN
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import Clock
from orchestrator.system import host

NAME = "tierbench-campaign"
_HOST, _PROCESS = "tierbench.host", "tierbench.process"
BEAT_S, DEAD_S = 30.0, 300.0
_TAKING_OVER_S = 1.0


class Guard:
    """The engine's guard, as seen by `campaign`."""

    def __init__(self, client: DockerClient, clock: Clock, campaign: str) -> None:
        self._client, self._clock, self._campaign = client, clock, campaign

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the guard during the block. UnavailableError if a live campaign holds it."""
        with engine_errors("looking for another campaign"):
            self._take()
            self._beat()
        stop = threading.Event()
        beating = threading.Thread(target=self._keep_beating, args=(stop,), daemon=True)
        beating.start()
        try:
            yield
        finally:
            stop.set()
            beating.join(timeout=5)
            # The next campaign takes over what stays: this process is dead by then.
            with contextlib.suppress(DockerException, OSError):
                self._drop(_beat_name(self._campaign))
                if (holder := self._holder()) and self._is_own(holder):
                    self._drop(NAME)

    def other(self) -> str | None:
        """Returns the live campaign on this engine, unless it is this one."""
        with engine_errors("looking for another campaign"):
            holder = self._holder()
            if holder is None or self._is_own(holder) or not self._lives(holder):
                return None
            return _of(holder, CAMPAIGN)

    def _is_own(self, holder: Any) -> bool:
        return _of(holder, CAMPAIGN) == self._campaign

    def _take(self) -> None:
        for attempt in range(3):
            holder = self._make(NAME)
            if attempt and self._is_own(holder):
                # Another campaign may be replacing the dead one too, and have removed our guard.
                self._clock.sleep(_TAKING_OVER_S)
                holder = self._make(NAME)
            if self._is_own(holder):
                return
            if self._lives(holder):
                break
            self._drop(NAME)
            self._drop(_beat_name(_of(holder, CAMPAIGN)))
        raise UnavailableError(
            f"another campaign is running on this Docker engine: process {_process_id(holder)} on "
            f"{_of(holder, _HOST)}, since {holder.attrs.get('CreatedAt')}",
            advice="wait for it to end, or stop it with Ctrl-C where it runs; if that machine is "
            f"gone for good, `docker volume rm {NAME}`",
        )

    def _lives(self, holder: Any) -> bool:
        if not _of(holder, CAMPAIGN):
            return True  # tierbench did not make it, so it must not be removed
        alive = host.process_lives(_of(holder, _PROCESS))
        return self._is_young(holder) if alive is None else alive

    def _is_young(self, holder: Any) -> bool:
        """Whether the holder's last beat is recent by the engine's clock; True if unknown."""
        beat = self._last_beat(holder)
        try:
            now = patiently(self._client.info, self._clock)["SystemTime"]
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
                return patiently(lambda: self._client.volumes.get(name), self._clock)
            except NotFound:
                self._clock.sleep(1.0)
        return holder

    def _keep_beating(self, stop: threading.Event) -> None:
        while not stop.wait(BEAT_S):
            with contextlib.suppress(Exception):  # no error may end the beats: it would be dead
                self._drop(_beat_name(self._campaign))
                self._beat()
                self._make(NAME)  # a `docker volume prune` may have taken it

    def _beat(self) -> None:
        self._make(_beat_name(self._campaign))

    def _holder(self) -> Any | None:
        try:
            return patiently(lambda: self._client.volumes.get(NAME), self._clock)
        except NotFound:
            return None

    def _make(self, name: str) -> Any:
        labels = {CAMPAIGN: self._campaign, _HOST: host.name(), _PROCESS: host.process_mark()}
        patiently(lambda: self._client.volumes.create(name, labels=labels), self._clock)
        return patiently(lambda: self._client.volumes.get(name), self._clock)

    def _drop(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            patiently(lambda: self._client.volumes.get(name).remove(force=True), self._clock)


def _beat_name(campaign: str) -> str:
    return f"{NAME}-beat-{campaign}"


def _process_id(holder: Any) -> str:
    return [*_of(holder, _PROCESS).split(), "?", "?", "?"][2]


def _of(holder: Any, label: str) -> str:
    return str((holder.attrs.get("Labels") or {}).get(label, ""))
