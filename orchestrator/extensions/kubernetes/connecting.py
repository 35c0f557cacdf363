"""The platform by its name: its client is imported when it is used, which takes half a second."""

from orchestrator.errors import UnavailableError
from orchestrator.model import Placing
from orchestrator.powers import Clock, Platform


def connected(clock: Clock, placing: Placing) -> Platform:
    """The cluster. UnavailableError if it does not answer, or its client is not installed."""
    try:
        from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the client of Kubernetes is not installed: {error}",
            advice="pip install 'tierbench[kubernetes]'",
        ) from error
    return KubernetesPlatform(clock, placing)
