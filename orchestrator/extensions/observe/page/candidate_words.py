"""How a disk would have fared under the load that was observed, in sentences. Pure."""

import math

from orchestrator import units
from orchestrator.analysis.answers.phrases import money
from orchestrator.extensions.observe.judging.answered_observation import CandidateAnswer
from orchestrator.extensions.observe.judging.drawn_seconds import Band
from orchestrator.extensions.observe.page.observation_words import (
    UNKNOWN,
    band_in_words,
    seconds_in_words,
)

_PHRASES = {
    "would have carried": "would have carried it",
    "would not": "would not have carried it",
    "cannot be told": "cannot be told",
}


def candidate_in_words(candidate: CandidateAnswer) -> str:
    """How long the disk would have been at its cap, and which of the three words follows."""
    on_disk = candidate.on
    # "At least 0 %" would say nothing.
    says_at_least = candidate.at_least and on_disk.at_cap_least > 0
    queues = band_in_words(on_disk.queues, says_at_least)
    slack = band_in_words(
        Band(on_disk.at_cap_least, on_disk.at_cap_most), says_at_least
    )
    waits = band_in_words(on_disk.waits, says_at_least)
    time_at_cap = f"{queues} of the seconds where work queues"
    if not math.isnan(on_disk.waits[0]):
        time_at_cap = (
            f"{waits} of the seconds where users wait and {queues} where work queues"
        )
    if candidate.at_least and not says_at_least:
        time_at_cap = f"{time_at_cap}, of what was read"
    disk = f"{disk_in_words(candidate)} ({price_in_words(candidate)})"
    time = f"{time_at_cap} (with 30 % less to 10 % more: {slack})"
    details = f"{_worst_hour(candidate)}{_without_credit(candidate)}"
    verdict = _PHRASES[candidate.word]
    if candidate.why:
        verdict = f"{verdict} ({candidate.why})"
    return f"{disk} would have been at its cap in {time}{details}: {verdict}."


def _worst_hour(candidate: CandidateAnswer) -> str:
    """`, most of it in the hour of …`; empty if it was never at its cap."""
    hour = candidate.on.hours.worst()
    # No hour is the worst if not even the bound is above zero.
    if not hour.upper:
        return ""
    begin = units.format_moment(hour.begin_s)
    return f", most of it in the hour of {begin} on {hour.node}"


def _without_credit(candidate: CandidateAnswer) -> str:
    """`, its credit empty for 5 min`; empty if it never ran out."""
    empty_s = candidate.on.empty_s
    # None: credit is not followed. A most of zero: it never ran out.
    if empty_s is None or not empty_s.most:
        return ""
    time = seconds_in_words(empty_s, candidate.at_least)
    return f", its credit empty for {time}"


def disk_in_words(candidate: CandidateAnswer) -> str:
    """Its name with spaces, so that a line may break in it."""
    return candidate.purchase.name.replace(":", ": ").replace(",", ", ")


def price_in_words(candidate: CandidateAnswer) -> str:
    """A month's, of one disk."""
    price = candidate.purchase.tier.price
    if price is None:
        return UNKNOWN
    return money(price.monthly, price.currency)
