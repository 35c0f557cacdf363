"""A card for each workload: what is enough for it, in at most three lines, and a picture of all
tiers on one axis. What the answer's brief says already is not said again."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from orchestrator import units
from orchestrator.analysis.answers import phrases, speeds
from orchestrator.analysis.answers.record import PartAnswer, SpeedComparison
from orchestrator.analysis.conclusions import (
    CellSummary,
    DecidingFigure,
    Decision,
    Offer,
)
from orchestrator.design import disk_matrix
from orchestrator.design.slo import format_objective
from orchestrator.metrics import NEW_ORDER
from orchestrator.model import Objective, Workload
from orchestrator.report import wording
from orchestrator.report.blocks import Chart, Measure, ShownAnswer
from orchestrator.report.charts import charts
from orchestrator.report.charts.rates import drawn_rate
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import factors

# Cells hold seconds, and a latency is read in milliseconds: hence the factor.
_LATENCIES = {
    "latency_avg_s": Measure("latency_avg_s", "tiers", "average latency", "ms", 1e3),
    "latency_p99_s": Measure("latency_p99_s", "tiers", "p99 latency", "ms", 1e3),
}
# How far the axis reaches beyond the highest figure, so that it is not cut.
_ROOM = 1.08


def answers(index: ReportIndex, *, with_pictures: bool) -> tuple[ShownAnswer, ...]:
    """How far each tier is enough, where that was asked, unless the brief says it; then cards."""
    what = index.answer.brief.what
    shown: list[ShownAnswer] = []
    for answer in factors.answers(index):
        # The brief's line has no full stop, so the text would not be found with one.
        if answer.text.removesuffix(".") not in what:
            shown.append(answer)
    for part in index.answer.parts:
        # A terminal has no pictures, so the intervals then stand in the card's lines.
        drawn: Chart | None = None
        if with_pictures:
            drawn = picture(index, part.subject)
        card = _card(index, part, shows_intervals=drawn is not None)
        shown.append(replace(card, picture=drawn))
    return tuple(shown)


def _card(
    index: ReportIndex, part: PartAnswer, *, shows_intervals: bool
) -> ShownAnswer:
    """`shows_intervals`: its picture does, so that its lines need not."""
    answer = index.answer
    price = ""
    if part.purchase is not None:
        price = phrases.monthly(part.purchase.price)
    headline = phrases.choice(answer, part)
    return ShownAnswer(
        workload=part.subject,
        tier=part.tier or "",
        text=" ".join(part.why),
        price=price,
        headline=headline,
        lines=tuple(_lines(index, part, shows_intervals=shows_intervals)),
    )


# ------------------------------------------------------------------ its lines


def _ceilings(index: ReportIndex, name: str) -> str:
    """The ceilings of a disk matrix; "" for any other workload, for which its libraries are not
    loaded."""
    for workload in index.workloads:
        if workload.name == name and disk_matrix.planned(workload.options):
            from orchestrator.analysis.answers import disk_ceilings

            return disk_ceilings.in_short(index.asked, name)
    return ""


def _lines(
    index: ReportIndex, part: PartAnswer, *, shows_intervals: bool
) -> Iterator[str]:
    """The claim, with what would settle it, and how many times as fast tiers are; of a disk matrix
    what each disk gives at most."""
    ceilings = _ceilings(index, part.subject)
    # No tier was chosen and none is faster: of disks alone the ceilings are the whole answer.
    if ceilings:
        yield ceilings
        return
    if index.campaign.plan.repetitions == 1:
        # One run of each proves no difference, so the values themselves are all there is.
        once = _measured_once(index, part.subject)
        if once:
            yield once
            return
    claim = _claim(index, part)
    if claim:
        yield index.opening(claim)
    compared = tuple(_compared(index, part.subject))
    if shows_intervals:
        compared = tuple(speeds.in_short(_comparisons(index, part.subject)))
    if compared:
        yield index.opening("; ".join(compared))


def _claim(index: ReportIndex, part: PartAnswer) -> str:
    """What the part claims, without what the brief says; empty if the brief says all."""
    # The brief stands right above the card, where the same words would be read twice.
    brief_text = _brief_text(index)
    texts: list[str] = []
    # It is said once, above all cards, that no tier meets the SLO.
    if index.answer.sureness.word != "SLO missed":
        for claim in part.claims:
            if claim.lower() not in brief_text:
                texts.append(claim)
    takes = _settled_by(index, part.subject)
    if takes and takes.lower() not in brief_text:
        # Beside a tier that is named, this is about cheaper ones, which nothing else names here.
        if part.cheaper_open:
            would_do = f"whether {units.listed(part.cheaper_open)} would do is open"
            takes = f"{would_do}: {takes}"
        texts.append(takes)
    return "; ".join(texts)


def _brief_text(index: ReportIndex) -> str:
    """All that the answer's brief says, in small letters: its sentences begin with capitals."""
    brief = index.answer.brief
    texts = [brief.what]
    for _, text in brief.lines:
        texts.append(text)
    return " ".join(texts).lower()


