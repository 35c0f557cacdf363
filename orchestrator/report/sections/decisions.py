"""What each tier costs and gives, per workload: the table that a decision was taken from, and the
charts of what it gives for its price."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.to_buy import price_scope
from orchestrator.analysis.answers.untested import why_costs_only_rank
from orchestrator.analysis.conclusions import (
    Change,
    Decision,
    ObjectiveResult,
    Offer,
)
from orchestrator.design import varied_workloads
from orchestrator.design.tpcc_data import is_tpcc_derived
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import priced_nodes
from orchestrator.report.sections.price_charts import price_charts
from orchestrator.texts import prose
from orchestrator.tier import Price

_UNKNOWN = "–"
_STANDINGS = {"enough": "proven", "not enough": "no, proven", "open": "open"}


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where tiers were not compared."""
    parts: list[Part] = []
    for decision in index.verdict.decisions:
        # A sweep has no offers: its section compares tiers load by load.
        if decision.offers:
            shown = table(index, decision)
            drawn = price_charts(index, decision)
            parts.append(Part(decision.workload, (shown, *drawn)))
    if not parts:
        return ()
    return (Section("decision", "What each tier costs and gives", tuple(parts)),)


# ------------------------------------------------------------------ the table


def table(index: ReportIndex, decision: Decision) -> Table:
    """The table of a decision that compared tiers: a column for each tier, from cheap to dear."""
    offers = decision.offers
    rows = _standing_rows(index, decision)
    if any(offer.least_margin_pct is not None for offer in offers):
        margins = [_least_margin(offer) for offer in offers]
        rows.append(_row("worst proven slowdown", offers, margins))
    # The SLO's clauses alone decide if there is one, and the margin plays no part.
    if decision.slo:
        rows += _slo_rows(offers)
    else:
        rows += _change_rows(offers)
    return table_of(rows, ("",), tuple(_remarks(index, decision)))


def _standing_rows(index: ReportIndex, decision: Decision) -> list[Row]:
    """Whether each tier is enough, and what it costs."""
    offers = decision.offers
    standings = [_standing(offer, decision) for offer in offers]
    monthly_costs = [_monthly_cost(index, offer, decision) for offer in offers]
    rows: list[Row] = []
    rows.append(_row("enough", offers, standings))
    nodes = priced_nodes.nodes_in_words(index, decision)
    rows.append(_row(f"a month, {nodes}", offers, monthly_costs))
    rows.append(_unit_cost_row(offers))
    return rows


def _unit_cost_row(offers: Sequence[Offer]) -> Row:
    costs = [_unit_cost(offer) for offer in offers]
    return _row(f"for {offers[0].unit}", offers, costs)


def _row(
    title: str, offers: Sequence[Offer], cells: Sequence[Cell]
) -> dict[str, Cell | str]:
    """The title, then a cell below the name of each tier."""
    row: dict[str, Cell | str] = {"": title}
    for offer, cell in zip(offers, cells, strict=True):
        row[offer.tier] = cell
    return row


def _slo_rows(offers: Sequence[Offer]) -> Iterator[Row]:
    """A row for each clause, which all offers have in one order."""
    for place, clause in enumerate(offers[0].slo):
        cells = [_slo_cell(offer.slo[place]) for offer in offers]
        yield _row(clause.objective, offers, cells)


def _change_rows(offers: Sequence[Offer]) -> Iterator[Row]:
    """A row for each criterion, which all offers have in one order."""
    for place, change in enumerate(offers[0].worst):
        cells = [_change_cell(offer.worst[place]) for offer in offers]
        yield _row(change.title, offers, cells)


def _standing(offer: Offer, decision: Decision) -> Cell:
    is_chosen = offer.tier == decision.tier
    detail = ""
    if is_chosen:
        detail = "chosen"
    return Cell(_STANDINGS[offer.standing], detail=detail, strong=is_chosen)


def _monthly_cost(index: ReportIndex, offer: Offer, decision: Decision) -> Cell:
    """The monthly cost, with its place on the Pareto front if that is known, and whether it is
    verified."""
    details: list[str] = []
    # The words "not proven" below each price would say nothing if no place is known.
    if any(other.on_front is not None for other in decision.offers):
        details.append(wording.FRONT[offer.on_front])
    if priced_nodes.is_unverified(index, offer.tier):
        details.append(phrases.NOT_VERIFIED)
    return _money(offer.monthly_cost, offer, ", ".join(details))


def _unit_cost(offer: Offer) -> Cell:
    low = offer.cost_per_unit_low
    high = offer.cost_per_unit_high
    bounds = ""
    # One run of a tier has no interval, and so no bounds.
    if low is not None and high is not None:
        bounds = f"{low:,.2f} to {high:,.2f}"
    return _money(offer.cost_per_unit, offer, bounds)


def _money(amount: float | None, offer: Offer, detail: str) -> Cell:
    if amount is None:
        return Cell(_UNKNOWN, detail)
    return Cell(wording.money(amount, offer.currency), detail)


