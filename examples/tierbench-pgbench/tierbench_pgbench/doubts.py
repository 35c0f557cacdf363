"""What pgbench's own manual says of its figures."""

from collections.abc import Iterator

from orchestrator.analysis.results import RunData
from orchestrator.model import Doubt

_UPDATING = ("tpcb-like",)


def few_branches(run: RunData) -> Iterator[Doubt]:
    """ "the default TPC-B-like transaction also updates one row of pgbench_branches, of which there
    are `scale`": with more sessions than these, they wait for each other
    (postgresql.org/docs/17/pgbench.html, "Good Practices")."""
    workload = run.record.workload
    if workload.script not in _UPDATING:
        return
    branches = int(workload.dataset.parameters["scale"])
    if branches < workload.threads:
        yield Doubt(
            "few branches",
            f"{workload.threads} sessions update {branches} rows of pgbench_branches: they wait "
            "for each other, and not for the disk",
            "give the data set a `scale` of at least the `threads`",
        )
