"""What each tier costs and gives, per workload: the table that a decision was taken from, and
throughput and tail latency against cost per month."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from orchestrator import metrics, units
from orchestrator.analysis import conclusions
from orchestrator.analysis.conclusions import CellSummary, Change, Decision, Offer
from orchestrator.planning import factors
from orchestrator.planning.slo import format_objective
from orchestrator.report import prose, wording
from orchestrator.report.blocks import (
    Cell,
    Chart,
    Charts,
    Measure,
    Part,
    Section,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.report_index import NEW_ORDER, ReportIndex

_UNKNOWN = "–"


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where tiers were not compared."""
    parts = tuple(
        Part(
            decision.workload, (table(index, decision), *price_charts(index, decision))
        )
        for decision in index.verdict.decisions
        if decision.offers
    )
    return (
        (Section("decision", "What each tier costs and gives", parts),) if parts else ()
    )


def table(index: ReportIndex, decision: Decision) -> Table:
    """Of a decision that compared tiers: a column for each, from cheap to dear."""
    offers = decision.offers
    compared = any(offer.on_front is not None for offer in offers)
    front = wording.FRONT if compared else dict.fromkeys(wording.FRONT, "")

    def row(title: str, cells: Iterable[Cell]) -> dict[str, Cell | str]:
        return {"": title} | {
            offer.tier: cell for offer, cell in zip(offers, cells, strict=True)
        }

    rows = [
        row("enough", (_standing(offer, decision) for offer in offers)),
        row("a month", (_money(o.monthly_cost, o, front[o.on_front]) for o in offers)),
        row(
            f"for {offers[0].unit}",
            (_money(o.cost_per_unit, o, _bounds(o)) for o in offers),
        ),
    ]
    if any(offer.least_margin_pct is not None for offer in offers):
        rows.append(row("enough if this may be lost", map(_least_margin, offers)))
    if decision.slo:
        judged = zip(*(offer.slo for offer in offers), strict=True)
        rows += [row(clause[0].objective, map(_slo_cell, clause)) for clause in judged]
    else:
        compared_by = zip(*(offer.worst for offer in offers), strict=True)
        rows += [
            row(changes[0].title, map(_change_cell, changes)) for changes in compared_by
        ]
    return table_of(rows, ("",), tuple(_remarks(index, decision)))


def _standing(offer: Offer, decision: Decision) -> Cell:
    words = {"enough": "proven", "not enough": "no, proven", "open": "open"}
    named = offer.tier == decision.tier
    return Cell(words[offer.standing], detail="chosen" if named else "", strong=named)


def _least_margin(offer: Offer) -> Cell:
    usual, tail = (
        ""
        if pct is None
        else units.format_quantity(pct, "%")
        if pct <= 100
        else "above 100 %"
        for pct in (offer.least_margin_pct, offer.least_p99_margin_pct)
    )
    return Cell(usual or _UNKNOWN, detail=tail and f"p99: {tail}")


def _bounds(offer: Offer) -> str:
    low, high = offer.cost_per_unit_low, offer.cost_per_unit_high
    return f"{low:,.2f} to {high:,.2f}" if low is not None and high is not None else ""


def _money(amount: float | None, offer: Offer, detail: str) -> Cell:
    return Cell(
        _UNKNOWN if amount is None else wording.money(amount, offer.currency), detail
    )


def _slo_cell(result: conclusions.ObjectiveResult) -> Cell:
    mean, _, interval = result.measured.partition(" (")
    return Cell(f"{result.word}: {mean}", detail=interval.removesuffix(")"))


def _change_cell(change: Change) -> Cell:
    interval, against = wording.interval(change), f"against {change.against}"
    detail = f"{interval}\n{against}" if interval else against
    return Cell(units.format_change(change.change_pct), detail=detail)


def _remarks(index: ReportIndex, decision: Decision) -> Iterator[str]:
    level = wording.confidence([(100 + decision.confidence_pct) / 2])
    bounds = f"with a lower and an upper bound, each of which holds at {level}"
    if decision.slo:
        yield f"SLO: {', '.join(decision.slo)}. Values are means {bounds}."
        loads = index.campaign.plan.workloads
        own = [load for load in loads if factors.subject(load) == decision.workload]
        if any(load.dataset.family.startswith("tpcc") for load in own):
            yield "Latencies of all types together, averages too, leave Delivery out."
    else:
        yield f"Each change is against the tier beside which this one comes off worst, {bounds}."
    if any(offer.on_front is not None for offer in decision.offers):
        yield prose.said("decision.front")
    if any(offer.least_margin_pct is not None for offer in decision.offers):
        yield "Lost: lower throughput or longer latency; that it is no more is proven."
    if any(offer.cost_per_unit is not None for offer in decision.offers):
        # Throughput is not that of the disks as bought, under the load they are bought for.
        real = all(profile.tier.disk.is_real for profile in index.profiles)
        why = [] if real else ["on emulated or otherwise limited disks"]
        why += [f"at scale {scale}"] if (scale := index.campaign.small_scale) else []
        if why:
            yield prose.said("decision.no_cost_to_plan_with", why=" and ".join(why))
    for word, step in (("dearer", decision.dearer), ("cheaper", decision.cheaper)):
        if step is not None and step.changes:
            yield _step(word, step, decision)
    profiles = [index.campaign.plan.profile(offer.tier) for offer in decision.offers]
    stated = [(profile.tier.price, profile.name) for profile in profiles]
    if decision.with_vms:
        stated += [(p.cluster.vm_price, p.cluster.vm or "machines") for p in profiles]
    read = (
        (wording.place(price), name) for price, name in dict.fromkeys(stated) if price
    )
    if priced := units.gathered(read):
        sources = "; ".join(
            f"{units.listed(names)} {where}" for where, names in priced.items()
        )
        yield f"List prices of the {wording.paid_for(decision)} of all nodes: {sources}."


