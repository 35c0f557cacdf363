"""Why a pod does not run, in plain words, from its status and the cluster's events. Pure.

The words after the colon are those of the kubelet, the scheduler or the provisioner."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.powers import GONE, RUNNING, ContainerState, Moment

MAIN = "main"  # the container of a pod that the caller asked for

# Reasons of a waiting container that seldom pass by themselves. ErrImagePull becomes
# ImagePullBackOff when the kubelet has tried again.
_IMAGE = ("ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")
_SETTING = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_GROWS = "TriggeredScaleUp"  # the autoscaler adds a machine
_STATUSES = (
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
)

# A kubelet that is busy says CreateContainerConfigError too ("failed to sync secret cache", after
# one second: kubernetes/kubernetes#117972), and tries again after 10 to 15 s.
_TRIED_AGAIN_S = 40.0


@dataclass(frozen=True)
class Trouble:
    """`lasting_s`: waiting helps no more once it has lasted for so long."""

    text: str
    advice: str
    lasting_s: float = math.inf


class Patience:
    """Ends after `limit_s`, or when trouble of a kind that may last has lasted for too long."""

    def __init__(self, now: Moment) -> None:
        self._began = now
        # The moment since which trouble is seen that may last.
        self._troubled: Moment | None = None

    def ends(self, now: Moment, trouble: Trouble | None, limit_s: float) -> bool:
        if now - self._began >= limit_s:
            return True
        # Trouble that went away begins anew when it comes back.
        if trouble is None or trouble.lasting_s == math.inf:
            self._troubled = None
            return False
        if self._troubled is None:
            self._troubled = now
        return now - self._troubled >= trouble.lasting_s


def of_pod(
    pod: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> Trouble | None:
    """Returns why a pod does not run yet, if it is known. `events`: its own and its claims'."""
    events = list(events)
    status = pod.get("status", {})
    for kind in _STATUSES:
        for container in status.get(kind) or []:
            trouble = _container_trouble(container, events)
            if trouble:
                return trouble
    return _placement_trouble(pod, events) or _start_trouble(events)


def _container_trouble(
    container: Mapping[str, Any], events: list[Mapping[str, Any]]
) -> Trouble | None:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    text = str(waiting.get("message") or "")
    if reason in _IMAGE:
        # Why is only in the first event that it failed; the status says that it waits.
        why = _last(events[::-1], ("Failed",)) or text
        return Trouble(
            f"its image cannot be pulled ({reason}): {why}",
            "push the image to a registry that the cluster can reach, and name "
            "that with TIERBENCH_REGISTRY. A private one needs a pull secret",
            lasting_s=0.0,
        )
    if reason in _SETTING:
        return Trouble(
            f"it cannot be started ({reason}): {text}",
            "`kubectl describe pod` shows what its machine's kubelet says",
            lasting_s=_TRIED_AGAIN_S,
        )
    return None


def _placement_trouble(
    pod: Mapping[str, Any], events: list[Mapping[str, Any]]
) -> Trouble | None:
    # The scheduler's own words: which machines there are, and why none of them will do.
    placed = _condition(pod, "PodScheduled")
    text = str(placed.get("message") or placed.get("reason") or "")
    if not text or placed.get("status") != "False":
        return None
    what = f"no machine takes it: {text}"
    volumes = volume_trouble(events)
    if volumes:
        what += f"; {volumes}"
    if grows(events):
        return Trouble(what, "the cluster adds a machine: wait for it")
    advice = (
        "give nodes less CPU and memory in the profile, or the cluster "
        "more machines. `kubectl describe nodes` shows what is taken"
    )
    return Trouble(what, advice)


def _start_trouble(events: list[Mapping[str, Any]]) -> Trouble | None:
    """Why its machine, which it has, does not start it."""
    text = _last(events, ("FailedMount", "FailedAttachVolume", "FailedMapVolume"))
    if text:
        return Trouble(
            f"its volume cannot be mounted: {text}", "look at the storage driver's log"
        )
    text = _last(events, ("FailedCreatePodSandBox",))
    if text:
        return Trouble(
            f"its machine cannot start it: {text}", "look at that machine's kubelet"
        )
    return None


def volume_trouble(events: Iterable[Mapping[str, Any]]) -> str:
    """What the provisioner says of claims that have no volume yet; "" if nothing."""
    return _last(list(events), ("ProvisioningFailed", "ClaimLost", "VolumeMismatch"))


def grows(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the cluster is adding a machine."""
    return any(event.get("reason") == _GROWS for event in events)


def _condition(thing: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """What a pod or a machine says of itself; empty if it does not say it."""
    for condition in thing.get("status", {}).get("conditions") or []:
        if condition["type"] == kind:
            return dict(condition)
    return {}


def _last(events: list[Mapping[str, Any]], reasons: tuple[str, ...]) -> str:
    """What the last event with one of these reasons says; "" if there is none."""
    for event in reversed(events):
        if event.get("reason") in reasons:
            return str(event.get("message") or "")
    return ""


def main_state(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state of the container `main`: `running`, `terminated`, `waiting`, or empty."""
    return dict(status_of(pod).get("state") or {})


def status_of(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a pod's status says of its container `main`; empty if nothing."""
    for status in pod.get("status", {}).get("containerStatuses") or []:
        if status["name"] == MAIN:
            return dict(status)
    return {}


def state_of(pod: Mapping[str, Any] | None) -> ContainerState:
    """How the container `main` stands: "exited (exit 137, out of memory)", "waiting (…)"."""
    if pod is None:
        return GONE
    state = main_state(pod)
    if "running" in state:
        return RUNNING
    ended = state.get("terminated")
    if ended:
        reason = ""
        if ended.get("reason") == "OOMKilled":
            reason = ", out of memory"
        exit_code = ended.get("exitCode")
        words = f"exited (exit {exit_code}{reason})"
        return ContainerState(words, exit_code=exit_code)
    status = pod.get("status", {})
    phase = status.get("phase")
    # The states of an evicted pod's containers may be forgotten.
    if phase == "Failed":
        words = f"failed ({status.get('reason')}: {status.get('message')})"
        return ContainerState(words)
    waiting = state.get("waiting") or {}
    return ContainerState(f"waiting ({waiting.get('reason') or phase})")


def may_be_lost(pod: Mapping[str, Any]) -> bool:
    """Whether what is known of a running pod may be old."""
    # Kubernetes only takes the pod's condition Ready away when its machine is not heard of any
    # more. It evicts the pod after minutes.
    return "running" in main_state(pod) and not is_ready(pod)


def is_ready(thing: Mapping[str, Any]) -> bool:
    """Whether a pod or a machine says that it is ready."""
    return bool(_condition(thing, "Ready").get("status") == "True")


def lost_with(name: str, node: Mapping[str, Any] | None) -> ContainerState | None:
    """How pods of that machine stand if it is not ready; None if it is."""
    if node is None:
        return ContainerState(f"lost (its machine {name} is gone)", is_lost=True)
    ready = _condition(node, "Ready")
    # A machine that was never asked says nothing yet: no trouble is seen.
    if ready.get("status", "True") == "True":
        return None
    since = ready.get("lastTransitionTime")
    why = ready.get("message")
    words = f"lost (its machine {name} is not ready since {since}: {why})"
    return ContainerState(words, is_lost=True)
