"""The answer of an observation: which disks would have carried what a cluster asked of its own.

Pure. Nothing was loaded and no such disk was touched, so no word here is one of proof: a disk that
would have carried the demand is worth measuring, and named for that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator import units
from orchestrator.analysis.answers.observation_brief import observation_brief
from orchestrator.analysis.answers.observation_words import (
    UNKNOWN,
    band_in_words,
    caps_in_words,
    percent_in_words,
)
from orchestrator.analysis.answers.phrases import money, sentence
from orchestrator.analysis.answers.record import (
    Answer,
    Caution,
    DiskOutlook,
    DisksToBuy,
    MonthlyPrice,
    NextStep,
    PartAnswer,
    Sureness,
    SurenessWord,
    Untested,
)
from orchestrator.analysis.observed import managed_servers
from orchestrator.analysis.observed.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
)
from orchestrator.analysis.observed.drawn_seconds import unseen_share
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices

_MINUTE_S = 60.0
CARRIES = "would have carried"
_PHRASES = {
    "would have carried": "would have carried it",
    "would not": "would not have carried it",
    "cannot be told": "cannot be told",
}
# What counters of a disk cannot say of another one.
UNTESTED = (
    Untested("performance", "throughput, latency of commits or p99 there"),
    Untested("proof", "that a disk is enough or better, which are words of proof"),
    Untested(
        "other conditions",
        "anything of another week, memory size, release or number of nodes",
    ),
    Untested("real disks", "the noise of a real disk"),
    Untested(
        "host cache",
        "Without host cache: reads that it would serve are among the I/Os.",
    ),
)


def observation_answer(
    observed: AnsweredObservation,
    command: str,
    misses: Sequence[str],
    seconds_command: str = "",
    remarks: Sequence[str] = (),
) -> Answer:
    """What an observation says of each provider's disks.

    `command`: the line that measures what is worth it, or empty; `misses`: readings that failed, in
    words; `seconds_command`: the line that reads an hour of seconds, which is the answer where
    nothing but sums of longer intervals is known.
    """
    parts: list[PartAnswer] = []
    for provider, candidates in observed.worth.items():
        part = _part(provider, candidates)
        if observed.apart_s:
            part = _bounds_alone(part)
        parts.append(part)
    steps: list[NextStep] = []
    # This step precedes any campaign: nothing but bounds is known until seconds are read.
    if observed.apart_s and seconds_command:
        steps.append(NextStep("read seconds", "", seconds_command))
    if command:
        names: list[str] = []
        for part in parts:
            names += [outlook.tier for outlook in part.worth_measuring]
        steps.append(NextStep("measure", units.listed(names), command))
    sureness = _sureness(observed, seconds_command)
    advice = _advice(observed, seconds_command)
    return Answer(
        kind="observation",
        parts=tuple(parts),
        together=None,
        sureness=sureness,
        untested=UNTESTED,
        cautions=tuple(_cautions(observed, misses, remarks)),
        next_steps=tuple(steps),
        brief=observation_brief(observed, parts, sureness.headline, advice, steps),
    )


def _sureness(observed: AnsweredObservation, seconds_command: str) -> Sureness:
    """Caps are a matter of seconds, so that of longer sums nothing but bounds follows."""
    tolerance = percent_in_words(observed.tolerance)
    allowed = f"{tolerance} of the time at a disk's limit is allowed (`--at-cap`)."
    text = f"Nothing was loaded, and no such disk was touched. {allowed}"
    share = observed.tolerance
    advice = _advice(observed, seconds_command)
    if not advice:
        return Sureness("observed", text, tolerance_share=share, details=(allowed,))
    # Also of seconds, where the disk seems to have been at its limit while they were read.
    word: SurenessWord = "cannot be told from these readings"
    why = "the observed disk may have been the limit"
    if observed.apart_s:
        why = "readings are too far apart"
    if observed.apart_s >= _MINUTE_S:
        word = "cannot be told from minutes"
    return Sureness(
        word,
        f"{sentence(advice)} {text}",
        tolerance_share=share,
        headline=f"no disk can be named yet: {why}",
        details=(allowed,),
    )


def _advice(observed: AnsweredObservation, seconds_command: str) -> str:
    """What would tell more, where these readings do not tell enough; else empty."""
    if observed.apart_s:
        return _instead_of_longer_sums(observed, seconds_command)
    if _seems_held_back(observed):
        return "name the observed disk with --source: it seems to be at its limit"
    return ""


def _seems_held_back(observed: AnsweredObservation) -> bool:
    """Whether readings look as those of a disk at its limit, and no disk is said to have carried
    them for that."""
    words = {answer.word for answer in observed.answers}
    # A disk that is said to carry it all the same does so whatever the limit was.
    is_long = observed.held_back > observed.tolerance
    return observed.inferred and is_long and CARRIES not in words


def _instead_of_longer_sums(observed: AnsweredObservation, seconds_command: str) -> str:
    """What tells more than they do: seconds by a command, or what a provider has of a server on
    whose machine none runs."""
    advice = managed_servers.instead_of_seconds(observed.disks)
    if seconds_command:
        advice.append(f"read seconds for an hour: `{seconds_command}`")
    return "; ".join(advice) or "read seconds for an hour"


def _bounds_alone(part: PartAnswer) -> PartAnswer:
    """Names no disk to buy."""
    # Sums alone would let far too much be bought: bounds hold whatever happened in between.
    why = ("Only bounds, which hold whatever happened between readings.", *part.why)
    return replace(part, purchase=None, why=why)


def _part(provider: str, candidates: Sequence[CandidateAnswer]) -> PartAnswer:
    """`candidates`: those worth measuring, from cheap to dear."""
    outlooks: list[DiskOutlook] = []
    purchase: DisksToBuy | None = None
    for candidate in candidates:
        name = candidate.purchase.name
        price = _price(candidate.purchase.tier.price)
        outlooks.append(DiskOutlook(name, price, word=candidate.word))
        # Candidates stand from cheap to dear, so the first that carries it is the cheapest.
        if purchase is None and candidate.word == CARRIES:
            purchase = DisksToBuy(name, price)
    names = units.listed([disk_in_words(candidate) for candidate in candidates])
    why = [candidate_in_words(candidate) for candidate in candidates]
    return PartAnswer(
        subject=provider,
        about="provider",
        purchase=purchase,
        why=(*why, f"Worth measuring: {names}."),
        # Counters bound what a disk would have done. They prove nothing of one that nobody
        # touched.
        proof="bounded",
        worth_measuring=tuple(outlooks),
    )


def _price(listed: Price | None) -> MonthlyPrice | None:
    """What one node's disk costs, as the catalog has it."""
    if listed is None:
        return None
    return MonthlyPrice(
        amount=listed.monthly,
        currency=listed.currency,
        covers="disks",
        nodes=None,
        region=listed.region,
        as_of=listed.as_of,
        source=listed.source,
    )


