"""The connection to a Docker engine: which one DOCKER_HOST, DOCKER_CONTEXT or the current context
of `docker` names, and how it is reached. Errors of docker-py become ours, idempotent calls are
repeated, and labels mark what is made."""

import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.context import ContextAPI
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

import docker
from docker import DockerClient
from orchestrator.errors import NodeError, RunError, UnavailableError, UsageError
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.labels import (
    CAMPAIGN as CAMPAIGN,
    LABEL as LABEL,
    MARK as MARK,
    ROLE as ROLE,
)
from orchestrator.platforms.docker.tunnel import tunnel_to
from orchestrator.powers import CertificateFile, Clock, GuardBeats
from orchestrator.system import sockets

_SSH = "ssh://"
# Silence before an answer: longer than a busy engine needs to remove what is large.
SILENCE_S = 110
_START = (
    "start it (`tierbench setup` does, as root on Debian), then run `tierbench doctor`"
)
_CERTIFICATES = ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")
_TRY = (
    "`docker --host ADDRESS version`, or `docker --context NAME version`, must answer"
)
# The label of all that stays until it is taken down by its name.
STANDING = "tierbench.standing"
OURS: dict[str, Any] = {"label": MARK}
# Codes of a proxy before the engine, or of one that is starting.
_PASSING = (502, 503, 504)
Answer = TypeVar("Answer")
ClientOf = Callable[..., DockerClient]


@dataclass(frozen=True)
class Reach:
    """`address`: where published ports are bound, and answer. `is_local`: over a socket or the
    loopback of this computer, which other computers may be behind."""

    address: str
    is_local: bool


@dataclass(frozen=True)
class ConnectedEngine:
    """An engine that answers. `host`: its address as it was named, `ssh://…`, `tcp://…` or
    `unix://…`."""

    client: DockerClient
    reach: Reach
    host: str


def connect(
    engine: str | None = None,
    client_of: ClientOf = docker.from_env,
    silence_s: float = SILENCE_S,
) -> ConnectedEngine:
    """Connects to `engine`, a context's name or an address; None: to the one of the environment.

    UsageError for a context that does not exist, or an engine elsewhere that is asked without TLS,
    unless that is asked for; UnavailableError if nothing answers."""
    environment = _environment_of(engine)
    host = _named(environment)
    through = None
    if host.startswith(_SSH):
        through = tunnel_to(host)
        environment["DOCKER_HOST"] = f"unix://{through.socket}"
        # ssh has encrypted the way already: with these docker-py would speak TLS to a plain socket.
        for name in _CERTIFICATES:
            environment.pop(name, None)
    advice = _START
    if engine:
        advice = f"check that it runs and can be reached from here: {_TRY}"
    with engine_errors(f"connecting to {engine or host}", advice):
        _require_listening(environment.get("DOCKER_HOST") or host, silence_s)
        # docker-py asks nothing yet if a version is given: settings below would come too late.
        client = client_of(
            version=DEFAULT_DOCKER_API_VERSION,
            timeout=silence_s,
            environment=environment,
        )
        api: Any = client.api
        _keep_alive(api)
        # REQUESTS_CA_BUNDLE would otherwise be believed, not the authority that has signed the
        # certificate.
        api.trust_env = not api.base_url.startswith("https://")
        if through:
            reached = _of(through.host)
        else:
            reached = reach(api.base_url)
        if api.base_url.startswith("http://") and not reached.is_local:
            lifecycle.require_asked_for("plain-tcp", _without_tls(host))
        # The engine's own version is set now, by which docker-py says what it may ask for.
        api._version = api._retrieve_server_version()
    return ConnectedEngine(client, reached, host)


def is_behind_socket() -> bool:
    """Whether the environment's engine is asked over a socket of this computer. UsageError for a
    context that does not exist."""
    host = _named(dict(os.environ))
    return not host or host.startswith("unix://")


def _named(environment: Mapping[str, str]) -> str:
    """The address of the engine that these variables name."""
    host = environment.get("DOCKER_HOST")
    return host or _host_of_context(environment.get("DOCKER_CONTEXT"))


def _environment_of(engine: str | None) -> dict[str, str]:
    """The environment by which docker-py finds this engine, or the one of ours."""
    environment = dict(os.environ)
    if engine is None:
        return environment
    if "://" in engine:
        environment["DOCKER_HOST"] = engine
    else:
        environment.pop("DOCKER_HOST", None)
        environment["DOCKER_CONTEXT"] = engine
    return environment


def _keep_alive(api: Any) -> None:
    for scheme in ("http://", "https://"):
        pool = api.get_adapter(scheme).poolmanager
        pool.connection_pool_kw["socket_options"] = sockets.KEEPALIVE


def _without_tls(host: str) -> UsageError:
    return UsageError(
        f"{host} is contacted without TLS. Whoever can reach it is root "
        "there, and can read and change what is sent",
        advice="use ssh://…, or certificates (DOCKER_TLS_VERIFY=1 and "
        "DOCKER_CERT_PATH)",
    )


def _require_listening(host: str, silence_s: float) -> None:
    """OSError where nothing listens on a Unix socket."""
    # docker-py would find that out as well, but leaves its own socket unclosed.
    scheme, _, path = host.partition("://")
    if scheme == "unix":
        sockets.require_listening(path, silence_s)


def _host_of_context(name: str | None) -> str:
    context = ContextAPI.get_context(name or None)
    if context is None:
        shown = name or "as the current one"
        raise UsageError(
            f"there is no Docker context named {shown}",
            advice="`docker context ls` lists them; "
            "an address such as ssh://user@host needs none",
        )
    return str(context.Host or "")


