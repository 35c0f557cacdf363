"""What each run measured: a table per workload, of its transaction types, and of what failed."""

from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

from orchestrator.analysis import results
from orchestrator.model import Workload
from orchestrator.planning.slo import format_objective
from orchestrator.report.blocks import Cell, Paragraph, Part, Section, Table, table_of
from orchestrator.report.prose import said, words
from orchestrator.report.report_index import ReportIndex
from orchestrator.units import gathered

# Title of a column → its metric, and whether it is of the node that has most of it, not of all.
_Columns = dict[str, tuple[str, bool]]
_ALWAYS = (
    "latency_avg_s",
    "latency_p95_s",
    "latency_p99_s",
    "throughput_per_s",
    "cpu_pct",
)


def section(index: ReportIndex) -> Section:
    """One table per workload, tiers as rows."""
    about = Paragraph(" ".join(_about(index)))
    parts = [_workload_part(index, workload) for workload in index.workloads]
    return Section("measured", "Measured", (Part("", (about,)), *parts))


def _about(index: ReportIndex) -> Iterator[str]:
    """How to read the tables, as far as this campaign needs it."""
    if index.campaign.plan.repetitions > 1:
        yield said("measured.means")
    if index.campaign.published:
        yield said("measured.published")
    else:
        yield said("measured.nodes" if _several_nodes(index) else "measured.one_node")
    if index.footnotes:
        yield said("measured.footnotes")


def _several_nodes(index: ReportIndex) -> bool:
    return any(profile.cluster.nodes > 1 for profile in index.profiles)


def _workload_part(index: ReportIndex, workload: Workload) -> Part:
    name = workload.name
    statements = workload.statements_per_transaction
    columns = _columns(index, name)
    rows = [_tier_row(index, tier, name, columns) for tier in index.tiers]
    size: tuple[str, ...] = ()
    if statements and statements > 1:
        size = (f"A transaction is {statements} statements.",)
    losses = index.losses(
        run for run in index.campaign.plan.runs if run.workload == name
    )
    table = table_of(rows, ("Tier",), (*size, *losses))
    return Part(f"{name}: {workload.title}", (table, *by_type(index, name)))


def _columns(index: ReportIndex, workload: str) -> _Columns:
    """NOPM, payload, the busiest disk and what else few have only if this workload has them."""

    def shown(metric: str) -> bool:
        if metric == "nopm":
            return index.is_tpcc_derived(workload)
        if metric == "node_payload_bytes_per_s" and not _several_nodes(index):
            return False
        return metric in _ALWAYS or any(
            index.cell(tier, workload, metric) for tier in index.tiers
        )

    titles = dict(words("measured.columns"))
    if index.latency_scope(workload) != "all":
        titles["latency_avg_s"] = "New-Order average latency"
    columns = {
        title: (metric, False) for metric, title in titles.items() if shown(metric)
    }
    return {**columns, **_disk_columns(index)}


def _disk_columns(index: ReportIndex) -> _Columns:
    """Of all disks together, and of the busiest; published ones may be of a single disk alone."""
    iops = "disk_iops"
    rate = "disk_bytes_per_s"
    every = {"Disk IOPS": (iops, False)}
    bandwidth = {"Disk bandwidth": (rate, False)}
    if index.campaign.published:
        busiest = {"IOPS of a disk": (iops, True), "Bandwidth of a disk": (rate, True)}
        return {**busiest, **every, **bandwidth}
    if _several_nodes(index):
        several = {"Busiest disk IOPS": (iops, True)}
    else:
        several = {}
    return {**every, **several, **bandwidth}


def _tier_row(
    index: ReportIndex, tier: str, workload: str, columns: _Columns
) -> dict[str, Cell]:
    done = len(index.finished(tier, workload))
    planned = len(index.planned(tier, workload))
    if done == planned:
        n = f"n = {done}"
    else:
        n = f"n = {done} of {planned}"
    values = {
        title: index.value_cell(
            tier,
            workload,
            (index.busiest if busiest else index.cell)(tier, workload, metric),
        )
        for title, (metric, busiest) in columns.items()
    }
    return {
        "Tier": Cell(tier, detail=n, tier=tier, notes=index.notes(workload, tier)),
        **values,
    }


_OF_TYPE = words("measured.type_columns")


def by_type(index: ReportIndex, workload: str) -> tuple[Table, ...]:
    """One table, types down and their tiers below each; none if all transactions are of one type. A
    column says whether the SLO is met, if a clause of it is about one type."""
    types = index.transaction_types(workload)
    if not types:
        return ()
    judged = _judged(index, workload)
    rows: list[str | dict[str, Cell]] = []
    for name in types:
        rows.append(name.replace("_", " "))
        for tier in index.tiers:
            values = index.metric_cells(tier, workload, _OF_TYPE, name)
            slo = Cell(judged.get((tier, name), ""))
            rows.append({"Transaction": Cell(tier, tier=tier), **values, "SLO": slo})
    return (table_of(rows, ("Transaction", "SLO"), (said("measured.types"),)),)


