"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable

from orchestrator import errors, model
from orchestrator.powers import Clock, Platform


def platforms() -> dict[str, Callable[[Clock, model.Placing], Platform]]:
    """Returns name → function that connects. That raises UnavailableError if nothing answers."""
    return {"docker": _docker, "kubernetes": _kubernetes}


# A platform's client is imported with it: every other command would wait for that, half a second
# for the one of Kubernetes.


def _docker(clock: Clock, placing: model.Placing) -> Platform:
    from orchestrator.platforms.docker import engine, many

    if placing.machines:
        return many.DockerMachines(clock, placing)
    return engine.DockerPlatform(clock)


def _kubernetes(clock: Clock, placing: model.Placing) -> Platform:
    try:
        from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
    except ModuleNotFoundError as error:
        raise errors.UnavailableError(
            f"the client of Kubernetes is not installed: {error}",
            advice="pip install 'tierbench[kubernetes]'",
        ) from error
    return KubernetesPlatform(clock, placing)
