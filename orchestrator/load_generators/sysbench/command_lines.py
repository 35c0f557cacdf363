"""The command lines of our scripts, to load with LuaJIT and to run with sysbench; and the options
that a workload's file may set: each takes effect, or is refused. A user's own script may have any
that tierbench does not set itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.load_generators.common import options
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.model import Cluster, Workload
from orchestrator.parts import Share

NAME = "sysbench"
# Files in the client: when threads begin, and when the window ends, in Unix seconds.
BEGINS_FILE = "/tmp/tierbench-begins"
ENDS_FILE = "/out/window-ends"
LATE_S = 5.0
_NAMES = shipped(__package__, "options.yaml")
KNOWN = options.read_by_scripts(__package__)
ENDS_WITH_WORK: Sequence[str] = _NAMES["ends_with_work"]
# Parameters by the script's folder.
_PARAMETERS: Mapping[str, Sequence[str]] = _NAMES["parameters"]
_OF_LOADER: Sequence[str] = _NAMES["of_loader"]


def keys(script: str) -> Mapping[str, Sequence[str]]:
    """What a script of ours takes under `options` and `dataset`; of a user's it is unknown."""
    taken: dict[str, Sequence[str]] = {}
    if script in KNOWN:
        taken["options"] = KNOWN[script]
    folder = str(PurePosixPath(script).parent)
    if folder in _PARAMETERS:
        taken["dataset"] = _PARAMETERS[folder]
    return taken


def run_options(workload: Workload) -> dict[str, Any]:
    """Returns the workload's options. Keys are drawn uniformly by default."""
    # sysbench's own default reads one hot percent of the rows, and hardly ever the disk.
    return {"rand_type": "uniform", **workload.options}


def mistakes_in(workload: Workload) -> Iterator[tuple[str, str]]:
    """Everything in the file that would have no effect."""
    # sysbench silently uses the last of two equal options. It cannot know which of its options a
    # script ignores. So both kinds are refused before anything starts.
    script = workload.script
    taken = keys(script)
    yield from options.mistakes(workload, taken, __package__)
    what = options.misfit("rand_type", run_options(workload)["rand_type"])
    if what and "options" not in taken:
        yield "options.rand_type", what
    if script in ENDS_WITH_WORK and workload.warmup_s:
        yield f"scales.{workload.scale}.warmup", "is 0s: the work is done once"
    if workload.statements_per_transaction and not _counts_statements(taken):
        what = f"the transactions of {script} have no fixed number of statements"
        yield "statements_per_transaction", what


def _counts_statements(taken: Mapping[str, Sequence[str]]) -> bool:
    """Scripts that can leave out BEGIN and COMMIT do; of a user's own script it is not known."""
    return "options" not in taken or "skip_trx" in taken["options"]


SESSIONS_FILE = "/tmp/tierbench-sessions"  # a file in the client
TOGETHER_S = 120.0  # the longest wait of its threads for those of other clients


def load_command(workload: Workload, cluster: Cluster) -> list[str]:
    parameters = dict(workload.dataset.parameters)
    if not cluster.analyze:
        # The database does it itself, or its planner gets worse by it (versions.yaml).
        parameters = {"analyze": "off", **parameters}
    folder = Path(workload.script).parent
    command = [
        "luajit",
        f"/workloads/{folder}/load.lua",
        *options.connection(cluster.endpoints),
        *options.flags(parameters),
        f"--workers={workload.loader_threads}",
        f"--seed={options.seed_of(workload)}",
    ]
    if cluster.database != "postgresql":
        command.append(f"--dialect={cluster.database}")
    return command


def run_command(
    workload: Workload, cluster: Cluster, share: Share | None = None
) -> list[str]:
    most_s = longest_s(workload)
    if share:
        # sysbench counts its time from its own start, and threads then wait for other clients'.
        most_s += TOGETHER_S
    parameters: dict[str, Any] = {}
    for key, value in workload.dataset.parameters.items():
        # sysbench ends at an option that its script does not declare.
        if key not in _OF_LOADER:
            parameters[key] = value
    command = [
        "sysbench",
        f"/workloads/{workload.script}",
        "--db-driver=pgsql",
        *options.connection(cluster.endpoints),
        *options.flags(parameters),
        *options.flags(run_options(workload)),
    ]
    if workload.statements_per_transaction:
        command.append(f"--statements={workload.statements_per_transaction}")
    command += [
        f"--threads={workload.threads}",
        f"--time={most_s:g}",
        "--report-interval=1",
        "--out=/out",
    ]
    if workload.warmup_most_s:
        command.append(f"--ends-file={ENDS_FILE}")
    if workload.confirm_s:
        command.append(f"--sessions-file={SESSIONS_FILE}")
    if share:
        command += [
            f"--first-thread={share.first_thread}",
            f"--part={share.number}/{share.clients}",
            f"--begins-file={BEGINS_FILE}",
        ]
    return [*command, "run"]


def longest_s(workload: Workload) -> float:
    """How long a run may take, warm-up and window."""
    if workload.warmup_most_s is None:
        return workload.warmup_s + workload.measure_s
    # The program is told when to end, a moment late: a report is of a second that is over.
    return workload.warmup_most_s + workload.measure_s + LATE_S


RULES = WorkloadRules(keys=keys, mistakes=mistakes_in)
