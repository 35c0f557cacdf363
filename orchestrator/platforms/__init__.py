"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable

from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, Platform


def platforms() -> dict[str, Callable[[Clock], Platform]]:
    """Returns name → function that connects. That raises UnavailableError if nothing answers."""
    return {"docker": DockerPlatform, "kubernetes": _kubernetes}


def _kubernetes(clock: Clock) -> Platform:
    # Its client takes half a second to import, which every other command would wait for.
    from orchestrator.platforms.kubernetes.engine import KubernetesPlatform

    return KubernetesPlatform(clock)
