"""The answer of an observation: which disks would have carried what a cluster asked of its own.

Pure. Nothing was loaded and no such disk was touched, so no word here is one of proof: a disk that
would have carried the demand is worth measuring, and named for that.
"""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.answers.phrases import sentence
from orchestrator.analysis.answers.record import (
    Answer,
    DiskOutlook,
    DisksToBuy,
    MonthlyPrice,
    NextStep,
    PartAnswer,
    Sureness,
    SurenessWord,
    Untested,
)
from orchestrator.extensions.observe.judging import managed_servers
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
)
from orchestrator.extensions.observe.page.candidate_words import (
    candidate_in_words,
    disk_in_words,
)
from orchestrator.extensions.observe.page.observation_brief import observation_brief
from orchestrator.extensions.observe.page.observation_cautions import (
    observation_cautions,
)
from orchestrator.extensions.observe.page.observation_words import percent_in_words
from orchestrator.texts import prose
from orchestrator.tier import Price

_MINUTE_S = 60.0
CARRIES = "would have carried"
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
        steps.append(NextStep("measure", prose.listed(names), command))
    sureness = _sureness(observed, seconds_command)
    advice = _advice(observed, seconds_command)
    return Answer(
        kind="observation",
        parts=tuple(parts),
        together=None,
        sureness=sureness,
        untested=UNTESTED,
        cautions=tuple(observation_cautions(observed, misses, remarks)),
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
    names = prose.listed([disk_in_words(candidate) for candidate in candidates])
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
