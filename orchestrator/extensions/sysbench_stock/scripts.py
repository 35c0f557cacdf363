"""What a workload of stock sysbench may set, and what is wrong with it."""

import os
from collections.abc import Iterator, Mapping

from orchestrator.load_generators.common import options
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.model import Workload

IMAGE_VARIABLE = "SYSBENCH_IMAGE"
NAME = "sysbench-stock"
BULK_INSERT = "bulk_insert"
_TABLES = ("tables", "table_size", "create_secondary", "secondary")
KNOWN = options.read_by_scripts(__package__)  # those of sysbench 1.0.20, while they run


def is_path(script: str) -> bool:
    """Returns whether the script is a file of the user's; else it is one of sysbench's own."""
    return script.endswith(".lua") or "/" in script


def keys(script: str) -> Mapping[str, tuple[str, ...]]:
    """What a script takes under `options` and `dataset`; of a user's own that is unknown."""
    if script not in KNOWN:
        return {}
    parameters: tuple[str, ...] = _TABLES
    if script == BULK_INSERT:
        parameters = ("threads",)
    # The table of oltp_insert begins empty without it.
    if script not in ("oltp_insert", BULK_INSERT):
        parameters = (*parameters, "auto_inc")
    return {"options": KNOWN[script], "dataset": parameters}


def mistakes_in(
    workload: Workload, upstream: bool | None = None
) -> Iterator[tuple[str, str]]:
    """What has no effect or cannot work. `upstream`: it is sysbench 1.0.20, as in our image;
    another sysbench has other scripts and options, and refuses unknown ones itself."""
    if upstream is None:
        upstream = not os.environ.get(IMAGE_VARIABLE)
    script = workload.script
    # oltp_common.lua of 1.0.20 lets every script take every option, also those that it never reads.
    # sysbench silently uses the last of two equal options. Both are refused.
    taken: Mapping[str, tuple[str, ...]] = {}
    if upstream:
        taken = keys(script)
    yield from options.mistakes(workload, taken, __package__)
    if upstream and not is_path(script) and script not in KNOWN:
        yield (
            "script",
            f"sysbench 1.0.20 has {', '.join(KNOWN)}, or give the path of a .lua file",
        )
    times_s = {"warmup": workload.warmup_s, "measure": workload.measure_s}
    for key, seconds in times_s.items():
        if seconds != int(seconds):
            yield f"scales.{key}", f"sysbench counts whole seconds, not {seconds:g}"
    dataset = workload.dataset.parameters
    if script == BULK_INSERT:
        yield from _mistakes_of_bulk_insert(workload)
    if script.startswith("select_random_") and dataset.get("tables", 1) != 1:
        yield "dataset.tables", f"must be 1: {script} reads one table"


def _mistakes_of_bulk_insert(workload: Workload) -> Iterator[tuple[str, str]]:
    if workload.dataset.parameters.get("threads") != workload.threads:
        yield (
            "dataset.threads",
            f"must be {workload.threads}: each thread has its own table",
        )
    if workload.warmup_s:
        yield (
            "scales.warmup",
            "must be 0s: each start of bulk_insert begins at row 1",
        )


RULES = WorkloadRules(keys=keys, mistakes=mistakes_in, keeps_transactions=False)
