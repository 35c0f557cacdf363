"""Databases and disks on a machine elsewhere end by themselves when this program is gone.

A signal of life starts a watch in the container, unless it is there, and gives it another number;
when the number has stayed the same for so long the watch ends the container's first process, and
after a while all others. It counts by itself, so no clock that is set ends anything, and what the
image runs is as it was. What has ended is removed by the next start.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from docker.errors import DockerException

from orchestrator.platforms.docker.connection import Engine

ROLES = ("database", "disk")  # a client ends itself, much sooner
_STEPS = 12
# For any POSIX shell: $0 is a folder of the container; $1 a step in seconds.
_SIGN = f"""watch() {{
  still=0
  while [ "$still" -lt {_STEPS} ]; do
    sleep "$1"
    now=
    read -r now < "$0/sign"
    if [ "$now" = "$last" ]; then still=$((still + 1)); else still=0 last=$now; fi
  done
  kill -TERM 1
  sleep 20
  kill -KILL -1
}}
if mkdir "$0"; then watch "$1" & fi
echo $$ > "$0/sign" """


class SignsOfLife:
    """To containers of an engine that end `seconds` after the last of them, or a step later."""

    def __init__(self, engine: Engine, seconds: int) -> None:
        self._engine, self._step_s = engine, max(1, seconds // _STEPS)
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
        if (now_s := self._engine.clock.monotonic()) - self._signed_s >= 2 * self._step_s:
            self._signed_s = now_s
            for container in tuple(self._containers):
                self._reach(container)

    def _reach(self, container: str) -> None:
        api: Any = self._engine.client.api
        argv = ["sh", "-c", _SIGN, "/tmp/tierbench-rent", str(self._step_s)]
        with suppress(DockerException, OSError):
            command = api.exec_create(container, argv, stdout=False, stderr=False)
            api.exec_start(command["Id"], detach=True)
