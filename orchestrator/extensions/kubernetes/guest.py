"""A container that is added to a running pod, and the log of any container of a pod."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from orchestrator.errors import NodeError, UnavailableError
from orchestrator.extensions.kubernetes import trouble
from orchestrator.extensions.kubernetes.connection import (
    Api,
    Refused,
    Thing,
    cluster_errors,
)

# A kubelet keeps 10 MiB of each file, unless it is told otherwise.
_LOG_BYTES = 64 * 2**20


@dataclass
class Guest:
    """A container that was added to the pod at `path`, for one command."""

    name: str
    path: str
    api: Api

    def exit_code(self) -> int | None:
        """The exit code; None while the command runs.

        NodeError if its pod has ended, UnavailableError if its image cannot be had.
        """
        with cluster_errors(f"looking at {self.name}"):
            pod = self.api.get(self.path)
        ended = self._state_in(pod).get("terminated")
        if ended:
            return int(ended["exitCode"])
        if "running" not in trouble.main_state(pod):
            raise NodeError(
                f"{self.name} is in a pod that does not run: {trouble.state_of(pod).words}"
            )
        problem = trouble.of_pod(pod, ())
        if problem and not problem.lasting_s:
            raise UnavailableError(
                f"{self.name} does not start: {problem.text}", problem.advice
            )
        return None

    def _state_in(self, pod: Thing) -> Thing:
        """Its own state, as the pod has it; empty if that does not know it yet."""
        for status in pod["status"].get("ephemeralContainerStatuses") or []:
            if status["name"] == self.name:
                return status.get("state") or {}
        return {}

    def logs(self, tail: int | None = None) -> str:
        return log_of(self.api, self.path, self.name, tail)


def log_of(api: Api, path: str, container: str, tail: int | None) -> str:
    """The log of a container of a pod; "" if it has not begun yet, or is gone."""
    query: dict[str, Any] = {"container": container, "limitBytes": _LOG_BYTES}
    if tail:
        query["tailLines"] = tail
    pod = PurePosixPath(path).name
    with cluster_errors(f"reading the log of {container} of {pod}"):
        try:
            return api.text(f"{path}/log", **query)
        except Refused as error:
            # 400: its container has not begun. 404: the pod is gone.
            if error.status in (400, 404):
                return ""
            raise
