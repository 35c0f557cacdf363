"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable

from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, Platform


def platforms() -> dict[str, Callable[[Clock], Platform]]:
    """By name, what connects to each. UnavailableError where it does not answer."""
    return {"docker": DockerPlatform}