def _judged(index: ReportIndex, workload: str) -> dict[tuple[str, str], str]:
    """Tier and type → each clause of the SLO about that type, and whether it was proven to be met,
    by the decision; what that did not judge is open."""
    word = {
        (offer.tier, result.objective): result.word
        for decision in index.verdict.decisions
        if decision.workload == workload
        for offer in decision.offers
        for result in offer.slo
    }
    slo = index.campaign.plan.workload(workload).slo
    clauses = gathered(
        (
            (tier, scope),
            f"{text.removeprefix(f'{scope} ')}: {word.get((tier, text), 'open')}",
        )
        for scope, text in (
            (of.scope, format_objective(of)) for of in slo if of.scope != "all"
        )
        for tier in index.tiers
    )
    return {key: "; ".join(of_type) for key, of_type in clauses.items()}


# ------------------------------------------------------------------ what did not succeed at once


_COUNTS = {m: _OF_TYPE[m] for m in ("transactions", "retries", "rollbacks", "failures")}
_ASK_FOR_LEVEL = ("sysbench", "benchbase")  # each of their sessions sets it
_DEFAULT_LEVEL = "read committed"
_LEVELS = (_DEFAULT_LEVEL, "repeatable read", "serializable")


def failures(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no transactions were run or counted here."""
    loads = [load for load in index.workloads if load.database is None]
    if index.campaign.published or not loads:
        return ()
    rows: list[str | dict[str, Cell]] = []
    for load in loads:
        rows.append(load.name)
        rows += [
            {
                "Tier": Cell(tier, tier=tier, notes=index.notes(load.name, tier)),
                **index.metric_cells(tier, load.name, _COUNTS),
                "Isolation asked for": Cell(_asked(load)),
                "In effect": _in_effect(index, tier, load),
            }
            for tier in index.tiers
        ]
    remark = said("failures.counts")
    counts = table_of(rows, ("Tier", "Isolation asked for", "In effect"), (remark,))
    parts = (Part("", (counts,)), Part("Errors by SQLSTATE", (_errors(index),)))
    return (Section("failures", "Retries, failures and isolation", parts),)


def _asked(load: Workload) -> str:
    default = "the server's default"
    if load.generator in _ASK_FOR_LEVEL:
        default = _DEFAULT_LEVEL
    return str(load.options.get("isolation", default))


def _in_effect(index: ReportIndex, tier: str, load: Workload) -> Cell:
    """As the servers said; more than one level only if the runs of a cell differ. PostgreSQL gives
    each level under its own name, so it need not be asked."""
    runs = index.finished(tier, load.name)
    facts = [results.database(run.record) for run in runs]
    levels = {
        str(level)
        for of_run in facts
        if (
            level := (of_run.execution or {}).get("isolation")
            or of_run.more.get("isolation")
        )
    }
    if levels:
        return Cell(", ".join(sorted(levels)))
    if not runs:
        return Cell("missing", missing=True)
    plain = index.campaign.plan.profile(tier).cluster.database == "postgresql"
    told = plain and _asked(load) in _LEVELS
    if told:
        return Cell("as asked")
    return Cell("not read back", missing=True)


def _errors(index: ReportIndex) -> Table | Paragraph:
    rows: list[Mapping[str, Cell | str]] = [
        {"Workload": load.name, "Tier": Cell(tier, tier=tier), **of_class}
        for load in index.workloads
        for tier in index.tiers
        for of_class in by_class(index.finished(tier, load.name))
    ]
    if not rows:
        return Paragraph("No load generator counted one.")
    about = "Attempts of all finished runs together, warm-up included."
    return table_of(rows, ("Workload", "Tier", "Class", "SQLSTATE"), (about,))


_CLASSES = words("failures.classes")  # by the first two characters of an SQLSTATE


def by_class(runs: Iterable[results.RunData]) -> Iterator[dict[str, str]]:
    """Cells of a row for each class, most frequent first, of whole runs, as they are counted."""
    of_runs = (results.generator(run.record).more.get("errors") for run in runs)
    every = [
        error for errors in of_runs if isinstance(errors, list) for error in errors
    ]
    table = pd.DataFrame(every, columns=["sqlstate", "kind", "count"]).fillna(
        {"sqlstate": ""}
    )
    classes = dict(list(table.groupby(table["sqlstate"].str[:2], sort=False)))
    for key in sorted(classes, key=lambda key: -classes[key]["count"].sum()):
        kinds, states = (
            classes[key].groupby(of, sort=False)["count"].sum()
            for of in ("kind", "sqlstate")
        )
        yield {
            "Class": f"{key} {_CLASSES[key]}"
            if key in _CLASSES
            else key or "no SQLSTATE",
            "Tried again": f"{kinds.get('retried', 0):,}",
            "Given up": f"{kinds.get('failed', 0):,}",
            "SQLSTATE": ", ".join(
                f"{of or 'none given'} ({n:,})" for of, n in states.items()
            ),
        }
