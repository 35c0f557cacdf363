"""A disk whose server ended, told as the cause of what failed on it.

A node whose disk is gone says `Input/output error` in its log, and ends: without the disk's end,
its own looks like a fault of the database.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from orchestrator.design.node_disks import DISK_SERVER
from orchestrator.errors import RunError, TierbenchError
from orchestrator.model import Node
from orchestrator.powers import World
from orchestrator.powers.containers import GONE


@contextmanager
def ends_told(servers: Sequence[Node], world: World) -> Iterator[None]:
    """RunError that names the disk, instead of an error of the block, if one of the containers
    that serve disks has ended."""
    try:
        yield
    except RunError as error:
        for server in servers:
            words = _how_it_ended(server, world)
            if words:
                _raise_ended(server, words, error)
        raise


def _how_it_ended(server: Node, world: World) -> str:
    """`exited (exit 137)`, or `gone`; empty if it runs, or nobody knows."""
    # An engine that does not answer must not hide why the run failed.
    with suppress(TierbenchError, OSError):
        state = world.platform.container(server.container_name).state()
        if state == GONE or state.exit_code is not None:
            return state.words
    return ""


def _raise_ended(server: Node, words: str, error: RunError) -> NoReturn:
    disk = server.name.removeprefix(DISK_SERVER)
    what = f"the disk of {disk} ended, {words}; {error.what}"
    raise RunError(what, error.advice, error.evidence) from error
