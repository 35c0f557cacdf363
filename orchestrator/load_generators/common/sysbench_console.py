"""What our scripts on sysbench and upstream's own have alike: options, flags and progress."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.model import Workload
from orchestrator.units import format_number

RANDOM = ("rand_type", "rand_spec_iter", "rand_spec_pct", "rand_spec_res", "rand_pareto_h")
DISTRIBUTIONS = ("uniform", "gaussian", "special", "pareto")  # of sysbench 1.0.20
PREPARED = "db_ps_mode"
# Options that no workload on sysbench may set → what does.
SET_FOR_ALL: Mapping[str, str] = {
    "rand_seed": "the campaign's SEED (--seed) sets it",
    **dict.fromkeys(("threads", "num_threads"), "`threads` of the scale sets it"),
    **dict.fromkeys(("time", "max_time"), "`warmup` and `measure` of the scale set it"),
    **dict.fromkeys(("events", "max_requests"), "a run is as long as its scale says"),
}
STARTED = "Threads started!"
_BANNER = re.compile(r"^sysbench (\S+)", re.MULTILINE)
STOP_GRACE_S = 60.0


def is_of_cluster(option: str) -> bool:
    """Whether sysbench finds its server by this option."""
    return option.startswith(("pgsql_", "mysql_", "db_")) and option != PREPARED


def version(console: str) -> str | None:
    """sysbench's version, from the first line that it prints."""
    banner = _BANNER.search(console)
    return banner[1] if banner else None


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