def _least_margin(offer: Offer) -> Cell:
    usual = _margin_in_words(offer.least_margin_pct)
    # The p99 is held to a margin of its own, so its least margin is another figure.
    tail = _margin_in_words(offer.least_p99_margin_pct)
    if not tail:
        return Cell(usual or _UNKNOWN)
    return Cell(usual or _UNKNOWN, detail=f"p99: {tail}")


def _margin_in_words(margin_pct: float | None) -> str:
    """Above 100 %, where a latency may be twice as long, no digit says anything more."""
    if margin_pct is None:
        return ""
    if margin_pct <= 100:
        return units.format_quantity(margin_pct, "%")
    return "above 100 %"


def _slo_cell(result: ObjectiveResult) -> Cell:
    return Cell(f"{result.word}: {result.mean}", detail=result.interval)


def _change_cell(change: Change) -> Cell:
    text = units.format_change(change.change_pct)
    # The strongest rival may be another one for each tier, so each cell names it.
    against = f"against {change.against}"
    interval = wording.interval(change)
    if not interval:
        return Cell(text, detail=against)
    return Cell(text, detail=f"{interval}\n{against}")


# ------------------------------------------------------------------ below the table


def _remarks(index: ReportIndex, decision: Decision) -> Iterator[str]:
    """How to read the decision, as far as this decision needs it. Then the steps in price, and the
    sources."""
    offers = decision.offers
    yield from _about_values(index, decision)
    if any(offer.on_front is not None for offer in offers):
        yield (
            "Best at its price: every tier that costs no more is proven worse in something. "
            "Beaten: a tier that costs no more is proven within the margin in everything. In one "
            "thing it is cheaper or better."
        )
    if any(offer.least_margin_pct is not None for offer in offers):
        yield (
            "Worst proven slowdown: throughput is at most so much lower than the best, or latency "
            "so much longer."
        )
    # Throughput on emulated disks or a small scale is not that of the disks as bought.
    why = why_costs_only_rank(index.campaign)
    if why and any(offer.cost_per_unit is not None for offer in offers):
        yield (
            f"Cost per throughput uses the throughput measured here, {' and '.join(why)}. It "
            "ranks tiers. Do not plan with it."
        )
    if decision.dearer is not None and decision.dearer.changes:
        yield phrases.step_in_words(decision.dearer, "dearer", decision.currency)
    if decision.cheaper is not None and decision.cheaper.changes:
        yield phrases.step_in_words(decision.cheaper, "cheaper", decision.currency)
    yield from _sources_of_prices(index, decision)


def _about_values(index: ReportIndex, decision: Decision) -> Iterator[str]:
    # Both ends of the two-sided interval are told as one-sided bounds.
    level = wording.confidence([(100 + decision.confidence_pct) / 2])
    bounds = f"with a lower and an upper bound, each at {level}"
    if not decision.slo:
        yield f"Each change compares a tier with its strongest rival, {bounds}."
        return
    yield f"SLO: {', '.join(decision.slo)}. Values are means {bounds}."
    # Delivery is 4 % of the mix and ten times slower, so it would be the p99.
    for load in index.campaign.plan.workloads:
        is_decided_on = varied_workloads.decision_subject(load) == decision.workload
        if is_decided_on and is_tpcc_derived(load.dataset):
            yield "Latencies of all types together, averages too, leave Delivery out."
            return


def _sources_of_prices(index: ReportIndex, decision: Decision) -> Iterator[str]:
    """Which list the price of each tier is from, and of each size of machine that counts."""
    names_by_list = _names_by_list(index, decision)
    if not names_by_list:
        return
    sources: list[str] = []
    for place, names in names_by_list.items():
        sources.append(f"{prose.listed(names)} {place}")
    scope = price_scope(decision)
    nodes = priced_nodes.nodes_in_words(index, decision)
    yield f"List prices of the {scope} of {nodes}: {'; '.join(sources)}."


def _names_by_list(index: ReportIndex, decision: Decision) -> dict[str, list[str]]:
    names_by_list: dict[str, list[str]] = {}
    # Several tiers may need one type of machine, which is named once.
    for name, price in dict.fromkeys(_prices(index, decision)):
        names_by_list.setdefault(phrases.where_read(price), []).append(name)
    return names_by_list


def _prices(index: ReportIndex, decision: Decision) -> Iterator[tuple[str, Price]]:
    """What has which price: disks from cheap to dear, then the machines that they need."""
    profiles = [index.campaign.plan.profile(offer.tier) for offer in decision.offers]
    for profile in profiles:
        if profile.tier.price:
            yield profile.name, profile.tier.price
    # Machines count only where tiers are on unlike ones: else they cost the same for each.
    if not decision.with_vms:
        return
    for profile in profiles:
        if profile.cluster.vm_price:
            yield profile.cluster.vm or "machines", profile.cluster.vm_price
