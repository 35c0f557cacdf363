"""How an engine is reached, and what is refused, as the environment names it."""

from __future__ import annotations

import os
import threading

import pytest

from orchestrator.errors import UsageError
from orchestrator.platforms.docker import connection
from orchestrator.platforms.docker.connection import Reach


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
    with pytest.raises(UsageError, match="no Docker context named no-such-context"):
        connection.connect()


def test_engines_that_are_connected_to_at_once_do_not_disturb_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/others.pem")
    first_has_ended = threading.Event()
    seen: list[str | None] = []

    def second() -> None:
        with connection._without(("REQUESTS_CA_BUNDLE",)):
            first_has_ended.wait(5)
            seen.append(os.environ.get("REQUESTS_CA_BUNDLE"))

    thread = threading.Thread(target=second)
    with connection._without(("REQUESTS_CA_BUNDLE",)):
        thread.start()
        thread.join(0.1)  # time to begin, if it can
    first_has_ended.set()
    thread.join(10)
    assert (seen, os.environ["REQUESTS_CA_BUNDLE"]) == ([None], "/etc/others.pem")
