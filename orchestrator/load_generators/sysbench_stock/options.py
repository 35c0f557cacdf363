"""The options that a workload of stock sysbench may set: each takes effect, or is refused.

oltp_common.lua of 1.0.20 lets every script take every option, also those that the script never
reads; and of two equal options the last is used silently. Both are refused before anything starts.
"""

from collections.abc import Iterator, Mapping

from orchestrator.load_generators.common import options as common
from orchestrator.model import Workload

BULK_INSERT = "bulk_insert"
_TABLES = ("tables", "table_size", "create_secondary", "secondary")
KNOWN = common.read_by_scripts(__package__)  # those of sysbench 1.0.20, while they run


def is_path(script: str) -> bool:
    """Returns whether the script is a file of the user's; else it is one of sysbench's own."""
    return script.endswith(".lua") or "/" in script


def keys(script: str) -> Mapping[str, tuple[str, ...]]:
    """What a script takes under `options` and `dataset`; of a user's own that is unknown."""
    if script not in KNOWN:
        return {}
    parameters = ("threads",) if script == BULK_INSERT else _TABLES
    if script not in ("oltp_insert", BULK_INSERT):  # without it, oltp_insert begins empty
        parameters = (*parameters, "auto_inc")
    return {"options": KNOWN[script], "dataset": parameters}


def check(workload: Workload, upstream: bool) -> None:
    """UsageError listing what has no effect or cannot work. `upstream`: it is sysbench 1.0.20;
    another sysbench has other scripts and options, and refuses unknown ones itself."""
    mistakes = {**dict(_unknown(workload) if upstream else ()), **dict(_mistakes(workload))}
    common.refuse(workload, mistakes.items())


def _mistakes(workload: Workload) -> Iterator[tuple[str, str]]:
    yield from common.set_elsewhere(workload, __package__)
    for key, seconds in (("warmup", workload.warmup_s), ("measure", workload.measure_s)):
        if seconds != int(seconds):
            yield f"scales.{key}", f"sysbench counts whole seconds, not {seconds:g}"
    dataset = workload.dataset.parameters
    if workload.script == BULK_INSERT:
        if dataset.get("threads") != workload.threads:
            yield "dataset.threads", f"must be {workload.threads}: each thread has its own table"
        if workload.warmup_s:
            yield "scales.warmup", "must be 0s: each start of bulk_insert begins at row 1"
    if workload.script.startswith("select_random_") and dataset.get("tables", 1) != 1:
        yield "dataset.tables", f"must be 1: {workload.script} reads one table"


def _unknown(workload: Workload) -> Iterator[tuple[str, str]]:
    script = workload.script
    if is_path(script):
        return  # only sysbench can tell what it knows
    if script not in KNOWN:
        yield "script", f"sysbench 1.0.20 has {', '.join(KNOWN)}, or give the path of a .lua file"
        return
    options = {key: value for key, value in workload.options.items() if key != "seed"}
    for group, values in (("options", options), ("dataset", workload.dataset.parameters)):
        unknown = f"{script} does not read this; it reads"
        yield from common.misfits(group, values, keys(script)[group], unknown)
