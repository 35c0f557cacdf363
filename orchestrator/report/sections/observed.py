"""An observation: a strip of hours for each candidate, a table, and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import units
from orchestrator.analysis.observed.answer import CandidateAnswer, Observed
from orchestrator.analysis.observed.demand import HOUR_S
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Answer,
    Block,
    Charts,
    Code,
    Document,
    Paragraph,
    Part,
    Section,
    Stamp,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.prose import said
from orchestrator.tier_catalog import prices

_LEAST = 1e-4  # of the time: the lower end of the colours
_FIRST = ("Disk", "A month", "Answer", "Seconds at the cap", "Cap")
_FEW = 5  # rows on the first screen, where none is worth measuring
_PHRASES = {
    "would have carried": "would have carried it",
    "would not": "would not have carried it",
    "cannot be told": "cannot be told",
}


@dataclass(frozen=True)
class ObservedPage:
    """All that the page is of. worth: the two of each provider that are worth measuring; command:
    the line that measures them; misses: readings that failed, in words."""

    observed: Observed
    answers: Sequence[CandidateAnswer]
    worth: Sequence[CandidateAnswer]
    command: str
    misses: Sequence[str] = ()


def document(told: ObservedPage) -> Document:
    tolerance = _pct(told.observed.tolerance)
    providers = dict.fromkeys(answer.purchase.provider for answer in told.worth)
    return Document(
        title="Which disks would have carried it",
        subtitle=_read(told.observed),
        status="observed",
        status_text=f"Nothing was loaded, and no such disk was touched. Tolerance: {tolerance}.",
        stamps=tuple(_stamps(told)),
        answers=tuple(_answer(told, provider) for provider in providers),
        verdicts=_table(told.worth or told.answers[:_FEW], _FIRST),
        changes=(),
        footnotes=(),
        sections=(_week(told), _all(told), _next(told)),
        tiers=(),
    )


def _pct(share: float) -> str:
    """Two digits: bounds are no sharper."""
    return f"{float(f'{100 * share:.2g}'):g} %"


def _read(observed: Observed) -> str:
    demands = [each.demand for each in observed.histories]
    begin, end = min(d.begin_s[0] for d in demands), max(d.end_s[-1] for d in demands)
    every = units.format_seconds(round(max(d.resolution_s for d in demands), 2))
    covered = min(d.coverage for d in demands)
    return (
        f"{units.format_moment(begin)} to {units.format_moment(end)}, "
        f"{units.counted(len(demands), 'disk')}, counters every {every}, "
        f"{_pct(covered)} of the time"
    )


def _stamps(told: ObservedPage) -> Iterator[Stamp]:
    observed = told.observed
    coarse = [each for each in observed.histories if not each.demand.is_fine]
    if observed.refused:
        text = f"{wording.sentence('; '.join(observed.refused))}: only bounds that need no seconds."
        yield Stamp("seconds unknown", text, "Read every second, or pieces of it (--calibrate).")
    elif coarse:
        pieces = min(len(each.demand.pieces) for each in coarse)
        text = said("observed.unseen", pieces=pieces, share=_pct(observed.unseen))
        yield Stamp("shape from pieces", text, "Reading every second for the whole time shows all.")
    if observed.source.seconds:
        caps = units.listed([f"{cap.name} {cap.base:,.0f}" for cap in observed.source.caps])
        how = "heap of readings at" if observed.source.inferred else "declared limits"
        seconds = units.format_seconds(observed.source.seconds)
        text = said("observed.capped", seconds=seconds, how=how, caps=caps)
        yield Stamp("held back", text, "Name its own disk with --source, if that is not known.")
    known = [answer.purchase.chosen.tier.price for answer in told.answers]
    if mixed := prices.unlike([price for price in known if price]):
        text = f"{mixed}: from cheap to dear holds within a provider."
        yield Stamp("prices of several lists", text, "--region keeps to the prices of one.")
    if told.misses:
        yield Stamp("readings missed", f"{'; '.join(told.misses)}.", "They are gaps.")


def _answer(told: ObservedPage, provider: str) -> Answer:
    own = [answer for answer in told.worth if answer.purchase.provider == provider]
    carries = next((each for each in own if each.word == "would have carried"), None)
    text = " ".join(f"{_sentence(answer)}." for answer in own)
    text += f" Worth measuring: {units.listed([answer.purchase.name for answer in own])}."
    price = _cost(carries) if carries else ""
    return Answer(provider, carries.purchase.name if carries else None, text, price)


def _sentence(answer: CandidateAnswer) -> str:
    disk, cost = answer.worst, f", {_cost(answer)} a disk," if _cost(answer) else ""
    busiest = max(disk.hours, key=lambda hour: hour.upper)
    parts = [f"{answer.purchase.name}{cost} would have been at its cap in {_span(answer)}"]
    if busiest.upper > 0:
        parts.append(f"most of it in the hour of {units.format_moment(busiest.begin_s)}")
        parts[-1] += f" on {disk.node}"
    if disk.empty_s and disk.empty_s.high:
        ends = disk.empty_s.low, disk.empty_s.high
        seconds = map(units.format_seconds, ends)
        parts.append(f"its credit empty for {' to '.join(dict.fromkeys(seconds))}")
    return f"{', '.join(parts)}: {_PHRASES[answer.word]}"


def _span(answer: CandidateAnswer) -> str:
    low, high = _pct(answer.low), _pct(answer.high)
    if answer.at_least:
        return f"at least {low} of the seconds"
    return f"{low if low == high else f'{low[:-2]} to {high}'} of the seconds"


def _table(answers: Sequence[CandidateAnswer], titles: Sequence[str] = ()) -> Table:
    rows = []
    for answer in answers:
        disk = answer.worst
        rows.append(
            {
                "Disk": answer.purchase.name,
                "A month": _cost(answer) or "–",
                "Answer": answer.word,
                "Seconds at the cap": _span(answer).removesuffix(" of the seconds"),
                "Cap": disk.binding or "–",
                "Least credit": "–" if disk.least_credit is None else _pct(disk.least_credit),
                "Why not told": answer.why,
            }
        )
    words = ("Disk", "Answer", "Cap", "Why not told")
    return table_of(rows, words, (said("observed.figures"), said("observed.never")), titles)


def _week(told: ObservedPage) -> Section:
    drawn = [answer for answer in told.answers if answer.purchase.chosen.tier.price]
    blocks: list[Block] = [Paragraph("Of no candidate the price is known.")]
    if drawn:
        rows = [row for answer in drawn for row in _hours(answer)]
        names = [_label(answer) for answer in drawn]
        spec = charts.drawing("week", names=names, least=_LEAST)
        title = "Share of each hour at the cap, at most, of every candidate"
        blocks = [Charts((charts.figure("week", title, spec, {"hours": rows}),), (), wide=True)]
        blocks.append(Paragraph(said("observed.strips")))
    return Section("week", "Hour by hour", (Part("", tuple(blocks)),))


def _label(answer: CandidateAnswer) -> str:
    return f"{answer.purchase.name} · {_cost(answer)} · {answer.word}"


def _cost(answer: CandidateAnswer) -> str:
    """Of a month; "" if it is not known."""
    price = answer.purchase.chosen.tier.price
    return wording.money(price.monthly, price.currency) if price else ""


def _hours(answer: CandidateAnswer) -> Iterator[dict[str, Any]]:
    """Of the disk of the node that is worst in each hour."""
    worst: dict[float, Any] = {}
    for disk in answer.disks:
        for hour in disk.hours:
            if hour.begin_s not in worst or hour.upper > worst[hour.begin_s][0].upper:
                worst[hour.begin_s] = (hour, disk)
    for begin_s, (hour, disk) in sorted(worst.items()):
        yield {
            "candidate": _label(answer),
            "from": round(begin_s * 1000),  # whole: figures of charts have six digits
            "to": round((begin_s + HOUR_S) * 1000),
            "upper": max(_LEAST, hour.upper),
            "credit": hour.credit,
            "open": "╱" if answer.word == "cannot be told" else "",
            "shown": f"at most {_pct(hour.upper)} of the hour",
            "left": "none" if hour.credit is None else _pct(hour.credit),
            "all": _span(answer),
            "node": f"{disk.node} {disk.device}",
            "cap": disk.binding or "none",
        }


def _all(told: ObservedPage) -> Section:
    return Section("all", "Every disk of the catalog", (Part("", (_table(told.answers),)),))


def _next(told: ObservedPage) -> Section:
    blocks: list[Block] = [Paragraph(said("observed.next"))]
    if told.command:
        blocks.append(Code(told.command))
    return Section("next", "What to measure next", (Part("", tuple(blocks)),))
