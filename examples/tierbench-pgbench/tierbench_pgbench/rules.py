"""What the file of a workload may say to pgbench: read without the libraries of figures."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.load_generators.common.options import mistakes
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.model import Workload

SCRIPTS = ("tpcb-like", "simple-update", "select-only")


def keys(_script: str) -> Mapping[str, Sequence[str]]:
    return {"options": (), "dataset": ("scale",)}


def mistakes_in(workload: Workload) -> Iterator[tuple[str, str]]:
    if workload.script not in SCRIPTS:
        yield "script", f"is one of pgbench's own: {', '.join(SCRIPTS)}"
    if "scale" not in workload.dataset.parameters:
        yield "dataset.scale", "is missing: a scale of 1 has 100,000 accounts"
        return
    scale = workload.dataset.parameters["scale"]
    if not isinstance(scale, int) or scale < 1:
        yield "dataset.scale", "is a whole number, 1 or more"
    yield from mistakes(workload, {"options": ()})


RULES = WorkloadRules(keys=keys, mistakes=mistakes_in)
