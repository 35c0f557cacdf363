"""Of several hosts in one address the one that is none is told, and the others are read."""

from __future__ import annotations

import pytest

from orchestrator.keys import addresses


@pytest.mark.parametrize("text", ["postgresql://a,b%20c/db", "postgresql://a,/db"])
def test_what_is_no_host_is_a_mistake(text: str) -> None:
    found = addresses.read(text)
    assert [server.host for server in found.servers] == ["a"]
    (mistake,) = found.wrong
    assert mistake.startswith("is not a host: ")


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_what_is_no_port_is_a_mistake_with_the_port(port: str) -> None:
    (mistake,) = addresses.read(f"host=a,b port=5433,{port}").wrong
    assert mistake == f"'{port}' is not a port"
