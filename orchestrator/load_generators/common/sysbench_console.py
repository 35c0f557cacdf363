"""What our scripts on sysbench and upstream's own have alike: flags and progress."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.model import Workload
from orchestrator.units import format_number

STARTED = "Threads started!"
STOP_GRACE_S = 60.0


def flags(parameters: Mapping[str, Any]) -> list[str]:
    return [f"--{key.replace('_', '-')}={value}" for key, value in parameters.items()]


def progress(line: str, workload: Workload, before_s: float = 0.0) -> str:
    """The step of a line of sysbench's report, `before_s` after the begin of the warm-up."""
    second, tps = re.match(r"\[ (\d+)s \]", line), re.search(r"tps: ([\d.]+)", line)
    rate = f"{format_number(float(tps[1]))} transactions/s" if tps else line
    elapsed_s = before_s + (int(second[1]) if second else 0)
    if elapsed_s <= workload.warmup_s:
        return f"warm-up {elapsed_s:g}/{workload.warmup_s:g} s: {rate}"
    return f"measuring {elapsed_s - workload.warmup_s:g}/{workload.measure_s:g} s: {rate}"
