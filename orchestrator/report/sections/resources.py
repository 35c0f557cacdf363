"""What the runs used: the bottleneck of each, each database node, and the storage engine."""

from collections.abc import Mapping
from dataclasses import replace

from orchestrator import facts, units
from orchestrator.analysis.conclusions import Bottleneck, CellSummary
from orchestrator.analysis.figures.statements import pooled
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.prose import said, words
from orchestrator.report.report_index import ReportIndex

_EVIDENCE = words("limits.columns")


def bottlenecks(index: ReportIndex) -> Section:
    """The cause that limited each cell in words, and the values of each resource beside it."""
    known = {(b.profile, b.workload): b for b in index.verdict.bottlenecks}
    rows = index.rows(
        lambda tier, load: _limit_row(index, tier, load, known.get((tier, load)))
    )
    remark = said("limits.published" if index.campaign.published else "limits.busiest")
    table = table_of(rows, ("Tier", "Limited by"), (remark,))
    return Section("limits", "What limited each run", (Part("", (table,)),))


def _limit_row(
    index: ReportIndex, tier: str, workload: str, limit: Bottleneck | None
) -> Row:
    if limit is None:
        done = index.finished(tier, workload)
        why = "missing: no finished run"
        if done:
            why = "could not be told"
        head = Cell(tier, tier=tier)
        cause = Cell(why, missing=True)
    else:
        head = Cell(tier, detail=limit.node or "no node", tier=tier)
        words = limit.cause.replace("_", " ")  # `IOPS cap`
        cause = Cell(
            words.replace("iops", "IOPS").replace("cpu", "CPU"), detail=limit.text
        )
    values = {title: _evidence(limit, key) for key, title in _EVIDENCE.items()}
    return {"Tier": head, "Limited by": cause, **values}


def _evidence(bottleneck: Bottleneck | None, key: str) -> Cell:
    if bottleneck is None:
        return Cell("")
    value = bottleneck.evidence.get(key)
    if value is None:
        return Cell("not measured", missing=True)
    idle_s = None
    if key == "disk_await_s":
        idle_s = bottleneck.evidence.get("idle_disk_latency_s")
    idle = ""
    if idle_s:
        idle = f"idle {units.format_seconds(idle_s)}"
    if key.endswith("_pct"):
        unit = "%"
    else:
        unit = ""
        if key.endswith("_s"):
            unit = "s"
    return Cell(units.format_quantity(value, unit), detail=idle)


_OF_NODE = words("nodes.columns")
_Node = dict[str, CellSummary]  # metric → its value


