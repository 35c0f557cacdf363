"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable

from orchestrator.model import Placing
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, Platform


def platforms() -> dict[str, Callable[[Clock, Placing], Platform]]:
    """Returns name → function that connects. That raises UnavailableError if nothing answers."""
    return {"docker": lambda clock, _: DockerPlatform(clock)}
