"""The answer of an observation in short: what is worth measuring, why, how sure, what next."""

from collections.abc import Sequence

from orchestrator import units
from orchestrator.analysis.answers.disk_words import row_in_words, shapes_in_words
from orchestrator.analysis.answers.phrases import closed, money
from orchestrator.analysis.answers.record import Brief, DisksToBuy, NextStep, PartAnswer
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
)
from orchestrator.extensions.observe.page.observation_words import (
    caps_in_words,
    percent_in_words,
)
from orchestrator.texts import prose


def observation_brief(
    observed: AnsweredObservation,
    parts: Sequence[PartAnswer],
    headline: str,
    advice: str,
    steps: Sequence[NextStep],
) -> Brief:
    """What is worth measuring; nothing is proven by what counters tell.

    `headline`: what stands first where no disk is named, or empty. `advice`: what would tell more
    than these readings; where nothing would, the next step is to measure.
    """
    bought = [part.purchase for part in parts if part.purchase is not None]
    what = headline or "no disk is known to have carried this load"
    if bought:
        what = f"worth measuring: {_named(bought)}"
        cheapest = _whose_cheapest(parts)
        shapes = shapes_in_words([purchase.tier for purchase in bought])
        why = f"{cheapest} that would have carried what was read"
        if shapes:
            why = f"{why}: {shapes}"
        why = closed(why)
    elif observed.apart_s:
        apart = units.format_seconds(round(observed.apart_s, 2))
        why = f"A disk is at its cap for seconds, and these are sums of {apart}."
    else:
        why = _why_none(observed)
    if not advice and steps:
        advice = _MEASURE
    return Brief(
        prose.capitalized(what),
        why,
        "Bounds from counters: nothing was loaded, and no such disk was touched.",
        "Throughput and latency there, another week, memory, release or number of nodes.",
        # A full stop would be copied with a command at its end.
        next_step=prose.capitalized(advice),
    )


# The command itself is as long as the paths of the profiles; it stands at the end of the page.
_MEASURE = (
    "measure these disks in a campaign: enter your cluster in the profiles beside the "
    "page, then run `profiles/compare.sh`"
)


def _named(bought: Sequence[DisksToBuy]) -> str:
    """`aws/gp3 for 40.00 USD and azure/P30 for 135.17 USD a month a node`; shapes are in the
    reason."""
    texts: list[str] = []
    for purchase in bought:
        name = row_in_words(purchase.tier)
        if purchase.price is not None:
            cost = money(purchase.price.amount, purchase.price.currency)
            name = f"{name} for {cost}"
        texts.append(name)
    if bought[-1].price is None:
        return prose.listed(texts)
    return f"{prose.listed(texts)} a month a node"


def _why_none(observed: AnsweredObservation) -> str:
    """Why no disk would have carried it, or why that cannot be told; empty if none was judged."""
    words = [answer.word for answer in observed.answers]
    unsure = words.count("cannot be told")
    at_limit = _at_its_limit(observed)
    # The disk's limit hides what was asked for, and is why the rest cannot be told.
    if unsure and at_limit:
        unknown = (
            "How much more the load would have asked of a larger disk is not known."
        )
        return f"{at_limit} {unknown}"
    if not words:
        return ""
    tolerance = percent_in_words(observed.tolerance)
    disks = prose.counted(words.count("would not"), "disk")
    why = f"{disks} would have been at a cap for more than {tolerance} of the time."
    if unsure:
        why = f"{why} For {prose.counted(unsure, 'other')} this cannot be told."
    return why


def _at_its_limit(observed: AnsweredObservation) -> str:
    """A sentence if the observed disk was, or seems to have been, at a limit for too long."""
    # The word of its provider outranks what readings look like.
    if observed.reported_share > observed.tolerance:
        share = percent_in_words(observed.reported_share)
        return (
            f"Its provider reports that the observed disk was at its limit for {share} of "
            "the time."
        )
    # So short a time at a limit is allowed, and is no reason for anything.
    if observed.held_back <= observed.tolerance:
        return ""
    share = percent_in_words(observed.held_back)
    caps = caps_in_words(observed.source)
    if observed.inferred:
        return f"For up to {share} of the time readings stay close to {caps}, as at a limit."
    return (
        f"For up to {share} of the time the observed disk was at its own cap ({caps})."
    )


def _whose_cheapest(parts: Sequence[PartAnswer]) -> str:
    # Prices of several lists have no order, so it is the cheapest of each.
    if len(parts) == 1:
        return f"The cheapest disk of {parts[0].subject}"
    return "The cheapest disk of each provider"