def nodes(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no cluster had several nodes with figures of their own."""
    parts: list[Part] = []
    for workload in index.workloads:
        by_tier = {tier: _nodes(index, tier, workload.name) for tier in index.tiers}
        if any(len(of_tier) > 1 for of_tier in by_tier.values()):
            parts.append(
                Part(workload.name, (_node_table(index, workload.name, by_tier),))
            )
    if parts:
        return (Section("nodes", "Each node", tuple(parts)),)
    return ()


def _nodes(index: ReportIndex, tier: str, workload: str) -> dict[str, _Node]:
    """Node → its figures; a metric's other scope is "all", of the nodes together."""
    nodes: dict[str, _Node] = {}
    for cell in index.verdict.cells:
        own = (cell.profile, cell.workload) == (tier, workload) and cell.scope != "all"
        if own and cell.metric in _OF_NODE:
            nodes.setdefault(cell.scope, {})[cell.metric] = cell
    return nodes


def _node_table(
    index: ReportIndex, workload: str, by_tier: Mapping[str, Mapping[str, _Node]]
) -> Table:
    rows: list[Row] = []
    for tier, of_tier in by_tier.items():
        if index.finished(tier, workload):
            lacks = Cell("")
        else:
            lacks = Cell("missing", missing=True)
        head = Cell(tier, tier=tier, strong=True)
        rows.append(
            head
            if of_tier
            else {"Node": head, **dict.fromkeys(_OF_NODE.values(), lacks)}
        )
        columns = {
            title: _node_column(index, tier, workload, of_tier, metric)
            for metric, title in _OF_NODE.items()
        }
        for n, node in enumerate(of_tier):
            rows.append(
                {"Node": node, **{title: cells[n] for title, cells in columns.items()}}
            )
    return table_of(rows, ("Node",), (said("nodes.about"),))


def _node_column(
    index: ReportIndex,
    tier: str,
    workload: str,
    nodes: Mapping[str, _Node],
    metric: str,
) -> list[Cell]:
    """One metric of each node; the highest is marked unless another looks the same."""
    values = [node.get(metric) for node in nodes.values()]
    cells = [index.value_cell(tier, workload, value) for value in values]
    known = [(value.mean, n) for n, value in enumerate(values) if value is not None]
    if len(known) > 1:
        _, busiest = max(known)
        if [cell.text for cell in cells].count(cells[busiest].text) == 1:
            cells[busiest] = replace(cells[busiest], strong=True)
    return cells


def conservation(index: ReportIndex) -> tuple[Section, ...]:
    """Whether what was counted in several places adds up; empty where nothing was."""
    rows = _counted(index, words("conservation.columns"))
    table = table_of(rows, ("Tier",), (said("conservation.about"),))
    section = Section(
        "conservation", "Whether the counts add up", (Part("", (table,)),)
    )
    if rows:
        return (section,)
    return ()


def storage_engine(index: ReportIndex) -> tuple[Section, ...]:
    """What the servers did with log and data files; empty where no counters were sampled."""
    rows = _counted(index, words("storage_engine.columns"), "wal_sync_avg_s")
    table = table_of(rows, ("Tier",), (said("storage_engine.about"),))
    section = Section("storage-engine", "Log and data files", (Part("", (table,)),))
    if rows:
        return (section,)
    return ()


def _counted(
    index: ReportIndex, columns: Mapping[str, str], slowest: str = ""
) -> list[Row]:
    """None if no cell has any of them. `slowest`: of which the worst node is named."""

    def row(tier: str, workload: str) -> Row:
        cells = index.metric_cells(tier, workload, columns)
        node = index.busiest(tier, workload, slowest)
        if node is not None and index.cell(tier, workload, slowest) is not None:
            own = columns[slowest]
            where = f"{node.scope} {wording.value(node)}"
            cells[own] = replace(cells[own], detail=where)
        return {"Tier": Cell(tier, tier=tier), **cells}

    if any(map(index.has, columns)):
        return list(index.rows(row))
    return []


_OF_STATEMENT = words("statements.columns")
# statements, and characters of each
_MOST = 10
_LONGEST = 160


def statements(index: ReportIndex) -> tuple[Section, ...]:
    """What the servers counted of each, and why others did not; empty where none was asked. A count
    that is 0 throughout is no column."""
    rows = list[Row]()
    reasons = dict[str, None]()
    for load, tier in (
        (load.name, tier) for load in index.workloads for tier in index.tiers
    ):
        records = [run.record for run in index.finished(tier, load)]
        whys = (
            str(facts.group(each.facts, "statements").get("not_read", ""))
            for each in records
        )
        reasons |= {
            why.partition(": ")[2]: None for why in whys if why
        }  # without the address
        table, window_s = pooled(records)
        if len(table):
            rows += [Cell(f"{load}, {tier}", strong=True)]
        rates = {
            "calls": table["calls"] / window_s,
            "share": 100 * table["ms"] / table["ms"].sum(),
        }
        of_call = table.div(table["calls"], axis=0).assign(**rates)[list(_OF_STATEMENT)]
        for query, row in of_call.head(_MOST).rename(columns=_OF_STATEMENT).iterrows():
            cells = {
                str(of): units.format_number(n) if n else "" for of, n in row.items()
            }
            rows.append({"Statement": units.shortened(str(query), _LONGEST), **cells})
    if rows:
        counted = [table_of(rows, ("Statement",), (said("statements.about"),))]
    else:
        counted = []
    absent = [
        Paragraph(said("statements.absent", why=why), "Not counted") for why in reasons
    ]
    part = Part("", (*counted, *absent))
    if part.blocks:
        return (Section("statements", "Statements", (part,)),)
    return ()
