"""A plugin of pytest, for a test of what a turn is: names the slow tests that it leaves out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

LEFT_OUT = "left out "


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow"):
            sys.stdout.write(f"{LEFT_OUT}{item.nodeid}\n")
