"""What the cluster refuses, or leaves unanswered, as errors of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import NodeError, RunError, UnavailableError

RIGHTS = "docs/KUBERNETES.md has the rights that tierbench needs, as a Role to copy"


class Refused(Exception):
    """An answer of the API server that is no success. `status`: the HTTP status."""

    def __init__(self, status: int, body: str) -> None:
        self.status, self.reason, self.message = status, "", body.strip()
        try:
            answer = json.loads(body)
            self.reason = str(answer.get("reason") or "")
            self.message = str(answer.get("message") or body)
        except (ValueError, AttributeError):
            pass
        super().__init__(self.message)

    @property
    def is_missing(self) -> bool:
        return self.status == 404


class Unanswered(Exception):
    """The API server did not answer, or the connection to it was cut."""


@contextmanager
def cluster_errors(doing: str) -> Iterator[None]:
    """Translates exceptions of the block. `doing` begins the message, as in "starting node-1"."""
    try:
        yield
    except Refused as error:
        raise _translated(doing, error) from error
    except Unanswered as error:
        raise UnavailableError(
            f"{doing}: the Kubernetes cluster does not answer ({error})",
            advice="look with `kubectl cluster-info`; KUBECONFIG and the context, the "
            "profile's or the current one, decide which cluster is meant",
        ) from error


def _translated(doing: str, error: Refused) -> RunError | UnavailableError:
    text = error.message
    if error.status == 401:
        return UnavailableError(
            f"{doing}: the cluster does not accept the credentials ({text})",
            advice="sign in again as for kubectl; `kubectl auth whoami` must work",
        )
    if error.status == 403 and "exceeded quota" in text:
        return UnavailableError(
            f"{doing}: a quota of the namespace is exceeded: {text}",
            advice="ask for a larger quota, or give nodes less in the profile",
        )
    if error.status == 403:
        return UnavailableError(f"{doing}: not allowed: {text}", advice=RIGHTS)
    if error.is_missing and "pods" in text:
        return NodeError(f"{doing}: {text}")
    return RunError(f"{doing}: Kubernetes refused: {text}")
