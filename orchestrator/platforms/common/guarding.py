"""How a campaign shows that it lives, and how it is seen of another: written once for all guards.

A holder names its host and its process. It is alive while that process is; if that cannot be seen
from here (another host or container), while its last sign of life is young.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orchestrator.errors import UnavailableError
from orchestrator.system import host

BEAT_S, DEAD_S = 30.0, 300.0


def lives(process_mark: str, is_young: Callable[[], bool]) -> bool:
    """Whether the holder with this mark of its process lives; `is_young` is asked only if the
    process cannot be seen from here."""
    alive = host.process_lives(process_mark)
    return is_young() if alive is None else alive


@contextmanager
def beating(beat: Callable[[], object]) -> Iterator[None]:
    """Calls `beat` every half minute until the block ends, on a thread of its own."""
    stop = threading.Event()

    def loop() -> None:
        while not stop.wait(BEAT_S):
            with contextlib.suppress(Exception):  # no error may end the beats: it would be dead
                beat()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


def refusal(on: str, process_mark: str, its_host: str, more: str, drop: str) -> UnavailableError:
    """The error of a second campaign. `drop`: the command that removes the guard of the first."""
    process_id = [*process_mark.split(), "?", "?", "?"][2]
    return UnavailableError(
        f"another campaign is running on this {on}: process {process_id} on {its_host}, {more}",
        advice="wait for it to end, or stop it with Ctrl-C where it runs; if that machine is gone "
        f"for good, `{drop}`",
    )
