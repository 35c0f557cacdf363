"""What the stand-in's programs share: their release, how they speak, fail and ask each other."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from typing import Any, NoReturn

VERSION = os.environ.get("STANDIN_VERSION", "2025.2.6.0-b111")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fail(text: str) -> NoReturn:
    """Before "Starting yugabyted..."."""
    say(text)
    raise SystemExit(1)


def fail_killed(text: str) -> NoReturn:
    """After it: the real one kills its own process group, so that the container ends with 137."""
    say(text)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(137)


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=3) as answer:
        return json.loads(answer.read())
