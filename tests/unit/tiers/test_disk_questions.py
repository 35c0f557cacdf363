"""Questions to a running disk server: its C code (docker/disk/tierdisk/control.c) at a real socket.

Goal: each answer is JSON, and no question holds up the disk. Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.disk_programs import SERVING, Turn, built


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(SERVING, tmp_path_factory.mktemp("control"))


@pytest.fixture
def server(library: Path, tmp_path: Path) -> Path:
    """The socket at which a disk answers, whose thread lasts as long as this process."""
    place = tmp_path / "control"
    disk = ctypes.CDLL(str(library))
    disk.begin_disk(ctypes.byref(ctypes.c_byte.in_dll(disk, "DEFAULT_LIMITS")))
    disk.answer_questions(str(place).encode())
    return place


@pytest.fixture
def reading(library: Path) -> threading.Thread:
    """One read of the disk, which is not begun yet."""
    turns = ctypes.CDLL(str(library))
    turns.begin_turn.restype = Turn
    turns.begin_turn.argtypes = (ctypes.c_int, ctypes.c_size_t)

    def read() -> None:
        turn = turns.begin_turn(0, 4096)
        turns.finish_turn(ctypes.byref(turn))

    return threading.Thread(target=read, daemon=True)


def asked(server: Path, question: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(5)
        peer.connect(str(server))
        peer.send(question.encode())
        answer: dict[str, Any] = json.loads(peer.recv(4096))
    return answer


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb", "ä"])
def test_a_refusal_is_json_whatever_was_asked(server: Path, name: str) -> None:
    assert "not a limit" in asked(server, f"set {name}=1")["error"]


def test_a_table_that_never_answers_holds_nothing_up(
    server: Path, tmp_path: Path
) -> None:
    """The disk's lock was held meanwhile, so every read and write waited for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refused = asked(server, f"tables {pipe} {pipe}")
    assert "is no regular file" in refused["error"]
    assert "time_s" in asked(server, "stats")


def test_tables_are_answered_with_the_limits(server: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text("0 300\n1 400\n")
    assert "read_latency_us" in asked(server, f"tables {table} {table}")
    assert asked(server, "stats")["read"]["table_points"] == 2


def test_a_stalled_disk_answers_questions_and_nothing_else(
    server: Path, reading: threading.Thread
) -> None:
    before = asked(server, "stats")["read"]
    asked(server, "set iops=0 stall_s=1.5")
    began_s = time.monotonic()
    reading.start()
    reading.join(0.5)
    assert reading.is_alive()
    assert asked(server, "stats")["read"]["ops"] == before["ops"]
    # Another limit that is set meanwhile does not begin the stall again.
    asked(server, "set iops=5000")
    reading.join(10)
    assert not reading.is_alive()
    assert time.monotonic() - began_s >= 1.4
    after = asked(server, "stats")["read"]
    assert after["answered"] == before["answered"] + 1
    assert after["waited_s"] - before["waited_s"] > 1.3
    # The host was not slow: it was not asked meanwhile.
    assert after["host_s"] - before["host_s"] < 0.5
    asked(server, "set iops=0 stall_s=0")


def test_a_stall_is_ended_before_its_time(
    server: Path, reading: threading.Thread
) -> None:
    asked(server, "set stall_s=60")
    reading.start()
    reading.join(0.2)
    assert reading.is_alive()
    assert asked(server, "set stall_s=0")["stall_s"] == 0
    reading.join(10)
    assert not reading.is_alive()
