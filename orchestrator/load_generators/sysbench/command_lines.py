"""The command lines of our scripts, to load with LuaJIT and to run with sysbench; and the options
that a workload's file may set: each takes effect, or is refused.

Of two equal options sysbench silently uses the last, and it cannot know which of its options a
script ignores. So options that tierbench sets itself, or that a script of ours ignores, are refused
before anything starts. A user's own script may have any other option.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from orchestrator.load_generators.common import options
from orchestrator.load_generators.common.options import PREPARED, RANDOM, SET_FOR_ALL
from orchestrator.load_generators.sysbench.warm_up import ENDS_FILE, longest_s
from orchestrator.model import Cluster, Workload
from orchestrator.parts import Share

_LOOP = ("arrival_rate", "isolation", "max_attempts", PREPARED)
_TABLES = (*_LOOP, *RANDOM, "skip_trx")
KNOWN: Mapping[str, tuple[str, ...]] = {
    "sysbench/point_select.lua": _TABLES,
    "sysbench/insert.lua": _TABLES,
    "tpcc/tpcc.lua": (*_LOOP, "batches", "think", "weights"),
    "bulk/copy.lua": ("arrival_rate", "isolation", "max_attempts", "batch"),
    "bulk/index.lua": ("isolation", "max_attempts"),
    "bulk/scan.lua": ("isolation", "max_attempts", "batch"),
}
ENDS_WITH_WORK = ("bulk/index.lua", "bulk/scan.lua")  # before `measure` is over
# Parameters of a data set that the run gets too, and those of the loader alone.
_OF_RUN = ("tables", "table_size", "rows", "warehouses")
_LAYOUT = ("tablets", "sharding", "sequence_cache")  # of sysbench's tables, where they are sharded
_OF_LOADER = ("create_secondary", "foreign_keys", "analyze", "slice_rows", *_LAYOUT)
# Script's folder → parameters of its load.lua.
_PARAMETERS = {
    "sysbench": ("tables", "table_size", "create_secondary", "analyze", "slice_rows", *_LAYOUT),
    "tpcc": ("warehouses", "foreign_keys", "analyze", "slice_rows", "tablets"),
    "bulk": ("tables", "rows", "tablets", "analyze"),
}

SET_HERE: Mapping[str, str] = {
    **dict.fromkeys(("statements", "point_selects"), "`statements_per_transaction` sets it"),
    **SET_FOR_ALL,
    "seed": SET_FOR_ALL["rand_seed"],
    **dict.fromkeys(("rate", "tx_rate"), "sysbench gives up when it is late: use `arrival_rate`"),
    **dict.fromkeys(
        ("out", "record", "report_interval", "ends_file", "sessions_file"),
        "the figures depend on it",
    ),
    **dict.fromkeys(("begins_file", "first_thread", "part"), "`clients` of the cluster sets it"),
    **dict.fromkeys((*_OF_RUN, *_OF_LOADER), "it belongs under `dataset`"),
}


def check(workload: Workload) -> None:
    """UsageError listing everything in the file that would have no effect."""
    options.refuse(workload, _mistakes(workload))


def keys(script: str) -> Mapping[str, tuple[str, ...]]:
    """What a script of ours takes under `options` and `dataset`; of a user's it is unknown."""
    return {
        "options": KNOWN.get(script, ()),
        "dataset": _PARAMETERS.get(str(PurePosixPath(script).parent), ()),
    }


def run_options(workload: Workload) -> dict[str, Any]:
    """Returns the workload's options. Keys are drawn uniformly by default: sysbench's own default
    reads one hot percent of the rows, and hardly ever the disk."""
    return {"rand_type": "uniform", **workload.options}


def _mistakes(workload: Workload) -> Iterator[tuple[str, str]]:
    script, given = workload.script, {}
    for key, value in workload.options.items():
        if what := options.set_elsewhere(key, SET_HERE):
            yield f"options.{key}", what
        else:
            given[key] = value
    known = KNOWN.get(script)
    if known is not None:
        yield from options.misfits("options", given, known, f"{script} has no such option; it has")
    elif what := options.misfit("rand_type", run_options(workload)["rand_type"]):
        yield "options.rand_type", what
    loader = _PARAMETERS.get(str(PurePosixPath(script).parent))
    if loader is not None:
        unknown = "the loader has no such parameter; it has"
        yield from options.misfits("dataset", workload.dataset.parameters, loader, unknown)
    if script in ENDS_WITH_WORK and workload.warmup_s:
        yield f"scales.{workload.scale}.warmup", "is 0s: the work is done once"
    if workload.statements_per_transaction and "skip_trx" not in (known or ("skip_trx",)):
        what = f"the transactions of {script} have no given number of statements"
        yield "statements_per_transaction", what


BEGINS_FILE, SESSIONS_FILE = "/tmp/tierbench-begins", "/tmp/tierbench-sessions"  # in the client
TOGETHER_S = 120.0  # how long its threads wait for those of other clients at most


def load_command(workload: Workload, cluster: Cluster) -> list[str]:
    analyze = {} if cluster.analyze else {"analyze": "off"}
    dialect = [] if cluster.database == "postgresql" else [f"--dialect={cluster.database}"]
    return [
        "luajit",
        f"/workloads/{Path(workload.script).parent}/load.lua",
        *options.connection(cluster.endpoints),
        *options.flags({**analyze, **workload.dataset.parameters}),
        f"--workers={workload.loader_threads}",
        f"--seed={options.seed_of(workload)}",
        *dialect,
    ]


def run_command(workload: Workload, cluster: Cluster, share: Share | None = None) -> list[str]:
    statements, parameters = workload.statements_per_transaction, workload.dataset.parameters
    most_s, part = longest_s(workload), []
    if share:
        most_s += TOGETHER_S
        part = [f"--first-thread={share.first_thread}", f"--part={share.number}/{share.of}"]
        part += [f"--begins-file={BEGINS_FILE}"]
    return [
        "sysbench",
        f"/workloads/{workload.script}",
        "--db-driver=pgsql",
        *options.connection(cluster.endpoints),
        *options.flags({key: value for key, value in parameters.items() if key not in _OF_LOADER}),
        *options.flags(run_options(workload)),
        *([f"--statements={statements}"] if statements else []),
        f"--threads={workload.threads}",
        f"--time={most_s:g}",
        "--report-interval=1",
        "--out=/out",
        *([f"--ends-file={ENDS_FILE}"] if workload.warmup_most_s else []),
        *([f"--sessions-file={SESSIONS_FILE}"] if workload.confirm_s else []),
        *part,
        "run",
    ]
