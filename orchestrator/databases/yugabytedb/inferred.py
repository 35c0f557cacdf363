"""Readings and commands that rest on documents and source code: one that fails ends no run.

What fails is warned of once, and kept for the record: the report doubts the run ("facts not read").
A node that died is an error all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from orchestrator.databases.common import container_nodes
from orchestrator.databases.yugabytedb import nodes
from orchestrator.errors import NodeError, RunError
from orchestrator.model import Node
from orchestrator.powers import World

# How a page that does not answer, or answers in another form, shows itself.
UNREADABLE = (OSError, KeyError, IndexError, TypeError, AttributeError, ValueError)
PATIENCE_S = 60.0  # a page may be unreadable for a moment, as its server starts

T = TypeVar("T")


class Unread:
    """What could not be read of one cluster, and why."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reasons: dict[str, str] = {}

    def note(self, what: str, reason: str) -> None:
        if what not in self._reasons:
            self._reasons[what] = reason
            self._world.progress.warn(f"{what} could not be read: {reason}")

    def text(self) -> str | None:
        return "; ".join(f"{what}: {why}" for what, why in self._reasons.items()) or None

    def attempt(
        self, what: str, reading: Callable[[], T], otherwise: T, cluster: Sequence[Node]
    ) -> T:
        """The reading, or `otherwise`. NodeError if a node died."""
        try:
            return reading()
        except UNREADABLE as error:
            self._world.clock.sleep(0.5)  # a connection is lost before the engine notices a death
            raise_if_dead(cluster, self._world)
            self.note(what, described(error))
            return otherwise

    def command(self, what: str, run: Callable[[], object]) -> None:
        """Runs a command; that it fails is only noted. NodeError if its node died."""
        try:
            run()
        except NodeError:
            raise
        except RunError as error:
            self.note(what, error.what)

    def patiently(self, what: str, missing: Callable[[], str]) -> Callable[[], str]:
        """`missing`, but a page that stays unreadable is noted, and then nothing is missing."""
        since_s: float | None = None

        def missing_or_noted() -> str:
            nonlocal since_s
            try:
                text = missing()
            except UNREADABLE as error:
                now_s = self._world.clock.monotonic()
                since_s = now_s if since_s is None else since_s
                if now_s - since_s < PATIENCE_S:
                    return described(error)
                self.note(what, described(error))
                return ""
            since_s = None
            return text

        return missing_or_noted


def described(error: BaseException) -> str:
    """With its kind: the bare text of a KeyError says nothing."""
    return str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"


def raise_if_dead(cluster: Sequence[Node], world: World) -> None:
    names = [container_nodes.container_name(node) for node in cluster]
    container_nodes.raise_if_dead(names, world, nodes.log)
