"""How an engine is reached, and what is refused, as the environment names it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.platforms.docker import connection
from orchestrator.platforms.docker.connection import Reach
from tests.fake_docker import Engine
from tests.fakes import FakeClock


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("http+docker://localhost", Reach("127.0.0.1", is_local=True)),
        ("http://127.0.0.1:2375", Reach("127.0.0.1", is_local=True)),
        ("https://192.0.2.7:2376", Reach("192.0.2.7", is_local=False)),
    ],
)
def test_ports_are_published_where_the_engine_is(url: str, reach: Reach) -> None:
    assert connection.reach(url) == reach


def test_a_context_that_does_not_exist_is_not_this_computers_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "no-such-context")
    with pytest.raises(
        UsageError, match="no Docker context named no-such-context"
    ) as refused:
        connection.connect()
    assert len(refused.value.advice) < 90, "what to do is one short line"


@pytest.fixture
def elsewhere() -> Engine:
    """An engine of another machine that is asked without TLS."""
    engine = Engine(FakeClock())
    engine.api.base_url = "http://192.0.2.7:2375"
    return engine


def connect(engine: Engine, address: str) -> Reach:
    client: Any = engine
    return connection.connect(address, lambda **_: client).reach


def test_an_engine_elsewhere_without_tls_is_refused(elsewhere: Engine) -> None:
    with pytest.raises(UsageError, match="without TLS") as refused:
        connect(elsewhere, "tcp://192.0.2.7:2375")
    assert "TIERBENCH_UNPROTECTED=plain-tcp" in refused.value.advice
    assert elsewhere.calls == []


def test_an_engine_elsewhere_without_tls_is_used_if_that_is_asked_for(
    elsewhere: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERBENCH_UNPROTECTED", "no-password plain-tcp")
    assert connect(elsewhere, "tcp://192.0.2.7:2375") == Reach(
        "192.0.2.7", is_local=False
    )


@pytest.mark.parametrize("url", ["http://127.0.0.1:2375", "https://192.0.2.7:2376"])
def test_loopback_and_certificates_need_no_asking(elsewhere: Engine, url: str) -> None:
    elsewhere.api.base_url = url
    connect(elsewhere, "tcp://engine:2375")
    assert elsewhere.calls == [
        f"version, by the environment: {url.startswith('http:')}"
    ]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:1", "nothing listens at 127.0.0.1:1"),
        ("unix:///no/such/socket", "No such file or directory"),
    ],
)
def test_an_engine_that_is_not_there_is_told_in_a_few_words(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docker-py's own text names three libraries and has 250 characters."""
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(UnavailableError) as refused:
        connection.connect()
    assert refused.value.what.endswith(f"does not answer ({reason})")
