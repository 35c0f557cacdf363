"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable

from orchestrator.model import Placing
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import Clock, Platform


def platforms() -> dict[str, Callable[[Clock, Placing], Platform]]:
    """Returns name → function that connects. That raises UnavailableError if nothing answers."""
    return {"docker": _docker, "kubernetes": _kubernetes}


def _docker(clock: Clock, placing: Placing) -> Platform:
    return DockerMachines(clock, placing) if placing.machines else DockerPlatform(clock)


def _kubernetes(clock: Clock, placing: Placing) -> Platform:
    # Its client takes half a second to import, which every other command would wait for.
    from orchestrator.platforms.kubernetes.engine import KubernetesPlatform

    return KubernetesPlatform(clock, placing)
