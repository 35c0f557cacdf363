"""Load generators: a file or folder each, one line here; and which can run another's workload.

What a workload may set is known without the libraries that read figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator import errors, parts
from orchestrator.load_generators.common.options import SET_FOR_ALL, refuse
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.model import Workload
from orchestrator.registry.references import referenced

# With six limits four pairs of changes of each, of a second a change; and eight of 2.5 s.
CONFIRM_LEAST_S = 48.0
CONFIRM_MOST_S = 240.0
STEADY_MOST_S = 120.0  # at least; sooner than after 30 s it is never found
_CONVERTING = "benchbase"
_MEMBERS = {
    "sysbench": "orchestrator.load_generators.sysbench.generator:Sysbench",
    "sysbench-stock": (
        "orchestrator.load_generators.sysbench_stock.generator:from_environment"
    ),
    "benchbase": "orchestrator.extensions.benchbase.generator:from_environment",
    "fio": "orchestrator.load_generators.fio:Fio",
    "tera": "orchestrator.extensions.hadoop.tera:Tera",
    "dry": "orchestrator.load_generators.dry:DryGenerator",
}
# What the file of a workload may say to each.
_RULES = {
    "sysbench": "orchestrator.load_generators.sysbench.command_lines:RULES",
    "sysbench-stock": "orchestrator.load_generators.sysbench_stock.scripts:RULES",
    "benchbase": "orchestrator.extensions.benchbase.config:RULES",
    "fio": "orchestrator.load_generators.fio:RULES",
    "tera": "orchestrator.extensions.hadoop.tera:RULES",
}


def load_generators() -> Mapping[str, parts.LoadGenerator]:
    return parts.Members(_MEMBERS)


def rules(generator: str) -> WorkloadRules:
    """What is known of the workloads of a load generator; of one without rules, nothing."""
    if generator not in _RULES:
        return WorkloadRules()
    of_generator: WorkloadRules = referenced(_RULES[generator])
    return of_generator


def keys(generator: str, script: str) -> Mapping[str, Sequence[str]]:
    """What a workload may have under `dataset` and `options`; nothing where that is not known.
    `scale`: which of its own keys count, if not all."""
    return rules(generator).keys(script)


def warmed(workload: Workload, how: str) -> Workload:
    """The workload with its warm-up `fixed`, as it is; or `steady`: until throughput is
    steady, at least as long and at most ten times. UsageError if its generator cannot do that."""
    if how == "fixed":
        return workload
    goes_on = set(command_lines.KNOWN) - set(command_lines.ENDS_WITH_WORK)
    if workload.generator != command_lines.NAME or workload.script not in goes_on:
        raise errors.UsageError(
            f"{workload.name} is run by {workload.generator} ({workload.script}), "
            "whose warm-up has a fixed time: --warmup steady needs a built-in "
            "script on sysbench",
            advice="name other workloads, or leave out --warmup",
        )
    return replace(workload, warmup_most_s=max(10.0 * workload.warmup_s, STEADY_MOST_S))


def confirmed(workload: Workload, asked: bool) -> Workload:
    """The workload with time behind its window in which limits are changed, if that is `asked`.
    UsageError if its generator keeps no transactions by which the changes could be told."""
    if not asked:
        return workload
    if not rules(workload.generator).keeps_transactions:
        raise errors.UsageError(
            f"{workload.name} is run by {workload.generator}, which keeps no "
            "record of each transaction: --confirm could not tell what a "
            "change did",
            advice="name other workloads, or leave out --confirm",
        )
    if workload.script in command_lines.ENDS_WITH_WORK:
        raise errors.UsageError(
            f"{workload.name} ends when its work is done: nothing is left "
            "behind it for --confirm",
            advice="name other workloads, or leave out --confirm",
        )
    confirm_s = max(CONFIRM_LEAST_S, 2 * workload.measure_s)
    return replace(workload, confirm_s=min(confirm_s, CONFIRM_MOST_S))


def bind(workload: Workload, generator: str | None) -> Workload:
    """Converts `workload` to another generator; unchanged for None or its own generator. UsageError
    if that generator cannot run it, or not as its file says."""
    if generator not in (None, workload.generator, _CONVERTING):
        raise errors.UsageError(
            f"{workload.name} is run by {workload.generator}; --generator may "
            f"also be {_CONVERTING}, not {generator!r}",
        )
    if generator is not None:
        workload = _converted(workload, generator)
    of_generator = rules(workload.generator)
    of_generator.check(workload)
    refuse(workload, of_generator.mistakes(workload))
    if "seed" in workload.options:
        what = f"{SET_FOR_ALL['rand_seed']}, for all workloads alike"
        refuse(workload, [("options.seed", what)])
    return workload


def _converted(workload: Workload, generator: str) -> Workload:
    """The workload as one of another load generator; one of its own is what its file says."""
    convert = rules(generator).converted
    if convert is None:
        return workload
    return convert(workload)