def _settled_by(index: ReportIndex, subject: str) -> str:
    for decision in index.verdict.decisions:
        if decision.workload == subject:
            return decision.settled_by
    return ""


def _compared(index: ReportIndex, workload: str) -> Iterator[str]:
    for comparison in _comparisons(index, workload):
        # Why nothing is proven is in the tables.
        yield speeds.claim_in_words(comparison)


def _measured_once(index: ReportIndex, workload: str) -> str:
    """`One run each: premium 212, ultra 1,330 transactions/s.`"""
    metric = index.throughput_metric(workload)
    texts: list[str] = []
    last = ""
    for tier in index.tiers:
        cell = index.cell(tier, workload, metric)
        if cell is not None:
            texts.append(f"{tier} {wording.value(cell)}")
            last = f"{tier} {wording.value_with_unit(cell)}"
    if not texts:
        return ""
    # What is counted stands once, behind the last.
    texts[-1] = last
    # "Each" would promise a second tier.
    if len(index.tiers) == 1:
        return f"One run: {texts[0]}."
    return f"One run each: {', '.join(texts)}."


def _comparisons(index: ReportIndex, workload: str) -> list[SpeedComparison]:
    workload_comparisons: list[SpeedComparison] = []
    for comparison in index.answer.comparisons:
        if comparison.workload == workload:
            workload_comparisons.append(comparison)
    return workload_comparisons


# ------------------------------------------------------------------ its picture


def picture(index: ReportIndex, workload: str) -> Chart | None:
    """Every tier a dot with its 95 % interval. None for a sweep, whose figures are those of several
    loads, and where fewer than two tiers have the figure and no SLO stands beside it."""
    load = _load(index, workload)
    if load is not None and index.answer.kind == "disks alone":
        # The code that reads a matrix takes long to load.
        from orchestrator.report.sections import disk_picture

        cells = disk_matrix.planned(load.options)
        return disk_picture.picture(index, load, cells)
    # A sweep is decided under its own name, which no single load has. It ends below without a
    # chart.
    decision = _decision(index, workload)
    if load is None or decision is None:
        return None
    measure = _measure(index, load, decision)
    rows = list(_rows(index, load, decision, measure))
    # The margin below is taken from the best figure, so there must be one.
    if not rows:
        return None
    enough = _enough(index, load, decision, measure, rows)
    is_beside_slo = bool(decision.slo) and enough is not None
    # One dot alone is compared with nothing.
    if len(rows) < 2 and not is_beside_slo:
        return None
    axis = _axis(index, load, measure)
    return _drawn(f"{workload}-tiers", axis, index.tiers, rows, enough)


def _drawn(
    name: str,
    axis: str,
    tiers: tuple[str, ...],
    rows: list[dict[str, Any]],
    enough: dict[str, Any] | None,
) -> Chart:
    """The tiers of `rows`, with the stretch in which one is enough."""
    reach = _highest(rows)
    shaded: list[dict[str, Any]] = []
    remark = ""
    if enough:
        # What is asked for must be in sight, also where no tier comes up to it.
        reach = max(reach, enough["to"])
        shaded.append(enough)
        remark = enough["words"]
    labels = [row["label"] for row in rows]
    # The axis begins at 0, so that twice the figure is twice as far.
    spec = charts.drawing(
        "tiers", tiers, value=axis, labels=labels, reach=[0, reach * _ROOM]
    )
    title = f"{axis} of each tier, with its 95 % interval"
    tables = {"tiers": rows, "enough": shaded}
    return charts.figure(name, title, spec, tables, remark)


def _highest(rows: list[dict[str, Any]]) -> float:
    """The upper end of the highest interval."""
    highest = 0.0
    for row in rows:
        highest = max(highest, row["high"])
    return highest


def _load(index: ReportIndex, name: str) -> Workload | None:
    for load in index.workloads:
        if load.name == name:
            return load
    return None


def _decision(index: ReportIndex, workload: str) -> Decision | None:
    for decision in index.verdict.decisions:
        if decision.workload == workload:
            return decision
    return None


