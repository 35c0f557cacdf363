"""Room for what a campaign writes to this computer: its results, and small files of its cache.

What comes out of a container goes to the results folder by way of that folder's own disk."""

from collections.abc import Container, Iterator
from pathlib import Path

from orchestrator.design.factors import RATE_OPTION
from orchestrator.errors import UnavailableError
from orchestrator.model import Plan, Workload
from orchestrator.system import files
from orchestrator.units import format_bytes

# Nothing begins with less: a run leaves some ten MB beside its transactions. A new table is made
# beside the one it replaces.
LEAST_BYTES = 512 * 2**20
# Bytes of one transaction: its raw record (docs/research/SCALE.md) and a row of latencies.parquet.
# Rows of 17.5 to 18.7 bytes were measured.
_RECORD_BYTES = 24
_ROW_BYTES = 19


def require(*folders: Path) -> None:
    """UnavailableError if one of them is nearly full: results that cannot be written end a
    campaign, after hours."""
    for folder in folders:
        free_bytes = files.free_bytes(folder)
        if free_bytes < LEAST_BYTES:
            free = format_bytes(free_bytes)
            needed = format_bytes(LEAST_BYTES)
            raise UnavailableError(
                f"{folder} has {free} free; a campaign needs {needed} there",
                "make room, or put it elsewhere: --results, TIERBENCH_CACHE",
            )


def warnings(plan: Plan, results: Path, finished: Container[int] = ()) -> Iterator[str]:
    """One if the transactions of a plan with set rates may fill the disk. Only a warning: a tier
    may not reach the rate. `finished`: numbers of runs that are there already."""
    needed_bytes = _bytes_at_set_rates(plan, finished)
    free_bytes = files.free_bytes(results)
    if LEAST_BYTES + needed_bytes > free_bytes:
        needed = format_bytes(needed_bytes)
        free = format_bytes(free_bytes)
        yield (
            f"the transactions of this campaign may take {needed} in {results}. "
            f"Only {free} is free there: later runs may fail"
        )


def _bytes_at_set_rates(plan: Plan, finished: Container[int]) -> float:
    """What all runs leave, and one run's records once more while they come from its container. Of
    a load without a rate nobody can tell how many transactions a disk lets it make."""
    left = 0.0
    most = 0.0
    for run in plan.runs:
        if run.number not in finished:
            transactions = _transactions(plan.workload(run.workload))
            left += transactions
            most = max(most, transactions)
    # A run's records are there twice while they are copied from its container.
    return left * (_RECORD_BYTES + _ROW_BYTES) + most * _RECORD_BYTES


def _transactions(workload: Workload) -> float:
    """How many transactions there are at the set rate, the longest warm-up included.

    0 if no rate is set.
    """
    rate_per_s = float(workload.options.get(RATE_OPTION) or 0.0)
    # A warm-up until the load is steady may last longer, and is recorded too.
    warmup_s = workload.warmup_most_s or workload.warmup_s
    return rate_per_s * (warmup_s + workload.measure_s)
