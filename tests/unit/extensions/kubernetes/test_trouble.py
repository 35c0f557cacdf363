"""Why a pod does not run: in the cluster's own words, and whether waiting helps.

Statuses and events are those that Kubernetes 1.31 gave.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from orchestrator.errors import NodeError, RunError, TierbenchError, UnavailableError
from orchestrator.extensions.kubernetes import trouble
from orchestrator.extensions.kubernetes.connection import (
    Refused,
    Unanswered,
    cluster_errors,
)
from orchestrator.powers import Moment

PENDING = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient cpu.",
        }
    ],
}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"status": {"containerStatuses": [{"name": "main", "state": state}]}}


def ended(code: int, reason: str) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": reason}}
    return {"status": {"containerStatuses": [{"name": "main", "state": state}]}}


def test_an_image_that_cannot_be_pulled() -> None:
    event = {"reason": "Failed", "message": 'Failed to pull image "a": no such host'}
    found = trouble.of_pod(
        waiting("ImagePullBackOff", 'Back-off pulling image "a"'), [event]
    )
    assert found is not None and found.lasting_s == 0
    assert "no such host" in found.text and "TIERBENCH_REGISTRY" in found.advice
    assert trouble.of_pod(waiting("ErrImagePull"), []) is None, (
        "the kubelet tries again"
    )


def test_no_machine_takes_it() -> None:
    found = trouble.of_pod({"status": PENDING}, [])
    assert (
        found is not None
        and found.lasting_s == math.inf
        and "2 Insufficient cpu" in found.text
    )
    grown = {"reason": "TriggeredScaleUp", "message": "pod triggered scale-up"}
    assert trouble.grows([grown])


def test_a_kubelet_that_is_late_with_a_secret_is_given_time_to_try_again() -> None:
    text = "failed to sync secret cache: timed out waiting for the condition"
    late = trouble.of_pod(waiting("CreateContainerConfigError", text), [])
    patience = trouble.Patience(Moment(100.0))
    assert late is not None and text in late.text
    assert not patience.ends(Moment(150.0), None, 180.0), "its image is pulled"
    assert not patience.ends(Moment(160.0), late, 180.0), (
        "whatever was waited for before"
    )
    assert not patience.ends(Moment(170.0), None, 180.0)
    assert not patience.ends(Moment(175.0), late, 180.0), (
        "trouble that went away counts from anew"
    )
    assert patience.ends(Moment(175.0 + late.lasting_s), late, 1000.0)
    assert patience.ends(Moment(280.0), None, 180.0)


def test_an_image_that_cannot_be_pulled_is_not_waited_for() -> None:
    found = trouble.of_pod(waiting("ImagePullBackOff"), [])
    assert trouble.Patience(Moment(100.0)).ends(Moment(100.0), found, 180.0)


def test_what_the_provisioner_says_of_a_claim() -> None:
    event = {
        "reason": "ProvisioningFailed",
        "message": "quota of PremiumV2 disks exceeded",
    }
    found = trouble.of_pod({"status": PENDING}, [event])
    assert found is not None and "quota of PremiumV2 disks exceeded" in found.text


def test_nothing_is_known_to_be_wrong() -> None:
    assert trouble.of_pod(waiting("ContainerCreating"), []) is None


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (None, "gone"),
        (ended(137, "OOMKilled"), "exited (exit 137, out of memory)"),
        (ended(1, "Error"), "exited (exit 1)"),
        (waiting("ContainerCreating"), "waiting (ContainerCreating)"),
        (
            {
                "status": {
                    "phase": "Failed",
                    "reason": "Evicted",
                    "message": "low on memory",
                }
            },
            "failed (Evicted: low on memory)",
        ),
    ],
)
def test_the_state_in_words(pod: dict[str, Any] | None, words: str) -> None:
    assert trouble.state_of(pod).words == words


@pytest.mark.parametrize(
    ("refusal", "error", "words"),
    [
        (
            Refused(403, '{"message": "pods \\"a\\" is forbidden: exceeded quota: q"}'),
            None,
            "quota",
        ),
        (Refused(403, '{"message": "namespaces is forbidden"}'), None, "not allowed"),
        (Refused(401, '{"message": "Unauthorized"}'), None, "credentials"),
        (Refused(404, '{"message": "pods \\"a\\" not found"}'), NodeError, "not found"),
        (Refused(422, "no JSON"), RunError, "refused: no JSON"),
        (Unanswered("connection refused"), None, "does not answer"),
    ],
)
def test_refusals_in_words(
    refusal: Exception, error: type[TierbenchError] | None, words: str
) -> None:
    with pytest.raises(error or UnavailableError, match=words), cluster_errors("doing"):
        raise refusal
