"""Tests of the package, in its order: `unit/` by folder, `integration/` with real containers,
`kubernetes/` on a real cluster, which is `cluster/`."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
CACHE = Path(os.environ.get("TIERBENCH_CACHE") or ROOT / ".cache")
