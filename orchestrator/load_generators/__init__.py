"""Load generators: a file or folder each, one function here; and which can run another's workload.

What a workload may set is known without the libraries that read figures."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator import errors, parts
from orchestrator.load_generators import fio, tera
from orchestrator.load_generators.benchbase import config
from orchestrator.load_generators.common.options import SET_FOR_ALL, refuse
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.load_generators.sysbench_stock import scripts
from orchestrator.model import Workload

CONFIRM_MOST_S = 240.0  # some 15 s for each change that is tried
STEADY_MOST_S = 120.0  # at least; sooner than after 30 s it is never found
# What is wrong with a workload's file, whatever the cluster: key and what.
_MISTAKES: Mapping[str, Callable[[Workload], Iterable[tuple[str, str]]]] = {
    command_lines.NAME: command_lines.mistakes_in,
    scripts.NAME: scripts.mistakes_in,
    "fio": fio.mistakes_in,
    "tera": tera.mistakes_in,
}
_KEYS: Mapping[str, Callable[[str], Mapping[str, Sequence[str]]]] = {
    command_lines.NAME: command_lines.keys,
    scripts.NAME: scripts.keys,
    "fio": fio.keys,
    "tera": tera.keys,
}


def load_generators() -> Mapping[str, parts.LoadGenerator]:
    return parts.Members(
        {
            command_lines.NAME: _sysbench,
            scripts.NAME: _sysbench_stock,
            config.NAME: _benchbase,
            "fio": fio.Fio,
            "tera": tera.Tera,
            "dry": _dry,
        }
    )


def _sysbench() -> parts.LoadGenerator:
    from orchestrator.load_generators.sysbench.generator import Sysbench

    return Sysbench()


def _sysbench_stock() -> parts.LoadGenerator:
    from orchestrator.load_generators.sysbench_stock.generator import SysbenchStock

    return SysbenchStock(os.environ.get(scripts.IMAGE_VARIABLE) or None)


def _benchbase() -> parts.LoadGenerator:
    from orchestrator.load_generators.benchbase import distribution
    from orchestrator.load_generators.benchbase.generator import BenchBase

    return BenchBase(distribution.named(os.environ))


def _dry() -> parts.LoadGenerator:
    from orchestrator.load_generators.dry import DryGenerator

    return DryGenerator()


def keys(generator: str, script: str) -> Mapping[str, Sequence[str]]:
    """What a workload may have under `dataset` and `options`; nothing where that is not known.
    `scale`: which of its own keys count, if not all."""
    if generator in _KEYS:
        return _KEYS[generator](script)
    return {}


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
    if workload.generator in (fio.Fio.name, scripts.NAME, tera.Tera.name):
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
    confirm_s = max(24.0, 2 * workload.measure_s)
    return replace(workload, confirm_s=min(confirm_s, CONFIRM_MOST_S))


def bind(workload: Workload, generator: str | None) -> Workload:
    """Converts `workload` to another generator; unchanged for None or its own generator. UsageError
    if that generator cannot run it, or not as its file says."""
    if generator not in (None, workload.generator, config.NAME):
        raise errors.UsageError(
            f"{workload.name} is run by {workload.generator}; --generator may "
            f"also be benchbase, not {generator!r}",
        )
    if generator == config.NAME:
        workload = config.bind(workload)
    if workload.generator == config.NAME:
        config.check(workload)
    if workload.generator in _MISTAKES:
        refuse(workload, _MISTAKES[workload.generator](workload))
    if "seed" in workload.options:
        what = f"{SET_FOR_ALL['rand_seed']}, for all workloads alike"
        refuse(workload, [("options.seed", what)])
    return workload
