"""A section of the page: what pgbench itself printed at the end of each run."""

from orchestrator import facts
from orchestrator.report.blocks import Part, Section, table_of
from orchestrator.report.report_index import ReportIndex

_ABOUT = (
    "pgbench counts from its start to its end, so its figure has the warm-up in it; the figures of "
    "this page are of the measured window alone."
)


def sections(index: ReportIndex) -> tuple[Section, ...]:
    rows = []
    for run in index.campaign.done:
        generator = facts.group(run.record.facts, "generator")
        if "tps_printed" in generator:
            printed = f"{generator['tps_printed']:,.0f}"
            rows.append({"Run": run.record.run.slug, "Transactions/s": printed})
    if not rows:
        return ()
    table = table_of(rows, ("Run",), (_ABOUT,))
    return (Section("pgbench", "What pgbench printed", (Part("", (table,)),)),)
