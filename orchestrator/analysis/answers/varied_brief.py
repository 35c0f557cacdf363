"""The answer in short where a factor was varied: which tier to buy at which values. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.answers import factor_sentences
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.phrases import (
    LIST_PRICE_NOT_VERIFIED,
    closed,
    money,
    scope_in_words,
    sentence,
    tier_in_words,
)
from orchestrator.analysis.answers.record import (
    Answer,
    Brief,
    MonthlyPrice,
    PartAnswer,
)
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.design import factors, varied_workloads
from orchestrator.facts import Varied
from orchestrator.texts import prose

# Length of the first line; what is longer stands below it.
_MOST_CHARACTERS = 160


def with_findings(
    asked: Asked, answer: Answer, lines: Brief, *, may_say_buy: bool
) -> Brief:
    """The lines with how far each tier is enough, where that was asked: a tier for each value
    answers nothing about it.

    `may_say_buy`: nothing bounds the answer but what is open at a value.
    """
    horizons = _horizons(asked)
    if not horizons:
        return lines
    lines = replace(lines, price=_prices(asked, answer))
    spans = _spans(asked, answer)
    if spans and may_say_buy:
        texts = [span.in_words() for span in spans]
        return replace(
            lines,
            what=f"Buy {', '.join(texts)}",
            why=closed("; ".join(horizons)),
        )
    in_headline = _in_headline(asked, horizons)
    if not in_headline:
        return lines
    how_sure = lines.how_sure
    word = answer.sureness.word
    # The first line would have said this word, but now it says how far tiers are enough.
    if word in MOOT.values():
        how_sure = f"{sentence(word)} {how_sure}"
    return replace(
        lines,
        what="; ".join(in_headline),
        why=closed("; ".join(_why_of_varied(asked, answer))),
        how_sure=how_sure,
    )


def findings_told(asked: Asked, answer: Answer, *, may_say_buy: bool) -> Sequence[str]:
    """What of the findings the lines have, which then say why in place of those given."""
    horizons = _horizons(asked)
    if not horizons:
        return ()
    if may_say_buy and _spans(asked, answer):
        return horizons
    return _in_headline(asked, horizons)


def _horizons(asked: Asked) -> list[str]:
    """How far each tier is enough, a sentence each."""
    return [finding.claim for finding in factor_sentences.findings(asked)]


def _in_headline(asked: Asked, horizons: Sequence[str]) -> Sequence[str]:
    """All of them if they are short, else the first; none if that is long and proves nothing."""
    if len("; ".join(horizons)) <= _MOST_CHARACTERS:
        return horizons
    # Many changes that prove nothing are no headline.
    if len(horizons[0]) > _MOST_CHARACTERS and _has_steps_alone(asked):
        return ()
    return horizons[:1]


def _has_steps_alone(asked: Asked) -> bool:
    """Whether nothing but changes from value to value was found, of no sweep and no tier that is
    enough."""
    if asked.verdict.sweeps:
        return False
    return not any(varied.horizons for varied in asked.verdict.varied)


# ------------------------------------------------------------------ which tier at which values


@dataclass(frozen=True)
class _Span:
    """Values next to one another at which the same tier is named."""

    tier: str
    first: Varied
    last: Varied

    def in_words(self) -> str:
        """`premium for 10 tables`, `ultra from 20 to 30 tables`."""
        if self.first == self.last:
            return f"{self.tier} for {factors.in_words(self.first)}"
        return f"{self.tier} {factors.span_in_words(self.first, self.last)}"


def _spans(asked: Asked, answer: Answer) -> list[_Span]:
    """The tiers to buy, from the least value to the greatest. Empty unless one factor was varied,
    and a tier with a price is proven the one to buy at each of its values."""
    varied = asked.only_varied
    if varied is None or list(varied.numbers) != sorted(varied.numbers):
        return []
    # A factor without an order, such as a place, has no numbers.
    if not varied.numbers:
        return []
    parts = {part.subject: part for part in answer.parts}
    spans: list[_Span] = []
    for workload in asked.campaign.plan.workloads:
        value = varied_workloads.asked_value(workload, "factor")
        if value is None:
            continue
        part = parts[workload.name]
        if part.proof != "proven" or part.purchase is None or not part.purchase.price:
            return []
        tier = part.purchase.tier
        if spans and spans[-1].tier == tier:
            spans[-1] = replace(spans[-1], last=value)
        else:
            spans.append(_Span(tier, value, value))
    return spans


# ------------------------------------------------------------------ prices


def _prices(asked: Asked, answer: Answer) -> str:
    """What each tier costs that is named for a value.

    `premium 103.68 USD, ultra 780.00 USD a month for the disks of your 3 nodes.` Where a tier costs
    more at one value than at another, or tiers are for unlike nodes, each amount stands with its
    value.
    """
    amount_of_tier: dict[str | None, str] = {}
    scopes: set[str] = set()
    for part in answer.parts:
        amount = _amount(part)
        price = _price(part)
        if price is None:
            continue
        if amount_of_tier.get(part.tier, amount) != amount:
            return _prices_by_value(asked, answer)
        amount_of_tier[part.tier] = amount
        scopes.add(scope_in_words(price))
    if len(scopes) > 1:
        return _prices_by_value(asked, answer)
    described = _described_tiers(answer)
    texts: list[str] = []
    for tier, amount in amount_of_tier.items():
        texts.append(f"{described[tier]} {amount}")
    # What the prices are for is said once, behind the last amount.
    return closed(f"{', '.join(texts)} {''.join(scopes)}".strip())


def _described_tiers(answer: Answer) -> dict[str | None, str]:
    """Tier → the tier with what to order by its name, if that is the same at each value."""
    described: dict[str | None, str] = {}
    for part in answer.parts:
        if part.purchase is None:
            continue
        words = tier_in_words(part.purchase)
        if described.setdefault(part.tier, words) != words:
            described[part.tier] = part.purchase.tier
    return described


def _prices_by_value(asked: Asked, answer: Answer) -> str:
    """`A month for the disks: ultra 780.00 USD at 3 nodes and 1,560.00 USD at 6 nodes.`"""
    values = _values_in_words(asked)
    texts: list[str] = []
    described = _described_tiers(answer)
    tier_before: str | None = None
    for part in answer.parts:
        amount = _amount(part)
        if not amount:
            continue
        place = f"for {part.subject}"
        if part.subject in values:
            place = f"at {values[part.subject]}"
        # A tier is named once, before the first of its amounts in a row.
        if part.tier == tier_before:
            texts.append(f"{amount} {place}")
        else:
            texts.append(f"{described[part.tier]} {amount} {place}")
        tier_before = part.tier
    return closed(f"A month for the {_covers(answer)}: {prose.listed(texts)}")


def _values_in_words(asked: Asked) -> dict[str, str]:
    """The workload at each value → the value."""
    words: dict[str, str] = {}
    for varied in asked.verdict.varied:
        words |= dict(zip(varied.workloads, varied.values, strict=True))
    return words


def _price(part: PartAnswer) -> MonthlyPrice | None:
    if part.purchase is None:
        return None
    return part.purchase.price


def _amount(part: PartAnswer) -> str:
    """`780.00 USD`; empty without a price."""
    price = _price(part)
    if price is None:
        return ""
    return money(price.amount, price.currency)


def _covers(answer: Answer) -> str:
    """`disks`, or `disks (list price, not verified)`."""
    covers = ""
    remark = ""
    for part in answer.parts:
        price = _price(part)
        if price is None:
            continue
        covers = price.covers
        if price.is_unverified:
            remark = f" ({LIST_PRICE_NOT_VERIFIED})"
    return f"{covers}{remark}"


# ------------------------------------------------------------------ why


def _why_of_varied(asked: Asked, answer: Answer) -> Iterator[str]:
    """Which tier is named at the last value of a factor that has one, and for what was not
    varied."""
    varied = _varied_workloads(asked)
    last_values = _last_values_with_tier(asked, answer)
    for part in answer.parts:
        if part.tier is None:
            continue
        if part.subject not in varied:
            yield f"{part.tier} is enough for {part.subject}"
        elif part.subject in last_values:
            yield f"{part.tier} is enough at {last_values[part.subject]}"


def _varied_workloads(asked: Asked) -> set[str]:
    # The loads of a sweep are decided together, by the name of the workload alone.
    workloads = {sweep.workload for sweep in asked.verdict.sweeps}
    for factor in asked.verdict.varied:
        workloads.update(factor.workloads)
    return workloads


def _last_values_with_tier(asked: Asked, answer: Answer) -> dict[str, str]:
    """The workload at the last value of a factor for which a tier is named → that value."""
    with_tier = {part.subject for part in answer.parts if part.tier is not None}
    last_values: dict[str, str] = {}
    for factor in asked.verdict.varied:
        last: int | None = None
        for place, workload in enumerate(factor.workloads):
            if workload in with_tier:
                last = place
        if last is not None:
            last_values[factor.workloads[last]] = factor.values[last]
    return last_values
