"""How often functions are called while something is done."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def calls_of(functions: dict[str, Any], act: Callable[[], object]) -> dict[str, int]:
    """How often each function is called while `act` runs."""
    names: dict[CodeType, str] = {
        function.__code__: name for name, function in functions.items()
    }
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            calls[names[frame.f_code]] += 1

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return dict(calls)
