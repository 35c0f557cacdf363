"""An observation: a strip of hours for each candidate, a table, and sentences."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import pandas as pd

from orchestrator import units
from orchestrator.analysis.observed.demand import unseen_share
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.report import blocks, wording
from orchestrator.report.blocks import (
    Document,
    Paragraph,
    Part,
    Section,
    ShownAnswer,
    Stamp,
    Table,
)
from orchestrator.report.charts import charts
from orchestrator.report.prose import said, words
from orchestrator.tier_catalog import prices

_SHARES = ("Where users wait", "Where work queues", "30 % less to 10 % more")
_FIRST = ("Disk", "A month", "Answer", *_SHARES, "Cap")
_TEXTS = ("Disk", "Answer", "Cap", "Remark")
_FEW = 5  # rows on the first screen, where none is worth measuring


def document(observed: Observed, command: str, misses: Sequence[str]) -> Document:
    """command: the line that measures what is worth it; misses: readings that failed, in words.
    The first screen has a sentence for each provider."""
    demands, worth = observed.demands, observed.worth
    first = [*chain.from_iterable(worth.values())] or observed.answers[:_FEW]
    sections = {
        "week": _week(observed.answers),
        "all": (_table(observed.answers),),
        "next": (Paragraph(said("observed.next")), blocks.Code(command)),
    }
    titles = words("observed.sections")
    return Document(
        title=said("observed.title"),
        subtitle=said(
            "observed.read",
            begin_s=min(each.begin_s[0] for each in demands),
            end_s=max(each.end_s[-1] for each in demands),
            disks=units.counted(len(demands), "disk"),
            every_s=round(max(each.resolution_s for each in demands), 2),
            covered=_pct(min(each.coverage for each in demands)),
        ),
        status="observed",
        status_text=said("observed.status", tolerance=_pct(observed.tolerance)),
        stamps=tuple(_stamps(observed, misses)),
        answers=tuple(_answer(provider, of) for provider, of in worth.items()),
        verdicts=_table(first, _FIRST),
        sections=tuple(
            Section(n, titles[n], (Part("", of),)) for n, of in sections.items()
        ),
    )


def _pct(share: float) -> str:
    """Two digits: bounds are no sharper."""
    return "–" if pd.isna(share) else f"{float(f'{100 * share:.2g}'):g} %"


def _span(
    of: Iterable[float], at_least: bool, text: Callable[[float], str] = _pct
) -> str:
    least, *most = dict.fromkeys(map(text, of))
    if at_least and least != "–":
        return f"at least {least}"
    return " to ".join([least.removesuffix(" %") if most else least, *most])


def _stamps(observed: Observed, misses: Sequence[str]) -> Iterator[Stamp]:
    pieces = min(
        (len(each.pieces) for each in observed.demands if not each.is_fine), default=0
    )
    known = [answer.purchase.tier.price for answer in observed.answers]
    blind = wording.sentence(observed.refused)
    caps = units.listed([f"{cap.name} {cap.base:,.0f}" for cap in observed.source])
    for stamp, holds in (
        (words("observed.blind"), blind),
        (
            words("observed.unseen"),
            _pct(unseen_share(pieces)) if pieces and not blind else "",
        ),
        (words("observed.heaped" if observed.inferred else "observed.capped"), caps),
        (words("observed.prices"), prices.unlike([price for price in known if price])),
        (words("observed.missed"), "; ".join(misses)),
    ):
        if holds:
            text = stamp["text"].format(
                holds, pieces=pieces, share=_pct(observed.held_back)
            )
            yield Stamp(stamp["label"], text, stamp["advice"])


def _told(answer: CandidateAnswer) -> dict[str, str]:
    """What tables say of a candidate, by their titles, and sentences and strips too."""
    on, price = answer.on, answer.purchase.tier.price
    credit, least = _pct(on.hours["credit"].min()), answer.at_least
    return {
        "Disk": answer.purchase.name.replace(":", ": ").replace(
            ",", ", "
        ),  # to break the line
        "A month": wording.money(price.monthly, price.currency) if price else "–",
        "Answer": answer.word,
        **{name: _span(of, least) for name, of in zip(_SHARES, on.shares, strict=True)},
        "Cap": on.binding or "–",
        "Least credit": f"at most {credit}" if least and credit != "–" else credit,
        "Remark": answer.why,
    }


def _table(answers: Sequence[CandidateAnswer], titles: Sequence[str] = ()) -> Table:
    remarks = said("observed.figures"), said("observed.never")
    return blocks.table_of(map(_told, answers), _TEXTS, remarks, titles)


def _answer(provider: str, worth: Sequence[CandidateAnswer]) -> ShownAnswer:
    carries = [_told(each) for each in worth if each.word == "would have carried"]
    name, cost = (carries[0]["Disk"], carries[0]["A month"]) if carries else (None, "")
    disks = units.listed([_told(each)["Disk"] for each in worth])
    text = " ".join([*map(_sentence, worth), said("observed.worth", disks=disks)])
    return ShownAnswer(provider, name, text, cost)


def _sentence(answer: CandidateAnswer) -> str:
    hours, empty_s = answer.on.hours, answer.on.empty_s or (0.0, 0.0)
    empty = _span(empty_s, answer.at_least, units.format_seconds) if empty_s[1] else ""
    values = {
        "told": (told := _told(answer)),
        "word": words("observed.phrases")[answer.word],
    }
    waits = told[_SHARES[0]].replace("–", "")  # of which nothing may be known
    hour = hours.iloc[int(hours["upper"].argmax())]
    return said("observed.sentence", **values, hour=hour, empty=empty, waits=waits)


def _week(answers: Sequence[CandidateAnswer]) -> tuple[blocks.Block, ...]:
    """Of all candidates whose price is known; times are whole, because figures of charts have six
    digits."""
    labels, tables = list[str](), list[pd.DataFrame]()
    for answer in (each for each in answers if each.purchase.tier.price):
        told, hours = _told(answer), answer.on.hours
        labels.append(said("observed.label", told=told))
        of = {name: told[name] for name in _FIRST[2:]}
        from_ms = (1000 * hours["begin_s"]).round().astype(int)
        own = hours.drop(columns="begin_s")
        tables.append(own.assign(candidate=labels[-1], **of, **{"from": from_ms}))
    rows = pd.concat(tables).to_dict("records") if tables else []
    spec = charts.drawing("week", names=labels)
    figure = charts.figure("week", said("observed.week"), spec, {"hours": rows})
    return blocks.Charts((figure,), (), wide=True), Paragraph(said("observed.strips"))
