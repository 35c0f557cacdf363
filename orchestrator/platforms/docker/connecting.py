"""The engine that DOCKER_HOST, DOCKER_CONTEXT or the current context of `docker` names, and how it
is reached."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from docker.context import ContextAPI

import docker
from docker import DockerClient
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.platforms.docker.errors import engine_errors

_TIMEOUT_S = 120
_LOOPBACK = "127.0.0.1"
_SSH = "ssh://"
_OTHER_AUTHORITIES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True)
class Reach:
    """`address`: where published ports are bound, and answer. `is_local`: over a socket or the
    loopback of this computer, which other computers may be behind."""

    address: str
    is_local: bool


def client() -> DockerClient:
    """Connects. UsageError for a context that does not exist, UnavailableError if nothing answers,
    or for an address of a kind that is not known here."""
    _check_kind(os.environ.get("DOCKER_HOST") or _host_of_context())
    with engine_errors("connecting"), _without(_OTHER_AUTHORITIES):
        connected = docker.from_env(timeout=_TIMEOUT_S)
        if connected.api.base_url.startswith("https://"):
            connected.api.trust_env = False
        connected.ping()
    return connected


@contextmanager
def _without(variables: Sequence[str]) -> Iterator[None]:
    """Takes variables out of the environment: where they are set, requests believes them rather
    than the authority that has signed the engine's certificate."""
    kept = {name: os.environ.pop(name) for name in variables if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def _host_of_context() -> str:
    name = os.environ.get("DOCKER_CONTEXT") or None
    context = ContextAPI.get_context(name)
    if context is None:
        raise UsageError(
            f"there is no Docker context named {name or 'as the current one'}",
            advice="`docker context ls` lists them",
        )
    return str(context.Host or "")


def _check_kind(host: str) -> None:
    if host.startswith(_SSH):
        raise UnavailableError(
            f"{host}: the ports of databases on that machine are not reachable through ssh",
            advice="have its engine listen on TCP with client certificates, and set "
            "DOCKER_HOST=tcp://…:2376, DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH",
        )


def reach(url: str) -> Reach:
    """How docker-py's `base_url` is reached. UnavailableError for a name that is not known."""
    scheme, _, place = url.partition("://")
    if scheme not in ("http", "https"):
        return Reach(_LOOPBACK, is_local=True)
    host = place.split("/")[0].rpartition(":")[0].strip("[]")
    try:
        address = socket.gethostbyname(host)
    except OSError as error:
        raise UnavailableError(f"the Docker engine's machine {host}: {error}") from error
    return Reach(address, is_local=ipaddress.ip_address(address).is_loopback)
