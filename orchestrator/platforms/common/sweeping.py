"""What a sweep removed, and what stayed: one thing that stays does not keep the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import RunError, TierbenchError


@dataclass
class Swept:
    """`removed`: one line each; `kept`: why each of the others stayed."""

    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def take(self, line: str, remove: Callable[[], Sequence[str] | None]) -> None:
        """Calls `remove`, and notes the lines that it returns, or else `line`."""
        try:
            self.removed += remove() or [line]
        except TierbenchError as error:
            self.kept.append(error.what)

    def result(self, look: str) -> tuple[str, ...]:
        """Returns what was removed. RunError if something stayed; `look`: the command that shows
        it."""
        if self.kept:
            raise RunError(
                f"leftovers of an earlier run could not be removed: {'; '.join(self.kept)}",
                advice=f"look with `{look}` at what holds them, then `make clean`",
            )
        return tuple(self.removed)
