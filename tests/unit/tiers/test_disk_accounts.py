"""The account that an emulated disk keeps of its limits: docker/disk/tierdisk/account.c.

Goal: whoever reads the file finds what the disk has counted, and knows a line that is not whole.
Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.collectors.disk_account import parsed
from tests.disk_programs import SERVING, Turn, built

PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built((*SERVING, "account"), tmp_path_factory.mktemp("account"))


@dataclass(frozen=True)
class Disk:
    """A disk in this process, which lets one request through in 20 ms."""

    library: ctypes.CDLL
    socket_path: Path
    account: Path

    def serve(self, requests: int) -> None:
        for _ in range(requests):
            turn = self.library.begin_turn(0, 4096)
            self.library.finish_turn(ctypes.byref(turn))

    def counted(self, name: str) -> float:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(str(self.socket_path))
            peer.send(b"stats")
            stats: dict[str, Any] = json.loads(peer.recv(4096))
        total: float = stats["read"][name] + stats["write"][name]
        return total


@pytest.fixture
def disk(library: Path, tmp_path: Path) -> Disk:
    """Its threads last as long as this process."""
    copy = shutil.copy(library, tmp_path / "copy.so")
    server = ctypes.CDLL(str(copy))
    server.begin_turn.restype = Turn
    server.begin_turn.argtypes = (ctypes.c_int, ctypes.c_size_t)
    limits = ctypes.create_string_buffer(4096)
    defaults = ctypes.c_byte.in_dll(server, "DEFAULT_LIMITS")
    ctypes.memmove(limits, ctypes.byref(defaults), 256)
    assert not server.assign_limit(limits, b"iops=50")
    server.begin_disk(limits)
    socket_path = tmp_path / "control"
    server.answer_questions(str(socket_path).encode())
    account = tmp_path / "node-1.account"
    account.write_text("left by a disk that was killed, and longer than any account is")
    server.keep_account(str(account).encode())
    return Disk(server, socket_path, account)


def test_a_disk_that_has_done_nothing_has_an_account_of_nothing(disk: Disk) -> None:
    account = parsed(disk.account.read_text())
    assert (account.waited_s, account.took_s) == (0, 0)


def test_the_account_is_what_the_disk_answers(disk: Disk) -> None:
    disk.serve(20)
    waited_s = disk.counted("waited_s")
    took_s = disk.counted("took_s")
    assert waited_s > 0
    # It is written at intervals. One that falls into the last request has the time for which that
    # waited, and not yet the time that it took.
    ends_s = time.monotonic() + PATIENCE_S
    account = parsed(disk.account.read_text())
    while account.took_s < took_s - 1e-6 and time.monotonic() < ends_s:
        time.sleep(0.01)
        account = parsed(disk.account.read_text())
    assert account.waited_s == pytest.approx(waited_s, abs=1e-6)
    assert account.took_s == pytest.approx(took_s, abs=1e-6)


def test_whoever_runs_the_campaign_may_read_it(disk: Disk) -> None:
    assert disk.account.stat().st_mode & 0o777 == 0o644


WHOLE = f"{7:020} {2_500_000_000:020} {4_000_000_000:020} {7:020}\n"


def test_an_account_is_in_seconds() -> None:
    account = parsed(WHOLE)
    assert (account.waited_s, account.took_s) == (2.5, 4.0)


@pytest.mark.parametrize(
    "text", ["", WHOLE[:60], WHOLE.replace("7 ", "8 ", 1), "a b c a", "\0" * 84]
)
def test_an_account_that_is_not_whole_is_none(text: str) -> None:
    with pytest.raises(OSError, match="account"):
        parsed(text)
