"""Load generators: one file each, and one line here; and who can run another's workload."""

from orchestrator.errors import UsageError
from orchestrator.loadgens import benchbase_config
from orchestrator.loadgens.benchbase import BenchBase
from orchestrator.loadgens.fio import Fio
from orchestrator.loadgens.sysbench import Sysbench
from orchestrator.model import Workload
from orchestrator.protocols import LoadGenerator

_BINDERS = {"benchbase": benchbase_config.bind}


def load_generators() -> dict[str, LoadGenerator]:
    return {"sysbench": Sysbench(), "benchbase": BenchBase.from_environment(), "fio": Fio()}


def bind(workload: Workload, generator: str | None) -> Workload:
    """`workload` as another generator runs it; unchanged for None or its own generator.

    UsageError where that generator cannot run it.
    """
    if generator in (None, workload.generator):
        return workload
    if generator not in _BINDERS:
        raise UsageError(
            f"{workload.name} is run by {workload.generator}; GENERATOR may also be "
            f"{', '.join(_BINDERS)}, not {generator!r}"
        )
    return _BINDERS[generator](workload)
