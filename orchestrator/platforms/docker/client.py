"""A Docker engine as the parts of the platform ask it: its errors translated, its calls repeated,
and what is
made there labelled, by which it is found later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from docker.errors import APIError, DockerException

from orchestrator.errors import UnavailableError
from orchestrator.platforms.common import patience
from orchestrator.platforms.docker import connecting
from orchestrator.platforms.docker.connecting import engine_errors
from orchestrator.powers import Clock

LABEL = "tierbench"
ROLE = "tierbench.role"
CAMPAIGN = "tierbench.campaign"
STANDING = "tierbench.standing"  # on what stays until it is taken down by its name
MARK = f"{LABEL}=1"
OURS: dict[str, Any] = {"label": MARK}
_PASSING = (502, 503, 504)  # of a proxy before the engine, or of one that is starting

Answer = TypeVar("Answer")


class Engine:
    """The engine `address` (a context or an address, None for the environment's), for `campaign`.
    `known_as`: how errors name it, "" if it is the only one. UnavailableError if it does not
    answer."""

    def __init__(self, clock: Clock, address: str | None, campaign: str, known_as: str) -> None:
        self.clock, self.campaign, self.known_as = clock, campaign, known_as
        with self._named():
            connected = connecting.connect(address)
        self.client, self.reach, self.host = connected.client, connected.reach, connected.host

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Translates the engine's errors in the block; those of one that fails say which it is."""
        with self._named(), engine_errors(doing):
            yield

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except UnavailableError as error:
            if self.known_as in error.what:
                raise
            what = f"{self.known_as}: {error.what}"
            raise UnavailableError(what, error.advice, error.evidence) from error

    def patiently(self, call: Callable[[], Answer]) -> Answer:
        return patience.patiently(call, self.clock, _may_pass)

    @property
    def labels(self) -> dict[str, str]:
        return {LABEL: "1", CAMPAIGN: self.campaign}


def _may_pass(error: Exception) -> bool:
    """A refusal is an answer too, so it is not asked again."""
    if isinstance(error, APIError):
        return error.status_code in _PASSING
    return isinstance(error, DockerException | OSError)
