"""The command line: commands, progress on the console, set-up of a machine."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # the project folder
CACHE = Path(os.environ.get("TIERBENCH_CACHE") or ROOT / ".cache")
RESULTS = ROOT / "results"
REHEARSALS = CACHE / "rehearsals"  # apart from what was measured
