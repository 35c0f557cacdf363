"""A program that was detached from its terminal goes on when the terminal is closed.

Method: `setsid` starts a rehearsal in a session of its own, on a pseudo-terminal that is closed at
once: from then on each write to it fails.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.program

WITHIN_S = 120.0


def test_a_detached_campaign_outlives_its_terminal(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    words = (
        "rehearse",
        "--repeats",
        "1",
        "--workloads",
        "insert",
        "--results",
        str(tmp_path),
    )
    subprocess.run(
        ["setsid", "--fork", sys.executable, "-m", "orchestrator", *words],
        stdin=its,
        stdout=its,
        stderr=its,
        check=True,
    )
    os.close(its)
    os.close(ours)
    report = tmp_path / "latest" / "report.html"
    end_s = time.monotonic() + WITHIN_S
    while not report.is_file() and time.monotonic() < end_s:
        time.sleep(0.2)
    assert report.is_file()
