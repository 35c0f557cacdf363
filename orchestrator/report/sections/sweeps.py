"""Load sweeps: the loads of each tier as a table, its knee, and its capacity at the SLO."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator import units
from orchestrator.analysis.conclusions import Sweep, TierSweep
from orchestrator.planning.load_points import load_in_words
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Paragraph, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.summary import value_cell

_KNEE = (
    "The knee is the least load with at least 95 % of the tier's highest throughput, if a higher "
    "load was measured."
)
_CAPACITY = (
    "Capacity at the SLO is the highest load proven to meet its latencies, tested from the least "
    "load upwards."
)


def tables(index: ReportIndex) -> Iterator[tuple[str, tuple[Table, ...]]]:
    """Sweep by sweep: what was found of each tier, then the figures at each load."""
    for sweep in index.verdict.sweeps:
        yield sweep.workload, (_found(sweep), *_loads(index, sweep))


def sections(index: ReportIndex) -> tuple[Section, ...]:
    """One for each sweep, its charts first."""
    # Here, because what draws charts takes half a second to import: a terminal does not need it.
    from orchestrator.report.blocks import Charts
    from orchestrator.report.charts import sweep_charts

    made = []
    for sweep, (_, (found, *loads)) in zip(index.verdict.sweeps, tables(index), strict=True):
        drawn = sweep_charts.drawn(index, sweep)
        caption = (
            "Means over the repetitions with their 95 % interval. The latency of a tier that is "
            "overloaded at a rate is not drawn."
        )
        blocks = (Charts(drawn, index.tiers, caption),) if drawn else ()
        text = f"{_KNEE} {_CAPACITY}" if sweep.slo else _KNEE
        parts = (
            Part("", (Paragraph(text), found, *blocks)),
            *(Part(tier, (table,)) for tier, table in zip(index.tiers, loads, strict=True)),
        )
        title = f"{sweep.workload} under several loads"
        made.append(Section(f"sweep-{sweep.workload}", title, parts))
    return tuple(made)


def _found(sweep: Sweep) -> Table:
    slo = ("Capacity at the SLO",) if sweep.slo else ()
    columns = (*texts("Tier"), *numbers("Highest throughput", "Knee", *slo))
    rows = tuple(_tier_row(sweep, one) for one in sweep.tiers)
    stops = [f"{one.tier}: {one.stopped}" for one in sweep.tiers if one.stopped]
    remarks = (f"SLO: {', '.join(sweep.slo)}.",) if sweep.slo else ()
    return Table(columns, rows, remarks=(*remarks, *(f"{stop}." for stop in stops)))


def _tier_row(sweep: Sweep, found: TierSweep) -> tuple[Cell, ...]:
    if found.peak_per_s is None:
        lost = Cell("missing", missing=True)
        return (Cell(found.tier, tier=found.tier), lost, Cell("–"), *_slo(sweep, found))
    return (
        Cell(found.tier, tier=found.tier),
        Cell(units.format_quantity(found.peak_per_s, "1/s")),
        Cell("not reached" if found.knee is None else load_in_words(sweep.axis, found.knee)),
        *_slo(sweep, found),
    )


def _slo(sweep: Sweep, found: TierSweep) -> tuple[Cell, ...]:
    if not sweep.slo:
        return ()
    if found.at_slo is None or found.at_slo_per_s is None:
        return (Cell("none proven"),)
    rate = units.format_quantity(found.at_slo_per_s, "1/s")
    return (Cell(load_in_words(sweep.axis, found.at_slo), detail=rate),)


def _loads(index: ReportIndex, sweep: Sweep) -> Iterator[Table]:
    """A table for each tier, its loads as rows."""
    of_new_order = index.latency_scope(sweep.workloads[0]) != "all"
    average = "New-Order average latency" if of_new_order else "Average latency"
    asked = ("Offered", "Served") if sweep.axis == "rate" else ()
    orders = ("NOPM",) if index.is_tpcc_derived(sweep.workloads[0]) else ()
    columns = (*texts("Load"), *numbers(*asked, *orders, "Transactions/s", average, "p99"))
    flows = ("offered_per_s", "served_per_s") if asked else ()
    counted = ("nopm",) if orders else ()
    metrics = (*flows, *counted, "throughput_per_s", "latency_avg_s", "latency_p99_s")
    for tier in index.tiers:
        rows = tuple(
            (
                Cell(
                    load_in_words(sweep.axis, value),
                    detail="overloaded" if index.overloaded(tier, workload) else "",
                    notes=index.notes(workload, tier),
                ),
                *(
                    value_cell(
                        index, tier, workload, index.cell(tier, workload, metric), wording.value
                    )
                    for metric in metrics
                ),
            )
            for value, workload in zip(sweep.values, sweep.workloads, strict=True)
        )
        yield Table(columns, rows)