def _step(word: str, step: conclusions.NeighbourTier, decision: Decision) -> str:
    cost = ""
    if step.cost_change and decision.currency:
        cost = f", {wording.money(abs(step.cost_change), decision.currency)} a month {word}"
    changes = units.listed(
        [f"{change.title} {change.words}" for change in step.changes]
    )
    side = "up" if word == "dearer" else "down"
    return f"One step {side}, {step.tier}{cost}: {changes}."


# ------------------------------------------------------------------ what it gives for its price


def price_charts(index: ReportIndex, decision: Decision) -> tuple[Charts, ...]:
    """Empty unless two tiers or more have prices of one list, and for a sweep's decision, whose
    figures are those of two loads."""
    if decision.workload not in {workload.name for workload in index.workloads}:
        return ()
    offers = [offer for offer in decision.offers if offer.monthly_cost is not None]
    if len(offers) < 2:
        return ()
    drawn = tuple(_drawn(index, decision.workload, offers))
    named = {offer.tier for offer in offers}
    tiers = tuple(tier for tier in index.tiers if tier in named)
    caption = prose.said("decision.prices") + (
        " Dashed: the SLO." if decision.slo else ""
    )
    return (Charts(drawn, tiers, caption),) if drawn else ()


def _measures(
    index: ReportIndex, workload: str, offers: Sequence[Offer]
) -> tuple[tuple[Measure, str], ...]:
    """Throughput, and the latency that the SLO is about, else the farthest out that all tiers have;
    each with its type of transactions."""
    metric = index.throughput_metric(workload)
    rate = next(
        each for each in prose.measures("charts.rates") if each.metric == metric
    )
    of_orders = index.latency_scope(workload) == NEW_ORDER
    average, p99 = prose.measures(
        "decision.new_order" if of_orders else "decision.latencies"
    )
    latency = (
        p99 if index.has_p99((offer.tier, workload) for offer in offers) else average
    )
    scope, slo = "", index.campaign.plan.workload(workload).slo
    if own := next(
        (clause for clause in slo if metrics.METRICS[clause.metric].unit == "s"), None
    ):
        title, scope = format_objective(own).partition(" <")[0], own.scope
        latency = Measure(own.metric, "latency", title, "ms", 1e3)
    return (rate, ""), (latency, scope)


def _drawn(
    index: ReportIndex, workload: str, offers: Sequence[Offer]
) -> Iterator[Chart]:
    slo, currency = index.campaign.plan.workload(workload).slo, offers[0].currency
    for shown, of_type in _measures(index, workload, offers):
        rows = [
            _price_row(offer, cell, shown.factor)
            for offer in offers
            if (cell := index.cell(offer.tier, workload, shown.metric, of_type))
            is not None
        ]
        limits = [
            {"value": clause.limit * shown.factor, "slo": format_objective(clause)}
            for clause in slo
            if clause.metric == shown.metric and of_type in ("", clause.scope)
        ]
        if len(rows) < 2:
            continue
        what, unit = shown.title, shown.unit
        axis = unit if unit == what else f"{what}, {unit}"
        heading = f"{what} against price"
        spec = charts.drawing(
            "price",
            index.tiers,
            heading=heading,
            what=what,
            value=axis,
            cost=f"cost of all nodes, {currency} a month",
            costs=[0, max(row["cost"] for row in rows) * 1.2],
            slo=charts.drawing("price.slo", value=axis) if limits else None,
        )
        title = f"{heading}: {axis} against cost a month, {currency}"
        tables = {"offers": rows, "slo": limits}
        yield charts.figure(f"{workload}-price-{shown.file}", title, spec, tables)


def _price_row(offer: Offer, cell: CellSummary, factor: float) -> dict[str, Any]:
    ends = wording.ends(cell)
    words = " to ".join(wording.value(cell, end) for end in ends)
    interval = "none: not repeated" if cell.ci_low is None else words
    return {
        "tier": offer.tier,
        "cost": offer.monthly_cost,
        "value": cell.mean * factor,
        "low": ends[0] * factor,
        "high": ends[1] * factor,
        "filled": 1.0 if offer.on_front else 0.0,
        "front": wording.FRONT[offer.on_front],
        "told": wording.value_with_unit(cell),
        "interval": interval,
        "price": wording.money(offer.monthly_cost or 0.0, offer.currency),
    }