def _measure(index: ReportIndex, load: Workload, decision: Decision) -> Measure:
    """What decided: a latency where the criterion is one, else the rate."""
    by = decision.decided_by
    if by is not None and not by.is_clause and by.metric in _LATENCIES:
        return _LATENCIES[by.metric]
    # NOPM could not be held against a limit in transactions/s.
    if _is_asked_in_transactions(load):
        return drawn_rate("throughput_per_s")
    # A limit is drawn only beside the figure that it limits: of the same type of transactions.
    for clause in load.slo:
        clause_figure = DecidingFigure(clause.metric, clause.scope, is_clause=True)
        if by != clause_figure or clause.metric not in _LATENCIES:
            continue
        if _stands_for(index, load, clause):
            return _LATENCIES[clause.metric]
    return drawn_rate(index.throughput_metric(load.name))


def _is_asked_in_transactions(load: Workload) -> bool:
    """Whether its SLO limits their rate, though it may be counted in something else, as NOPM."""
    asked_for = {(clause.metric, clause.scope) for clause in load.slo}
    return ("throughput_per_s", "all") in asked_for


def _stands_for(index: ReportIndex, load: Workload, clause: Objective) -> bool:
    """Whether the clause is about the transactions whose latency stands for the workload."""
    # The limit of another type, drawn beside New-Order's latency, would seem met or missed by it.
    return clause.scope == index.latency_scope(load.name)


def _axis(index: ReportIndex, load: Workload, measure: Measure) -> str:
    """`NOPM`, `transactions/s`, `New-Order p99 latency, ms`."""
    # A rate's unit names it already: `NOPM, NOPM` would say it twice.
    if measure.metric not in _LATENCIES:
        return measure.unit
    title = measure.title
    if index.latency_scope(load.name) == NEW_ORDER:
        title = f"New-Order {title}"
    return f"{title}, {measure.unit}"


def _rows(
    index: ReportIndex, load: Workload, decision: Decision, measure: Measure
) -> Iterator[dict[str, Any]]:
    """The rows of the chart from cheap to dear, as the decision offers the tiers."""
    # A tier without figures has no dot, because zero would be read as measured.
    for offer in decision.offers:
        cell = index.cell(offer.tier, load.name, measure.metric)
        if cell is not None:
            yield _row(offer, cell, measure)


def _row(offer: Offer, cell: CellSummary, measure: Measure) -> dict[str, Any]:
    low, high = wording.ends(cell)
    label = offer.tier
    price = "not known"
    if offer.monthly_cost is not None:
        price = wording.money(offer.monthly_cost, offer.currency)
        label = f"{offer.tier}, {price}"
    row: dict[str, Any] = {"tier": offer.tier, "label": label, "price": price}
    row["value"] = cell.mean * measure.factor
    row["low"] = low * measure.factor
    row["high"] = high * measure.factor
    # The words choose their own unit, so they take the figure without the factor.
    row["told"] = wording.value_with_unit(cell)
    return row


def _enough(
    index: ReportIndex,
    load: Workload,
    decision: Decision,
    measure: Measure,
    rows: list[dict[str, Any]],
) -> dict[str, Any] | None:
    """The stretch in which a tier is enough: what the SLO asks for, or the margin of the best."""
    if decision.slo:
        return _asked_for(load, measure, _highest(rows))
    values: list[float] = []
    for row in rows:
        values.append(row["value"])
    margin_pct = _margin_pct(index, measure)
    words = f"Shaded: within {units.format_quantity(margin_pct, '%')} of the best."
    if measure.metric in _LATENCIES:
        # The best latency is the lowest, so the margin reaches upwards.
        best = min(values)
        return {"from": best, "to": best * (1 + margin_pct / 100), "words": words}
    # The best rate is the highest, so the margin reaches downwards.
    best = max(values)
    return {"from": best * (1 - margin_pct / 100), "to": best, "words": words}


def _margin_pct(index: ReportIndex, measure: Measure) -> float:
    plan = index.campaign.plan
    # A p99 varies more than a mean, so it has a wider margin.
    if measure.metric == "latency_p99_s":
        return plan.p99_margin_pct
    return plan.margin_pct


def _asked_for(
    load: Workload, measure: Measure, highest: float
) -> dict[str, Any] | None:
    """The line of the SLO in the chart.

    None if the SLO limits something else than what is drawn.
    """
    for clause in load.slo:
        if clause.metric != measure.metric:
            continue
        limit = clause.limit * measure.factor
        words = f"Shaded: {format_objective(clause)}."
        # Every latency below the limit is enough, down to none at all.
        if measure.metric in _LATENCIES:
            return {"from": 0.0, "to": limit, "words": words}
        # It is seen too where no tier comes up to it.
        return {"from": limit, "to": max(highest, limit * _ROOM), "words": words}
    return None
