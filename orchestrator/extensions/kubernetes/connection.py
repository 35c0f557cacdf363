"""The connection to the API server: found as kubectl finds it, and asked in plain JSON.

The client library finds the cluster, signs in, and opens connections. Its classes for objects are
not used: what it must understand of an answer differs between versions of the cluster. Idempotent
calls are repeated for a minute if nothing answers. `cluster_errors` turns what is refused or not
answered into errors of ours."""

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any

import urllib3
import websocket
from kubernetes.client.api_client import ApiClient
from kubernetes.client.exceptions import OpenApiException
from kubernetes.stream import ws_client

from orchestrator import powers
from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.extensions.kubernetes import kubeconfig
from orchestrator.platforms.common import lifecycle
from orchestrator.system.redaction import remember

RIGHTS = "docs/KUBERNETES.md has the rights that tierbench needs, as a Role to copy"
_CONNECT_S = 10.0
# Statuses of a server that starts, is too busy, or is behind a proxy.
_PASSING = (429, 500, 502, 503, 504)
_UNCONNECTED = (
    ConnectionRefusedError,
    ssl.SSLError,
    urllib3.exceptions.SSLError,
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
)
_BEARER = "Bearer "
_MERGE = "application/merge-patch+json"
Thing = dict[str, Any]
"""An object of the cluster as it is written: apiVersion, kind, metadata, spec, status."""


class Refused(Exception):
    """An answer of the API server that is no success. `status`: the HTTP status."""

    def __init__(self, status: int, body: str) -> None:
        self.status = status
        self.reason = ""
        self.message = body.strip()
        with suppress(ValueError, AttributeError):
            answer = json.loads(body)
            self.reason = str(answer.get("reason") or "")
            self.message = str(answer.get("message") or body)
        super().__init__(self.message)


class Missing(Refused):
    """What was asked for is not there."""


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
            advice=(
                "look with `kubectl cluster-info`. KUBECONFIG and the context, the "
                "profile's or the current one, decide which cluster is used"
            ),
        ) from error


def _translated(doing: str, error: Refused) -> RunError | UnavailableError:
    text = error.message
    if error.status == 401:
        return UnavailableError(
            f"{doing}: the cluster does not accept the credentials ({text})",
            advice="sign in again as for kubectl; `kubectl auth whoami` must work",
        )
    # A full quota is a refusal with the same status as a missing right.
    if error.status == 403 and "exceeded quota" in text:
        return UnavailableError(
            f"{doing}: a quota of the namespace is exceeded: {text}",
            advice="ask for a larger quota, or give nodes less in the profile",
        )
    if error.status == 403:
        return UnavailableError(f"{doing}: not allowed: {text}", advice=RIGHTS)
    # A pod that is gone fails its run, not the campaign.
    if error.status == 404 and "pods" in text:
        return NodeError(f"{doing}: {text}")
    return RunError(f"{doing}: Kubernetes refused: {text}")


def _is_passing(error: Exception) -> bool:
    return isinstance(error, Unanswered) or getattr(error, "status", 0) in _PASSING


def _is_not_begun(error: Exception) -> bool:
    """Whether no connection was made, so that nothing can have begun."""
    reason = getattr(error.__cause__, "reason", None) or error.__cause__
    return isinstance(reason, _UNCONNECTED)


def _remember_tokens(words: Mapping[str, str]) -> None:
    for text in words.values():
        if text.startswith(_BEARER):
            remember(text.removeprefix(_BEARER))


