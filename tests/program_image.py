"""The image of tierbench itself, built as `make image` does it."""

from __future__ import annotations

import os
import subprocess

from orchestrator import __version__
from tests import ROOT

TAG = f"tierbench/tierbench:{__version__}"


def provide() -> str:
    """Returns its tag. The engine keeps the layers of what is pinned, so only the first takes
    minutes."""
    environment = {
        name: text for name, text in os.environ.items() if name != "TIERBENCH_REGISTRY"
    }
    built = subprocess.run(
        ["make", "image"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-4000:]
    return TAG