def reach(url: str) -> Reach:
    """How docker-py's `base_url` is reached. UnavailableError for a name that is not known."""
    scheme, _, place = url.partition("://")
    if scheme not in ("http", "https"):
        return Reach(sockets.LOOPBACK, is_local=True)
    host, _, _port = place.split("/")[0].rpartition(":")
    return _of(host.strip("[]"))


def _of(host: str) -> Reach:
    try:
        address = sockets.address_of(host)
    except OSError as error:
        raise UnavailableError(
            f"the Docker engine's machine {host}: {error.strerror}",
            advice="correct its name in DOCKER_HOST or in the profile's `machines`",
        ) from error
    return Reach(address, is_local=ipaddress.ip_address(address).is_loopback)


# The form in which urllib3 names the host of a connection that it could not open.
_POOL = re.compile(r"host='([^']+)', port=(\d+)")
_REASON_CHARACTERS = 160


def _reason(error: BaseException) -> str:
    """Why an engine was not reached, in one line."""
    refused = ""
    pool = _POOL.search(str(error))
    if pool:
        refused = f"nothing listens at {pool[1]}:{pool[2]}"
    # docker-py, requests and urllib3 each put their sentence around the one of the system.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError) and refused:
            return refused
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:_REASON_CHARACTERS]


@contextmanager
def engine_errors(doing: str, advice: str = _START) -> Iterator[None]:
    """Translates exceptions of the block. `doing` begins the message, as in "starting node-1";
    `advice` is for an engine that does not answer."""
    try:
        yield
    except ImageNotFound as error:
        raise UnavailableError(
            f"{doing}: the image is not here ({error.explanation})",
            advice="run `tierbench setup`",
        ) from error
    except APIError as error:
        text = str(error.explanation or error)
        # Docker says the first of a port that it has
        # given itself, the second of any other program's.
        if "port is already allocated" in text or "address already in use" in text:
            raise UnavailableError(
                f"{doing}: a port is taken ({text})",
                advice="free the port, or leave `port` out of the profile to use any free "
                "one",
            ) from error
        # A node that has died fails its run, not the campaign.
        if "is not running" in text:
            raise NodeError(f"{doing}: {text}") from error
        raise RunError(f"{doing}: Docker refused: {text}") from error
    except (DockerException, OSError) as error:
        text = f"{doing}: the Docker engine does not answer ({_reason(error)})"
        raise UnavailableError(text, advice) from error


class Engine:
    """The engine `address` (a context or an address, None for the environment's), for `campaign`.
    `known_as`: how errors name it, "" if it is the only one. UnavailableError if it does not
    answer."""

    client_of: ClientOf = staticmethod(docker.from_env)
    silence_s: float = SILENCE_S

    def __init__(
        self, clock: Clock, address: str | None, campaign: str, known_as: str
    ) -> None:
        self.clock = clock
        self.campaign = campaign
        self.known_as = known_as
        self.beats = GuardBeats()
        self.host = ""
        with self._named():
            connected = connect(address, self.client_of, self.silence_s)
        self.client = connected.client
        self.reach = connected.reach
        self.host = connected.host
        who = f"the Docker engine {known_as}".strip()
        ping = self.client.ping
        self.answering = lifecycle.Answering(who, lambda: self.beats, ping, known_as)

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Translates the engine's errors in the block. Each error says which engine failed."""
        with self._named(), engine_errors(doing):
            yield

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except UnavailableError as error:
            if self.host.startswith(_SSH):
                error.evidence = error.evidence or tunnel_to(self.host).trouble
            # The error was named on its way through an inner block.
            if error.place == self.known_as:
                raise
            what = f"{self.known_as}: {error.what}"
            named = UnavailableError(what, error.advice, error.evidence)
            named.place = self.known_as
            raise named from error

    def certificates(self) -> tuple[CertificateFile, ...]:
        """The client's own and its engine's authority, as docker-py has taken them from
        DOCKER_CERT_PATH. An engine behind a socket or ssh has none."""
        session: Any = self.client.api
        files: list[CertificateFile] = []
        if session.cert:
            files.append(self._certificate("client certificate", session.cert[0]))
        if isinstance(session.verify, str):
            authority = self._certificate("certificate authority", session.verify)
            files.append(replace(authority, is_authority=True))
        return tuple(files)

    def _certificate(self, kind: str, file: str) -> CertificateFile:
        return CertificateFile(f"the {kind} {file} for {self.host}", file)

    def patiently(self, call: Callable[[], Answer]) -> Answer:
        return lifecycle.patiently(
            partial(self.answering.heard, call), self.clock, _may_pass
        )

    def asked(self, doing: str, call: Callable[[], Answer]) -> Answer:
        """What `call` returns, patiently; its errors are translated."""
        with self.errors(doing):
            return self.patiently(call)

    def found(self, call: Callable[[], Answer]) -> Answer | None:
        """The answer of `patiently`; None if the thing is not there."""
        with suppress(NotFound):
            return self.patiently(call)
        return None

    def find(self, doing: str, call: Callable[[], Answer]) -> Answer | None:
        """The answer of `asked`; None if the thing is not there."""
        with self.errors(doing):
            return self.found(call)

    @property
    def labels(self) -> dict[str, str]:
        return {LABEL: "1", CAMPAIGN: self.campaign}


def _may_pass(error: Exception) -> bool:
    """Whether asking again may help."""
    # A refusal is an answer: the same question would get the same one.
    if isinstance(error, APIError):
        return error.status_code in _PASSING
    return isinstance(error, DockerException | OSError)
