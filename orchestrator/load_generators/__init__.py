"""Load generators: a file or folder each, one line here; and which can run another's workload."""

from collections.abc import Mapping, Sequence

from orchestrator.errors import UsageError
from orchestrator.load_generators.benchbase import config
from orchestrator.load_generators.benchbase.adapter import BenchBase
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.load_generators.fio import Fio
from orchestrator.load_generators.sysbench import run_options
from orchestrator.load_generators.sysbench.adapter import Sysbench
from orchestrator.load_generators.sysbench_stock import options as stock_options
from orchestrator.load_generators.sysbench_stock.adapter import SysbenchStock
from orchestrator.model import Workload
from orchestrator.parts import LoadGenerator

_BINDERS = {"benchbase": config.bind}
_CHECKS = {"sysbench": run_options.check}
_KEYS = {"sysbench": run_options.keys, "sysbench-stock": stock_options.keys}


def load_generators() -> dict[str, LoadGenerator]:
    return {
        "sysbench": Sysbench(),
        "sysbench-stock": SysbenchStock.from_environment(),
        "benchbase": BenchBase.from_environment(),
        "fio": Fio(),
        "dry": DryGenerator(),
    }


def keys(generator: str, script: str) -> Mapping[str, Sequence[str]]:
    """What a workload may have under `dataset` and `options`; nothing where that is not known."""
    return _KEYS[generator](script) if generator in _KEYS else {}


def bind(workload: Workload, generator: str | None) -> Workload:
    """Converts `workload` to another generator; unchanged for None or its own generator.

    UsageError if that generator cannot run it, or not as its file says.
    """
    if generator in (None, workload.generator):
        if workload.generator in _CHECKS:
            _CHECKS[workload.generator](workload)
        return workload
    if generator not in _BINDERS:
        raise UsageError(
            f"{workload.name} is run by {workload.generator}; GENERATOR may also be "
            f"{', '.join(_BINDERS)}, not {generator!r}"
        )
    return _BINDERS[generator](workload)
