"""An observation: a strip of hours for each candidate, a table, and sentences."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from orchestrator import units
from orchestrator.analysis.observed.calibration import unseen_share
from orchestrator.analysis.observed.demand import HOUR_S
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.report import blocks, wording
from orchestrator.report.blocks import Answer, Document, Paragraph, Part, Section, Stamp, Table
from orchestrator.report.charts import charts
from orchestrator.report.prose import said, words
from orchestrator.tier_catalog import prices

_LEAST = 1e-4  # of the time: the lower end of the colours
_FIRST = ("Disk", "A month", "Answer", "Seconds at the cap", "Cap")
_FEW = 5  # rows on the first screen, where none is worth measuring


def document(
    observed: Observed, worth: Sequence[CandidateAnswer], command: str, misses: Sequence[str]
) -> Document:
    """worth: those worth measuring; command: the line that measures them; misses: readings that
    failed, in words. The first screen has a sentence for each provider."""
    own = units.gathered((answer.purchase.provider, answer) for answer in worth)
    demands = observed.demands
    read = said(
        "observed.read",
        begin=units.format_moment(min(each.begin_s[0] for each in demands)),
        end=units.format_moment(max(each.end_s[-1] for each in demands)),
        disks=units.counted(len(demands), "disk"),
        every=units.format_seconds(round(max(each.resolution_s for each in demands), 2)),
        covered=_pct(min(each.coverage for each in demands)),
    )
    following = Paragraph(said("observed.next")), blocks.Code(command)
    return Document(
        title="Which disks would have carried it",
        subtitle=read,
        status="observed",
        status_text=said("observed.status", tolerance=_pct(observed.tolerance)),
        stamps=tuple(_stamps(observed, misses)),
        answers=tuple(_answer(provider, of) for provider, of in own.items()),
        verdicts=_table(worth or observed.answers[:_FEW], _FIRST),
        changes=(),
        footnotes=(),
        sections=(
            Section("week", "Hour by hour", (Part("", _week(observed.answers)),)),
            Section("all", "Every disk", (Part("", (_table(observed.answers),)),)),
            Section("next", "What to measure next", (Part("", following),)),
        ),
        tiers=(),
    )


def _pct(share: float) -> str:
    """Two digits: bounds are no sharper."""
    return f"{float(f'{100 * share:.2g}'):g} %"


def _stamps(observed: Observed, misses: Sequence[str]) -> Iterator[Stamp]:
    coarse = [len(demand.pieces) for demand in observed.demands if not demand.is_fine]
    known = [answer.purchase.tier.price for answer in observed.answers]
    if observed.refused:
        yield _stamp("blind", why=wording.sentence(observed.refused))
    elif coarse:
        yield _stamp("unseen", pieces=min(coarse), share=_pct(unseen_share(min(coarse))))
    if observed.source:
        caps = units.listed([f"{cap.name} {cap.base:,.0f}" for cap in observed.source])
        how = "heap of readings at" if observed.inferred else "declared limits"
        yield _stamp("capped", share=_pct(observed.held_back), how=how, caps=caps)
    if mixed := prices.unlike([price for price in known if price]):
        yield _stamp("prices", mixed=mixed)
    if misses:
        yield _stamp("missed", misses="; ".join(misses))


def _stamp(name: str, **values: object) -> Stamp:
    stamp = words(f"observed.{name}")
    return Stamp(stamp["label"], stamp["text"].format(**values), stamp["advice"])


def _answer(provider: str, worth: Sequence[CandidateAnswer]) -> Answer:
    carries = next((each for each in worth if each.word == "would have carried"), None)
    text = " ".join(
        [*map(_sentence, worth), f"Worth measuring: {units.listed([*map(_name, worth)])}."]
    )
    name, cost = (_name(carries), _cost(carries)) if carries else (None, "")
    return Answer(provider, name, text, cost)


def _name(answer: CandidateAnswer) -> str:
    """With room to break the line."""
    return answer.purchase.name.replace(":", ": ").replace(",", ", ")


def _sentence(answer: CandidateAnswer) -> str:
    hours, empty_s = answer.on.hours, answer.on.empty_s
    busiest = hours.iloc[int(hours["upper"].argmax())]
    parts = [f"{_name(answer)} ({_cost(answer)}) would have been at its cap in {_span(answer)}"]
    if busiest["upper"] > 0:
        hour = units.format_moment(busiest["begin_s"])
        parts.append(f"most of it in the hour of {hour} on {busiest['node']}")
    if empty_s and empty_s[1]:
        seconds = dict.fromkeys(map(units.format_seconds, empty_s))
        parts.append(f"its credit empty for {' to '.join(seconds)}")
    return f"{', '.join(parts)}: {words('observed.phrases')[answer.word]}."


def _span(answer: CandidateAnswer) -> str:
    low, high = _pct(answer.on.low), _pct(answer.on.high)
    if answer.at_least:
        return f"at least {low} of the seconds"
    return f"{low if low == high else f'{low[:-2]} to {high}'} of the seconds"


def _table(answers: Sequence[CandidateAnswer], titles: Sequence[str] = ()) -> Table:
    rows = [
        {
            "Disk": _name(answer),
            "A month": _cost(answer),
            "Answer": answer.word,
            "Seconds at the cap": _span(answer).removesuffix(" of the seconds"),
            "Cap": answer.on.binding or "–",
            "Least credit": _left(answer.on.hours["credit"].min()),
            "Why not told": answer.why,
        }
        for answer in answers
    ]
    texts = ("Disk", "Answer", "Cap", "Why not told")
    remarks = said("observed.figures"), said("observed.never")
    return blocks.table_of(rows, texts, remarks, titles)


def _left(credit: float) -> str:
    return "–" if pd.isna(credit) else _pct(credit)


def _cost(answer: CandidateAnswer) -> str:
    """Of a month; "–" if it is not known."""
    price = answer.purchase.tier.price
    return wording.money(price.monthly, price.currency) if price else "–"


def _week(answers: Sequence[CandidateAnswer]) -> tuple[blocks.Block, ...]:
    """Of all candidates whose price is known."""
    drawn = [each for each in answers if each.purchase.tier.price]
    labels = {f"{_name(each)} · {_cost(each)} · {each.word}": each for each in drawn}
    rows = [row for label, answer in labels.items() for row in _hours(answer, label)]
    spec = charts.drawing("week", names=list(labels), least=_LEAST)
    figure = charts.figure("week", said("observed.week"), spec, {"hours": rows})
    return blocks.Charts((figure,), (), wide=True), Paragraph(said("observed.strips"))


def _hours(answer: CandidateAnswer, label: str) -> Iterator[dict[str, Any]]:
    for begin_s, upper, credit, node, device in answer.on.hours.itertuples(index=False):
        yield {
            "candidate": label,
            "from": round(begin_s * 1000),  # whole: figures of charts have six digits
            "to": round((begin_s + HOUR_S) * 1000),
            "upper": max(_LEAST, upper),
            "credit": None if pd.isna(credit) else credit,
            "open": "╱" if answer.word == "cannot be told" else "",
            "shown": f"at most {_pct(upper)} of the hour",
            "left": _left(credit),
            "all": _span(answer),
            "node": f"{node} {device}",
            "cap": answer.on.binding or "none",
        }
