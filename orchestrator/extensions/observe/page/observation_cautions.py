"""What bounds the answer of an observation, each with what to do about it. Pure."""

from collections.abc import Iterator, Sequence

from orchestrator.analysis.answers.phrases import sentence
from orchestrator.analysis.answers.record import (
    Caution,
)
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
)
from orchestrator.extensions.observe.judging.drawn_seconds import unseen_share
from orchestrator.extensions.observe.page.observation_words import (
    caps_in_words,
    percent_in_words,
)
from orchestrator.texts import prose
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices


def observation_cautions(
    observed: AnsweredObservation, misses: Sequence[str], remarks: Sequence[str]
) -> Iterator[Caution]:
    """All of them, what hides most first.

    misses: readings that failed, in words. remarks: what its sources say of themselves.
    """
    # If no second is known, it does not matter in how many pieces they were read.
    if observed.refused:
        yield Caution(
            "seconds unknown",
            f"{sentence(observed.refused)} So answers use bounds that hold without "
            "seconds, or are left open.",
            "Read every second, or some minutes by the second (docs/OBSERVE.md).",
        )
    else:
        yield from _unseen(observed)
    if observed.counted_share is not None:
        yield _counted(observed, observed.counted_share)
    elif observed.reported_of_disks:
        yield _reported_held_back(observed)
    if observed.contradiction:
        yield Caution(
            "count contradicted",
            f"{sentence(observed.contradiction)} So its count settles nothing.",
            "Check --source: it may be another disk, or one that keeps no such count.",
        )
    if observed.machine_share:
        yield _held_back_by_machine(observed.machine_share)
    if observed.source:
        yield _held_back(observed)
    yield from _beyond_source(observed)
    yield from _not_believed(observed)
    yield from _unlike_prices(observed)
    if misses:
        yield Caution("readings missed", f"{'; '.join(misses)}.", "They are gaps.")
    if remarks:
        yield Caution(
            "remarks of sources",
            f"{'; '.join(remarks)}.",
            "Run the tool again where that is possible.",
        )


def _unseen(observed: AnsweredObservation) -> Iterator[Caution]:
    """A caution if one-second values are known only of a few pieces of the time."""
    counts: list[int] = []
    for disk in observed.disks:
        if not disk.is_fine:
            counts.append(disk.pieces)
    # The fewer the pieces, the larger the share that may be in none of them. The worst disk counts.
    fewest = min(counts, default=0)
    if fewest:
        share = percent_in_words(unseen_share(fewest))
        pieces = prose.counted(fewest, "piece")
        yield Caution(
            "shape from pieces",
            f"Seconds were read in {pieces} only. Something that happens in less than "
            f"{share} of the time may be missing.",
            "Read every second of the whole time to see everything.",
        )


def _held_back(observed: AnsweredObservation) -> Caution:
    """What a disk at its own cap would have been asked for is not known."""
    caps = caps_in_words(observed.source)
    share = percent_in_words(observed.held_back)
    if observed.inferred:
        either = "the disk was at its own cap"
        # The provider tells of the disk, and not of its machine.
        if observed.denied == observed.source:
            either = (
                "its machine was at a cap (its provider reports that the disk was not)"
            )
        return Caution(
            "held back?",
            f"For up to {share} of the time readings stay close to {caps}. Either "
            f"{either}, or the load asks for one rate. At a cap the load would have asked "
            'for more. So figures of larger disks say "at least" or "of what was read".',
            "Name the observed disk with --source. A larger disk then passes only if that "
            "time is within the tolerance, too.",
        )
    return Caution(
        "held back",
        f"For up to {share} of the time the observed disk was at its own cap ({caps}). How "
        "much more the load would have asked for is not known. So figures of larger disks "
        'say "at least" or "of what was read".',
        "A larger disk passes only if that time is within the tolerance, too.",
    )


def _reported_held_back(observed: AnsweredObservation) -> Caution:
    """By the provider's own word, which outranks what readings look like."""
    caps = caps_in_words(observed.reported_of_disks)
    share = percent_in_words(observed.reported_share)
    return Caution(
        "held back",
        f"Its provider reports that the observed disk was at its limit for {share} of the "
        f"time. Then it did at most {caps}. Each minute counts as a whole. How much more "
        'the load would have asked for is not known. So figures of larger disks say "at '
        'least" or "of what was read".',
        "A larger disk passes only if that time is within the tolerance, too.",
    )


def _counted(observed: AnsweredObservation, counted_share: float) -> Caution:
    """What sums hide is settled by the disk's own count."""
    share = percent_in_words(counted_share)
    text = (
        f"The observed disk counted that limits held it back for {share} of the time. "
        "Limits of its machine are included."
    )
    if observed.apart_s:
        text += (
            " So seconds are not needed: a disk with a sixth more of both limits carried "
            "the rest below its cap."
        )
    return Caution(
        "counted by the disk",
        text,
        (
            "The count of EBS is read as documented. How often AWS checks the volume is not "
            "known."
        ),
    )


def _held_back_by_machine(machine_share: float) -> Caution:
    share = percent_in_words(machine_share)
    return Caution(
        "held back by the machine",
        # Several limits, or disks of a stripe, may have been held back in unlike seconds.
        f"As reported, a limit of its machine held the disk back for up to {share} of the time. "
        "Another disk would not change that.",
        "A larger machine would: name it with --vm.",
    )


def _beyond_source(observed: AnsweredObservation) -> Iterator[Caution]:
    """A caution if the observed disk did what the disk that it is said to be cannot do."""
    if observed.beyond:
        share = percent_in_words(observed.beyond)
        yield Caution(
            "more than the source does",
            f"In {share} of the time the observed disk did more than twice what --source does in "
            "a burst. It seems to be another disk. What limited it is not known.",
            "Name the observed disk with --source, or leave --source out.",
        )
    left_out = sum(disk.left_out for disk in observed.disks)
    if left_out:
        intervals = prose.counted(left_out, "interval")
        yield Caution(
            "jumps left out",
            f"Left out as jumps of a counter: {intervals} with more than twice what --source does "
            "in a burst.",
            "If they were load, the disk is not that of --source: leave --source out.",
        )


def _not_believed(observed: AnsweredObservation) -> Iterator[Caution]:
    """Readings that no disk can have done, and those that are only unlikely."""
    impossible: list[str] = []
    unlikely: list[str] = []
    for disk in observed.disks:
        name = f"{disk.node} {disk.device}"
        if disk.impossible:
            readings = prose.counted(disk.impossible, "reading")
            impossible.append(f"{readings} of {name}")
        unlikely += [f"{name} has {text}" for text in disk.unlikely]
    if impossible:
        yield Caution(
            "impossible readings",
            f"More than any disk does, or bytes without I/Os: {prose.listed(impossible)}.",
            "They are gaps: a counter jumped or began anew.",
        )
    if unlikely:
        yield Caution(
            "unlikely readings",
            f"{sentence('; '.join(unlikely))}",
            "Check how its counters were read: units, and sums or means.",
        )


def _unlike_prices(observed: AnsweredObservation) -> Iterator[Caution]:
    listed: list[Price] = []
    for answer in observed.answers:
        price = answer.purchase.tier.price
        if price is not None:
            listed.append(price)
    unlike = prices.unlike(listed)
    if unlike:
        yield Caution(
            "prices of several lists",
            f"{unlike}. So compare prices within a provider only.",
            "Give --region to use the prices of one.",
        )
