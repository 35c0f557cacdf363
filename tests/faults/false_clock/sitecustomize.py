"""A program that is started with this folder on its path has a clock that others set: it is ahead
of the machine's by as many seconds as a file says. Durations are not touched, as on a machine."""

import os
import time
from pathlib import Path

_FILE = Path(os.environ["AHEAD_OF_TIME"])
_true = time.time


def _false() -> float:
    return _true() + float(_FILE.read_text() or 0)


time.time = _false
