"""Which load generator runs a workload, and what the workload may ask of it.

That is known without the libraries that read figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator import errors
from orchestrator.load_generators import entries
from orchestrator.load_generators.common.options import SET_FOR_ALL, refuse
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.model import Workload
from orchestrator.registry.references import ObjectPlace

# Six limits have four pairs of changes each in the least time, with a second a change. They have
# eight in the most, of 2.5 s.
CONFIRM_LEAST_S = 48.0
CONFIRM_MOST_S = 240.0
STEADY_MOST_S = 120.0  # the least; sooner than after 30 s it is never found


def rules(generator: str) -> WorkloadRules:
    """What is known of the workloads of a load generator; of one without rules, nothing."""
    owned = entries().get(generator)
    if owned is None or not owned.entry.rules:
        return WorkloadRules()
    generator_rules: WorkloadRules = ObjectPlace(
        owned.entry.rules, owned.origin
    ).imported()
    return generator_rules


def taking_over() -> Mapping[str, str]:
    """The generators that `--generator` may name → which workloads of others they run."""
    named = {}
    for name, owned in entries().items():
        if owned.entry.takes_over:
            named[name] = owned.entry.takes_over
    return named


def keys(generator: str, script: str) -> Mapping[str, Sequence[str]]:
    """What a workload may have under `dataset` and `options`; nothing where that is not known.
    `script`: whose keys count, if scripts have keys of their own."""
    return rules(generator).keys(script)


def warmed(workload: Workload, how: str) -> Workload:
    """The workload with its warm-up `fixed`, as it is; or `steady`: until throughput is
    steady, at least as long and at most ten times. UsageError if its generator cannot do that."""
    if how == "fixed":
        return workload
    # A user's own script need not read the file that says when the window ends.
    goes_on = set(command_lines.KNOWN) - set(command_lines.ENDS_WITH_WORK)
    if workload.generator != command_lines.NAME or workload.script not in goes_on:
        raise errors.UsageError(
            f"{workload.name} is run by {workload.generator} "
            f"({workload.script}), and its warm-up has a fixed time. `--warmup "
            "steady` needs a built-in script on sysbench",
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
            "record of each transaction. Without it `--confirm` cannot tell "
            "what a change did",
            advice="name other workloads, or leave out --confirm",
        )
    if workload.script in command_lines.ENDS_WITH_WORK:
        raise errors.UsageError(
            f"{workload.name} ends when its work is done: no load is left for "
            "--confirm to measure",
            advice="name other workloads, or leave out --confirm",
        )
    confirm_s = max(CONFIRM_LEAST_S, 2 * workload.measure_s)
    return replace(workload, confirm_s=min(confirm_s, CONFIRM_MOST_S))


def bind(workload: Workload, generator: str | None) -> Workload:
    """Converts `workload` to another generator; unchanged for None or its own generator. UsageError
    if that generator cannot run it, or not as its file says."""
    if generator is not None:
        if generator not in (workload.generator, *taking_over()):
            raise _cannot_run(workload, generator)
        workload = _converted(workload, generator)
    generator_rules = rules(workload.generator)
    generator_rules.check(workload)
    refuse(workload, generator_rules.mistakes(workload))
    # The run's own seed is put there later: one of the file would be lost silently.
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


def _cannot_run(workload: Workload, generator: str) -> errors.UsageError:
    others = " or ".join(taking_over())
    may_be = ""
    if others:
        may_be = f"; --generator may also be {others}"
    return errors.UsageError(
        f"{workload.name} is run by {workload.generator}, not by {generator!r}{may_be}",
        advice="leave out --generator (GENERATOR), or install the extension that brings it",
    )
