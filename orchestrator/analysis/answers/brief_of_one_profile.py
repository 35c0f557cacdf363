"""The answer of one profile that is compared with none in four lines. Pure."""

from collections.abc import Iterator

from orchestrator.analysis import overload
from orchestrator.analysis.answers import one_profile
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.brief_sureness import level, lost_in_words
from orchestrator.analysis.answers.limits_of_runs import limits_of_most_runs
from orchestrator.analysis.answers.phrases import disk_in_words, price_in_words
from orchestrator.analysis.answers.record import (
    Answer,
    Brief,
    SurenessWord,
)
from orchestrator.analysis.answers.to_buy import disks_of_profile, stated_price
from orchestrator.analysis.answers.untested_words import is_untested, where_proven
from orchestrator.design import purchase_prices
from orchestrator.facts import known_doubt_kind
from orchestrator.model import Record
from orchestrator.texts import prose


def brief_of_one_profile(asked: Asked, answer: Answer) -> Brief:
    """Nothing is bought: whether it meets its SLO, or what it did, and what limited it."""
    what = answer.sureness.headline
    if answer.is_example:
        # Else figures that a model made up would read as measured ones.
        what = f"as an example: {one_profile.headline(asked, answer.parts)}"
    texts: list[str] = []
    if answer.sureness.word in ("SLO met", "SLO missed"):
        texts.append(f"proven{where_proven(answer)} at {level()} confidence")
    elif answer.sureness.word not in _SAID_BY_THE_COUNT:
        texts.append(answer.sureness.word)
    texts += _times_measured(answer)
    texts += _overload(asked)
    if not answer.is_example:
        texts += limits_of_most_runs(asked, answer.sureness.word)
    texts += lost_in_words(answer)
    how_sure = "; ".join(texts)
    limits = " ".join(one_profile.limits_in_words(asked))
    price = _price_in_words(asked)
    return Brief(what, limits, how_sure, price=price, next_step=_NEXT)


# These words say nothing beside the count of runs.
_SAID_BY_THE_COUNT: frozenset[SurenessWord] = frozenset(
    ["measured", "not measured", "one tier", "SLO open"]
)
# One profile alone leaves open what to buy.
_NEXT = "To learn which disk to buy, measure another beside it: `tierbench compare`."


def _overload(asked: Asked) -> Iterator[str]:
    behind: list[Record] = []
    for run in asked.campaign.done:
        if overload.overloaded(run.record):
            behind.append(run.record)
    circumstance = ""
    if behind and all(overload.only_with_slow_disk(record) for record in behind):
        circumstance = " with a slow disk"
    for doubt in asked.verdict.doubts:
        if known_doubt_kind(doubt.kind) == "overload":
            yield f"it does not serve the rate asked for{circumstance}"
            return


def _times_measured(answer: Answer) -> Iterator[str]:
    """How often tiers were measured, by the workload with the fewest runs that count."""
    if answer.is_example or is_untested(answer, "any measurement"):
        return
    counts: list[int] = []
    for part in answer.parts:
        if part.measured is not None:
            counts.append(part.measured.throughput.n)
    fewest = min(counts, default=0)
    if fewest == 1:
        yield "measured once; `--repeats 5` tells how much runs differ"
    elif fewest:
        yield f"measured {prose.counted(fewest, 'time')}"


def _price_in_words(asked: Asked) -> str:
    """What the disks of the only profile cost a month at list price, and which they are; empty if
    that is not known."""
    profile = asked.campaign.plan.profile(asked.verdict.baseline)
    amount = purchase_prices.disks_monthly(profile)
    listed = profile.tier.price
    if amount is None or listed is None:
        return ""
    price = stated_price(profile, round(amount, 2), listed.currency, "disks")
    disk = disk_in_words(disks_of_profile(profile, price, machines_in_price=False))
    # Not every profile says which product it is.
    if not disk:
        return price_in_words(price)
    return f"{price_in_words(price)}: {disk}"
