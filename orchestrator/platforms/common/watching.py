"""A command in a container that is followed to its end, while other containers must live."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.errors import NodeError
from orchestrator.platforms.common.output import Output
from orchestrator.powers import Clock, Container

_LOOK_EVERY_S = 1.0
_UNNOTICED_S = 0.5  # after which the platform has noticed a death


def follow(
    output: Output,
    on_line: Callable[[str], None] | None,
    watch: Sequence[Container],
    deadline: float,
    clock: Clock,
    look: Callable[[], None] = lambda: None,
) -> bool:
    """Reads the output to its end; False if the deadline comes first. Each second it looks at the
    containers of `watch`, as `raise_if_dead` does, and calls `look`."""
    next_look = clock.monotonic() + _LOOK_EVERY_S
    while output.follow(on_line or (lambda _line: None)):
        now = clock.monotonic()
        if now >= deadline:
            return False
        if now >= next_look:
            raise_if_dead(watch, output)
            look()
            next_look = now + _LOOK_EVERY_S
    return True


def after_failure(watch: Sequence[Container], output: Output, clock: Clock) -> None:
    """As `raise_if_dead`: a load generator that lost its database often ends before the platform
    notices the death."""
    if watch:
        clock.sleep(_UNNOTICED_S)
        raise_if_dead(watch, output)


def raise_if_dead(watch: Sequence[Container], output: Output) -> None:
    """NodeError for the first that is not running, with its last lines and the command's."""
    for container in watch:
        state = container.state()
        if state != "running":
            raise NodeError(
                f"{container.name} died in the middle of the run: {state}",
                advice="look at its log among the raw files of the run",
                evidence=container.logs(tail=20) + "\n" + output.tail(),
            )
