"""The tunnel to an engine behind ssh: how ssh is called, and what follows when it ends.

Method: a script in the place of `ssh`, which answers as OpenSSH does: `-G` prints the
configuration, and a session prints what its command prints (ssh(1), seen of OpenSSH 9.2).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.platforms.docker import connection
from orchestrator.platforms.docker.tunnel import Tunnel
from orchestrator.system.shell import Beside

SSH = """#!/bin/sh
case "$*" in
  -G*) echo "user bench"; echo "hostname 192.0.2.7"; exit ;;
  *vm9*) echo "ssh: Could not resolve hostname vm9: Name or service not known" >&2; exit 255 ;;
esac
echo "$$ $*" >> {log}
echo "a line of someone's profile"
for last; do :; done
eval "$last"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ssh was called with, a line for each call after its process number."""
    (tmp_path / "ssh").write_text(SSH.format(log=tmp_path / "log"))
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "log"


class QuickTunnel(Tunnel):
    again_s = 0.01


def calls(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


def until(count: int, log: Path) -> None:
    for _ in range(1000):
        if len(calls(log)) >= count:
            return
        time.sleep(0.02)
    raise AssertionError(log.read_text())


def test_the_socket_of_the_other_side_is_forwarded(log: Path) -> None:
    forwarded = Tunnel("ssh://bench@vm1:2222/run/user/7/docker.sock")
    try:
        (call,) = calls(log)
        assert f"{forwarded.socket}:/run/user/7/docker.sock" in call
        assert call[-call[::-1].index("-p") :][:5] == [
            "2222",
            "-l",
            "bench",
            "--",
            "vm1",
        ]
        assert forwarded.host == "192.0.2.7"
    finally:
        forwarded.close()
    assert not forwarded.socket.parent.exists()
    assert not Path("/proc", call[0]).exists(), "ssh has ended"
    assert not forwarded._keeper.is_alive(), "nobody opens it again"


def test_a_tunnel_that_breaks_is_made_again(log: Path) -> None:
    forwarded = QuickTunnel("ssh://vm1")
    try:
        forwarded._beside.close()
        until(2, log)
        assert calls(log)[0][1:] == calls(log)[1][1:]
        assert f"{forwarded.socket}:/var/run/docker.sock" in calls(log)[1]
    finally:
        forwarded.close()


def test_no_error_ends_the_keeper(log: Path) -> None:
    """No process may be made for a moment (EAGAIN of fork): the tunnel is made a moment later."""
    errors = [
        BlockingIOError(11, "Resource temporarily unavailable"),
        RuntimeError("odd"),
    ]
    begun: list[Beside] = []

    def beside(argv: Sequence[str]) -> Beside:
        if begun and errors:
            raise errors.pop()
        begun.append(Beside(argv))
        return begun[-1]

    class Refused(QuickTunnel):
        start_beside = staticmethod(beside)

    forwarded = Refused("ssh://vm1")
    try:
        forwarded._beside.close()
        until(2, log)
        assert not errors
    finally:
        forwarded.close()


def test_the_words_of_ssh_are_passed_on(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://vm9")
    with pytest.raises(
        UnavailableError, match=r"ssh://vm9: .*resolve hostname vm9"
    ) as refused:
        connection.connect()
    assert "ssh -o BatchMode=yes -- vm9 docker version" in refused.value.advice


@pytest.mark.parametrize("url", ["ssh://", "ssh://vm1:port", "ssh://bench:secret@vm1"])
def test_what_is_no_address_is_refused(url: str, log: Path) -> None:
    with pytest.raises(UsageError, match="not an address of an engine behind ssh"):
        Tunnel(url)
