"""Programs that are run on this computer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Completed:
    """A finished command and its output."""

    argv: tuple[str, ...]
    exit_code: int
    out: str
    err: str
    duration_s: float

    def tail(self) -> str:
        """Returns the end of both streams, as evidence of an error."""
        # The end tells why a command failed, and before it there may be megabytes.
        return (self.out + self.err)[-4000:]


class Shell(Protocol):
    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Runs to the end. A non-zero exit is returned, not raised. RunError past the deadline;
        UnavailableError if the command is not installed."""
