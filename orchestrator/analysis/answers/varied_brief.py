"""The answer in short where a factor was varied: how far each tier is enough. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.analysis.answers import factor_sentences
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.phrases import (
    closed,
    money,
    price_in_words,
    sentence,
)
from orchestrator.analysis.answers.record import Answer, Brief
from orchestrator.analysis.answers.sureness import MOOT

# Length of the first line; what is longer stands below it.
_MOST_CHARACTERS = 160


def with_findings(asked: Asked, answer: Answer, lines: Brief) -> Brief:
    """The lines with how far each tier is enough, where that was asked: a tier for each value
    answers nothing about it."""
    horizons: list[str] = []
    for finding in factor_sentences.findings(asked):
        horizons.append(finding.text.removesuffix("."))
    if not horizons:
        return lines
    what = "; ".join(horizons)
    if len(what) > _MOST_CHARACTERS:
        what = horizons[0]
    how_sure = lines.how_sure
    word = answer.sureness.word
    # The first line would have told it, and how far tiers are enough took its place.
    if word in MOOT.values():
        how_sure = f"{sentence(word)} {how_sure}"
    return replace(
        lines,
        what=what,
        why=closed("; ".join(_why_of_varied(asked, answer))),
        how_sure=how_sure,
        price=_prices(answer),
    )


def _prices(answer: Answer) -> str:
    """What each tier costs that is named for a value.

    `premium 103.68 USD, ultra 780.00 USD a month for the disks of your 3 nodes.`
    """
    amounts: dict[str, str] = {}
    behind = ""
    for part in answer.parts:
        if part.purchase is None or part.purchase.price is None:
            continue
        price = part.purchase.price
        amount = money(price.amount, price.currency)
        amounts[part.purchase.tier] = f"{part.purchase.tier} {amount}"
        # What the price is for is said once, behind the last amount.
        behind = price_in_words(price).removeprefix(amount)
    return closed(f"{', '.join(amounts.values())}{behind}")


def _why_of_varied(asked: Asked, answer: Answer) -> Iterator[str]:
    """Which tier is named at the last value of a factor, and for what was not varied."""
    # The loads of a sweep are decided together, by the name of the workload alone.
    varied = {sweep.workload for sweep in asked.verdict.sweeps}
    last_values: dict[str, str] = {}
    for factor in asked.verdict.varied:
        varied.update(factor.workloads)
        last_values[factor.workloads[-1]] = factor.values[-1]
    for part in answer.parts:
        if part.tier is None:
            continue
        if part.subject not in varied:
            yield f"{part.tier} is enough for {part.subject}"
        elif part.subject in last_values:
            yield f"{part.tier} is enough at {last_values[part.subject]}"