class Api:
    """The API server. Answers are JSON; `Refused` or `Unanswered` if there is none. `context`: the
    kubeconfig's that is used, "" in a pod; `namespace`: that context's."""

    read_s = 60.0  # also to open a WebSocket: the client library gives it no limit
    # Who a pod is in its cluster.
    of_pod = Path("/var/run/secrets/kubernetes.io/serviceaccount")
    open_websocket = staticmethod(ws_client.create_websocket)
    client_of = ApiClient

    def __init__(self, clock: powers.Clock, context: str | None = None) -> None:
        self._clock = clock
        cluster = kubeconfig.chosen_cluster(context, self.of_pod)
        self._configuration = cluster.configuration
        self.context = cluster.context
        self.namespace = cluster.namespace
        self.host = str(self._configuration.host)
        _remember_tokens(self._configuration.api_key)
        # Waiting and repeating are decided here, by the kind of call.
        self._configuration.retries = urllib3.Retry(0)
        self._client = self.client_of(self._configuration)
        # kubectl does the same: Python 3.13 refuses authorities without key identifiers, as EKS has
        # some.
        pool = self._client.rest_client.pool_manager.connection_pool_kw
        tls = urllib3.util.create_urllib3_context(cert_reqs=pool.get("cert_reqs"))
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        pool["ssl_context"] = tls
        self._ahead_s = 0.0  # the lead of the server's clock
        self.beats = powers.GuardBeats()
        probe = partial(self._asked, "GET", "/version")
        self.answering = lifecycle.Answering("the cluster", lambda: self.beats, probe)

    def certificates(self) -> tuple[powers.CertificateFile, ...]:
        """The client's own, also one that a program of the kubeconfig gave, and the authority of
        the cluster. The client library keeps files of what stands in the kubeconfig itself."""
        client = self._configuration.cert_file
        authority = self._configuration.ssl_ca_cert
        whose = f"the kubeconfig's context {self.context}"
        if not self.context:
            whose = "this pod's service account"
        files: list[powers.CertificateFile] = []
        if client:
            files.append(
                powers.CertificateFile(f"the client certificate of {whose}", client)
            )
        if authority:
            what = f"the certificate authority of {whose}"
            files.append(powers.CertificateFile(what, authority, is_authority=True))
        return tuple(files)

    def now(self) -> float:
        """Returns Unix seconds by the server's clock, as far as its last answer told it."""
        return self._clock.now() + self._ahead_s

    def get(self, path: str, **query: Any) -> Thing:
        return dict(json.loads(self._again("GET", path, query=query)))

    def find(self, path: str, **query: Any) -> Thing | None:
        """Returns an object; None if it is not there."""
        with suppress(Missing):
            return self.get(path, **query)
        return None

    def listed(self, path: str, selector: str = "", fields: str = "") -> list[Thing]:
        """Returns all with these labels and fields; none if there is no such kind."""
        query: dict[str, str] = {}
        if selector:
            query["labelSelector"] = selector
        if fields:
            query["fieldSelector"] = fields
        answer = self.find(path, **query) or {}
        return list(answer.get("items") or [])

    def text(self, path: str, **query: Any) -> str:
        return self._again("GET", path, query=query).decode(errors="replace")

    def make(self, path: str, thing: Thing) -> Thing:
        """Makes an object, and returns it as it is then."""
        # Asked again only where no connection was made: else the server may have made it already.
        return dict(
            json.loads(self._again("POST", path, thing, may_pass=_is_not_begun))
        )

    def change(self, path: str, change: Thing) -> Thing:
        """Merges `change` into an object (RFC 7386)."""
        return dict(json.loads(self._again("PATCH", path, change)))

    def remove(
        self, path: str, grace_s: float | None = None, version: str = ""
    ) -> None:
        """Asks for the removal of an object, if it is there. `grace_s`: of a pod; `version`: only
        if it has not changed since."""
        # The cluster removes later what the object owns: a foreground removal would wait for it.
        options: Thing = {"propagationPolicy": "Background"}
        if grace_s is not None:
            options["gracePeriodSeconds"] = round(grace_s)
        if version:
            options["preconditions"] = {"resourceVersion": version}
        with suppress(Missing):
            self._again("DELETE", path, options)

    def channel(self, path: str, query: Sequence[tuple[str, str]]) -> Any:
        """Opens a WebSocket of the client library, for commands and ports of a pod."""
        headers: dict[str, str] = {}
        self._client.update_params_for_auth(
            headers, [], ["BearerToken"], path, "GET", None
        )
        _remember_tokens(
            headers
        )  # a program of the kubeconfig gives a new one each hour
        url = ws_client.get_websocket_url(f"{self.host}{path}", query)
        return lifecycle.patiently(
            lambda: self._opened(url, headers), self._clock, _is_not_begun
        )

    def _opened(self, url: str, headers: Mapping[str, str]) -> Any:
        opening = partial(self.open_websocket, self._configuration, url, headers)
        try:
            return self.answering.heard(opening, self.read_s)
        except websocket.WebSocketBadStatusException as error:
            body = error.resp_body
            if isinstance(body, bytes):
                text = body.decode(errors="replace")
            else:
                text = str(body or error)
            raise Refused(int(error.status_code), text) from error
        except (websocket.WebSocketException, OSError) as error:
            raise Unanswered(str(error)) from error

    def _again(self, *asked: Any, may_pass: Any = _is_passing, **query: Any) -> bytes:
        ask = partial(self.answering.heard, partial(self._asked, *asked, **query))
        return lifecycle.patiently(ask, self._clock, may_pass)

    def _asked(
        self,
        method: str,
        path: str,
        body: Thing | None = None,
        query: Thing | None = None,
    ) -> bytes:
        headers = {"Accept": "application/json, */*"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            if method == "PATCH":
                headers["Content-Type"] = _MERGE
        try:
            request = self._client.param_serialize(
                method,
                path,
                query_params=list((query or {}).items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            _remember_tokens(request[2])
            answer = self._client.call_api(
                *request, _request_timeout=(_CONNECT_S, self.read_s)
            )
            data = bytes(answer.read())
        except (OpenApiException, urllib3.exceptions.HTTPError, OSError) as error:
            text = str(getattr(error, "reason", None) or error).strip()
            raise Unanswered(text.partition("\n")[0] or type(error).__name__) from error
        # The API server's clock decides how old signs of life are, whatever this computer's says.
        with suppress(TypeError, ValueError):
            date = parsedate_to_datetime(str(answer.headers.get("Date")))
            self._ahead_s = date.timestamp() - self._clock.now()
        if answer.status == 404:
            raise Missing(404, data.decode(errors="replace"))
        if not 200 <= answer.status < 300:
            raise Refused(answer.status, data.decode(errors="replace"))
        return data
