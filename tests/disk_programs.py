"""Our disk server's C code, as tests call it from a library."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import ROOT

# The files that a disk needs which serves requests and answers questions.
SERVING = (
    *("bucket", "clock", "control", "die", "latency", "limits", "lock"),
    *("shared", "throttle", "turn"),
)


class Turn(ctypes.Structure):
    """As `struct turn` of turn.h."""

    _fields_ = (
        ("direction", ctypes.c_int),
        ("sleep_class", ctypes.c_int),
        ("is_timed", ctypes.c_bool),
        ("came_ns", ctypes.c_int64),
        ("due_ns", ctypes.c_int64),
        ("let_in_ns", ctypes.c_int64),
        ("lead_ns", ctypes.c_int64),
    )


def built(names: Iterable[str], folder: Path) -> Path:
    """A library of these files of docker/disk/tierdisk. Skips the test without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    made = folder / "tierdisk.so"
    sources = [ROOT / "docker/disk/tierdisk" / f"{name}.c" for name in names]
    argv = [compiler, "-std=gnu11", "-shared", "-fPIC", "-o", str(made)]
    subprocess.run([*argv, *map(str, sources), "-lm", "-lpthread"], check=True)
    return made
