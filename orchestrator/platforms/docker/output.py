"""The output of a command in a container of the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from docker.errors import DockerException
from docker.utils.socket import demux_adaptor, frames_iter

from orchestrator.errors import TierbenchError
from orchestrator.platforms.common import output
from orchestrator.platforms.common.output import Chunk


class Output(output.Output):
    """The two streams of an exec."""

    def __init__(self, socket: Any, kept: int | None = None) -> None:
        """`socket` comes from `exec_start(…, socket=True)`; it is closed at the end. `kept`: as of
        the other."""
        super().__init__(_chunks(socket), kept)


def _chunks(socket: Any) -> Iterator[Chunk]:
    try:
        frames: Any = frames_iter
        for frame in frames(socket, tty=False):
            yield demux_adaptor(*frame)
    except (DockerException, OSError, ValueError) as error:
        raise TierbenchError(f"the output stream broke: {error}") from error
    finally:
        # docker-py's own stream would leave the response, and with it the socket, open.
        with contextlib.suppress(OSError):
            socket._response.close()
