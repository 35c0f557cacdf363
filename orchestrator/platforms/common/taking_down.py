"""What a block made is taken down at its end, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.errors import TierbenchError


@contextmanager
def taken_down(remove: Callable[[], Any]) -> Iterator[None]:
    """Calls `remove` at the end of the block. If the block raised, that error is raised, and one
    of `remove` becomes a note of it."""
    try:
        yield
    except BaseException as error:
        try:
            remove()
        except TierbenchError as trouble:
            error.add_note(trouble.what)
        raise
    remove()
