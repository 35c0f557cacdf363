"""An observation: a strip of hours for each candidate, a table, and sentences."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import pandas as pd

from orchestrator import units
from orchestrator.analysis.observed.calibration import unseen_share
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.report import blocks, wording
from orchestrator.report.blocks import Answer, Document, Paragraph, Part, Section, Stamp, Table
from orchestrator.report.charts import charts
from orchestrator.report.prose import said, words
from orchestrator.tier_catalog import prices

_FIRST = ("Disk", "A month", "Answer", "Seconds at the cap", "Cap")
_TEXTS = ("Disk", "Answer", "Cap", "Why not told")
_FEW = 5  # rows on the first screen, where none is worth measuring


def document(observed: Observed, command: str, misses: Sequence[str]) -> Document:
    """command: the line that measures what is worth it; misses: readings that failed, in words.
    The first screen has a sentence for each provider."""
    demands, worth = observed.demands, observed.worth
    first = [*chain.from_iterable(worth.values())] or observed.answers[:_FEW]
    every_s = round(max(each.resolution_s for each in demands), 2)
    following = Paragraph(said("observed.next")), blocks.Code(command)
    return Document(
        title=said("observed.title"),
        subtitle=said(
            "observed.read",
            begin=units.format_moment(min(each.begin_s[0] for each in demands)),
            end=units.format_moment(max(each.end_s[-1] for each in demands)),
            disks=units.counted(len(demands), "disk"),
            every=units.format_seconds(every_s),
            covered=_pct(min(each.coverage for each in demands)),
        ),
        status="observed",
        status_text=said("observed.status", tolerance=_pct(observed.tolerance)),
        stamps=tuple(_stamps(observed, misses)),
        answers=tuple(_answer(provider, of) for provider, of in worth.items()),
        verdicts=_table(first, _FIRST),
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
    return "–" if pd.isna(share) else f"{float(f'{100 * share:.2g}'):g} %"


def _stamps(observed: Observed, misses: Sequence[str]) -> Iterator[Stamp]:
    pieces = min((len(each.pieces) for each in observed.demands if not each.is_fine), default=0)
    known = [answer.purchase.tier.price for answer in observed.answers]
    blind = wording.sentence(observed.refused) if observed.refused else ""
    of_cap = words("observed.how")["inferred" if observed.inferred else "declared"]
    values = {"pieces": pieces, "how": of_cap, "share": _pct(observed.held_back)}
    for name, holds in {
        "blind": blind,
        "unseen": _pct(unseen_share(pieces)) if pieces and not blind else "",
        "capped": units.listed([f"{cap.name} {cap.base:,.0f}" for cap in observed.source]),
        "prices": prices.unlike([price for price in known if price]),
        "missed": "; ".join(misses),
    }.items():
        if holds:
            stamp = words(f"observed.{name}")
            yield Stamp(stamp["label"], stamp["text"].format(holds, **values), stamp["advice"])


def _told(answer: CandidateAnswer) -> dict[str, str]:
    """What tables say of a candidate, by their titles, and sentences too."""
    on, price = answer.on, answer.purchase.tier.price
    low, high = _pct(on.low), _pct(on.high)
    span = low if low == high else f"{low[:-2]} to {high}"
    return {
        "Disk": answer.purchase.name.replace(":", ": ").replace(",", ", "),  # to break the line
        "A month": wording.money(price.monthly, price.currency) if price else "–",
        "Answer": answer.word,
        "Seconds at the cap": f"at least {low}" if answer.at_least else span,
        "Cap": on.binding or "–",
        "Least credit": _pct(on.hours["credit"].min()),
        "Why not told": answer.why,
    }


def _table(answers: Sequence[CandidateAnswer], titles: Sequence[str] = ()) -> Table:
    remarks = said("observed.figures"), said("observed.never")
    return blocks.table_of(map(_told, answers), _TEXTS, remarks, titles)


def _answer(provider: str, worth: Sequence[CandidateAnswer]) -> Answer:
    carries = [_told(each) for each in worth if each.word == "would have carried"]
    name, cost = (carries[0]["Disk"], carries[0]["A month"]) if carries else (None, "")
    disks = units.listed([_told(each)["Disk"] for each in worth])
    text = " ".join([*map(_sentence, worth), said("observed.worth", disks=disks)])
    return Answer(provider, name, text, cost)


def _sentence(answer: CandidateAnswer) -> str:
    hours, empty_s, mostly, empty = answer.on.hours, answer.on.empty_s, "", ""
    busiest = hours.iloc[int(hours["upper"].argmax())]
    if busiest["upper"] > 0:
        hour = units.format_moment(busiest["begin_s"])
        mostly = said("observed.mostly", hour=hour, node=busiest["node"])
    if empty_s and empty_s[1]:
        seconds = dict.fromkeys(map(units.format_seconds, empty_s))
        empty = said("observed.empty", seconds=" to ".join(seconds))
    word = words("observed.phrases")[answer.word]
    return said("observed.sentence", told=_told(answer), mostly=mostly, empty=empty, word=word)


def _week(answers: Sequence[CandidateAnswer]) -> tuple[blocks.Block, ...]:
    """Of all candidates whose price is known."""
    drawn = [each for each in answers if each.purchase.tier.price]
    labels = {said("observed.label", told=_told(each)): each for each in drawn}
    tables = [_hours(each.on.hours, label, _told(each)) for label, each in labels.items()]
    rows = pd.concat(tables).to_dict("records") if tables else []
    spec = charts.drawing("week", names=list(labels))
    figure = charts.figure("week", said("observed.week"), spec, {"hours": rows})
    return blocks.Charts((figure,), (), wide=True), Paragraph(said("observed.strips"))


def _hours(hours: pd.DataFrame, label: str, told: Mapping[str, str]) -> pd.DataFrame:
    """The times are whole, because figures of charts have six digits."""
    from_ms = (1000 * hours["begin_s"]).round().astype(int)
    of = {"candidate": label, "word": told["Answer"], "all": told["Seconds at the cap"]}
    return hours.assign(**of, cap=told["Cap"], **{"from": from_ms}).drop(columns="begin_s")
