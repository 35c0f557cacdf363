"""Translates docker-py's exceptions into our own errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from docker.errors import APIError, DockerException, ImageNotFound

from orchestrator.errors import NodeError, RunError, UnavailableError

_START = "start it (`make setup` does, as root on Debian), then run `tierbench doctor`"


@contextmanager
def engine_errors(doing: str, advice: str = _START) -> Iterator[None]:
    """Translates exceptions of the block. `doing` begins the message, as in "starting node-1";
    `advice` is for an engine that does not answer."""
    try:
        yield
    except ImageNotFound as error:
        raise UnavailableError(
            f"{doing}: the image is not here ({error.explanation})", advice="run `make setup`"
        ) from error
    except APIError as error:
        text = str(error.explanation or error)
        if "port is already allocated" in text or "address already in use" in text:
            raise UnavailableError(
                f"{doing}: a port is taken ({text})",
                advice="free the port, or leave `port` out of the profile to use any free one",
            ) from error
        if "is not running" in text:
            raise NodeError(f"{doing}: {text}") from error
        raise RunError(f"{doing}: Docker refused: {text}") from error
    except (DockerException, OSError) as error:
        raise UnavailableError(
            f"{doing}: the Docker engine does not answer ({error})", advice=advice
        ) from error