# ------------------------------------------------------------------ what bounds it


def _cautions(
    observed: AnsweredObservation, misses: Sequence[str], remarks: Sequence[str]
) -> Iterator[Caution]:
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
        pieces = units.counted(fewest, "piece")
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
        f"Its provider reports that a limit of its machine held the disk back for {share} of the "
        "time. Another disk would not change that.",
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
        intervals = units.counted(left_out, "interval")
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
            readings = units.counted(disk.impossible, "reading")
            impossible.append(f"{readings} of {name}")
        unlikely += [f"{name} has {text}" for text in disk.unlikely]
    if impossible:
        yield Caution(
            "impossible readings",
            f"More than any disk does, or bytes without I/Os: {units.listed(impossible)}.",
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


# ------------------------------------------------------------------ in words


def candidate_in_words(candidate: CandidateAnswer) -> str:
    """How long it would have been at its cap, and so which of the three words it has."""
    on_disk = candidate.on
    # "At least 0 %" would say nothing.
    says_at_least = candidate.at_least and on_disk.less > 0
    queues = band_in_words(on_disk.queues, says_at_least)
    slack = band_in_words((on_disk.less, on_disk.more), says_at_least)
    waits = band_in_words(on_disk.waits, says_at_least)
    time_at_cap = f"{queues} of the seconds where work queues"
    if waits != UNKNOWN:
        time_at_cap = (
            f"{waits} of the seconds where users wait and {queues} where work queues"
        )
    if candidate.at_least and not says_at_least:
        time_at_cap = f"{time_at_cap}, of what was read"
    remark = ""
    if candidate.why:
        remark = f" ({candidate.why})"
    return (
        f"{disk_in_words(candidate)} ({price_in_words(candidate)}) would have been at its cap in "
        f"{time_at_cap} (with 30 % less to 10 % more: {slack}){_worst_hour(candidate)}"
        f"{_without_credit(candidate)}: {_PHRASES[candidate.word]}{remark}."
    )


def _worst_hour(candidate: CandidateAnswer) -> str:
    hours = candidate.on.hours
    hour = hours.iloc[int(hours["upper"].argmax())]
    # No hour is the worst if not even the bound is above zero.
    if not hour["upper"]:
        return ""
    begin = units.format_moment(hour["begin_s"])
    return f", most of it in the hour of {begin} on {hour['node']}"


def _without_credit(candidate: CandidateAnswer) -> str:
    empty_s = candidate.on.empty_s
    # None: credit is not followed. A most of zero: it never ran out.
    if empty_s is None or not empty_s[1]:
        return ""
    time = band_in_words(empty_s, candidate.at_least, units.format_seconds)
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
