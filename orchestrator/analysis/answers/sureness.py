"""How sure the answer of a campaign is, as a whole. Pure."""

from collections.abc import Mapping, Sequence

from orchestrator.analysis.answers import one_profile
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.phrases import closed
from orchestrator.analysis.answers.record import (
    PartAnswer,
    Sureness,
    SurenessWord,
    Tally,
)
from orchestrator.analysis.conclusions import MootWord
from orchestrator.facts import known_doubt_kind
from orchestrator.texts import prose

EXAMPLE: SurenessWord = "example: nothing was measured"
# What an answer holds for, where something makes the question moot; the first that is so counts.
MOOT: Mapping[MootWord, SurenessWord] = {
    "made-up figures": EXAMPLE,
    "cached data": "for cached data only",
    "this machine": "for this machine only",
    "short windows": "for short windows only",
    "assumed latency": "not decided: latency assumed",
}


def campaign_sureness(asked: Asked, parts: Sequence[PartAnswer]) -> Sureness:
    """How many workloads have an answer, and how many comparisons and runs came to something; of
    one profile whether it meets its SLO, or what it did. `parts`: the answers by workload."""
    tally = _tally(asked)
    lost = _lost_in_words(tally)
    # A rehearsal comes before all that follows from figures: none were measured.
    if any(
        known_doubt_kind(doubt.kind) == "rehearsal" for doubt in asked.verdict.doubts
    ):
        text = "A model made all figures up; `tierbench compare` measures."
        return Sureness(EXAMPLE, text, tally)
    if not asked.contenders and asked.verdict.varied:
        measured = "It was measured at each value of what was varied"
        text = closed(measured)
        return Sureness(
            "one tier",
            f"{text}{lost}",
            tally,
            headline=measured,
            details=(text,),
        )
    if not asked.contenders:
        return _sureness_of_one_profile(asked, parts, tally)
    # A proven miss is an answer, so it comes before "no workload has an answer".
    if all(asked.is_met_by_none(subject) for subject in asked.subjects):
        return Sureness("SLO missed", f"No tier meets the SLO.{lost}", tally)
    if not tally.workloads_answered:
        text = "No workload has an answer."
        if asked.campaign.plan.repeats.repetitions == 1:
            text = f"{text} One run of each cannot tell a difference from chance."
        return Sureness("not conclusive", f"{text}{lost}", tally)
    details = [asked.opening(why) for why in _without_prices(asked)]
    details += _moot_in_words(asked)
    sentences = list(details)
    # A cluster has one disk, so an answer for each workload may still be none for all.
    if tally.workloads_answered == tally.workloads and _none_for_all(asked):
        sentences.append("No tier is proven enough for all workloads together.")
    text = " ".join([*sentences, f"{_tally_in_words(tally)}."])
    return Sureness(_word(asked, tally), f"{text}{lost}", tally, details=tuple(details))


def sureness_of_disks_alone(asked: Asked) -> Sureness:
    """The sureness where disks were measured without a database: nothing was to be decided."""
    tally = _tally(asked)
    details = tuple(_moot_in_words(asked))
    text = "Each disk was measured alone; no load says which is enough."
    sentences = " ".join([text, *details])
    lost = _lost_in_words(tally)
    word = _moot_word(asked) or "measured"
    return Sureness(word, f"{sentences}{lost}", tally, details=details)


def _sureness_of_one_profile(
    asked: Asked, parts: Sequence[PartAnswer], tally: Tally
) -> Sureness:
    """How sure it is what became of its SLO, or what it did."""
    headline = one_profile.headline(asked, parts)
    details = tuple(_moot_in_words(asked))
    sentences = [closed(headline), *details, *one_profile.limits_in_words(asked)]
    text = f"{' '.join(sentences)}{_lost_in_words(tally)}"
    word = one_profile.word(asked)
    if not asked.campaign.done:
        word = "not measured"
    # An SLO that is met is held to the same rules as a tier that is named.
    if word == "SLO met":
        word = _moot_word(asked) or word
    if word == "SLO met" and tally.runs_lost:
        word = "partly conclusive"
    return Sureness(word, text, tally, headline=headline, details=details)


def _moot_word(asked: Asked) -> SurenessWord | None:
    """The first that makes a question moot; None if nothing does."""
    for moot in _moot_by_word(asked):
        return MOOT[moot]
    return None


def _word(asked: Asked, tally: Tally) -> SurenessWord:
    """Conclusive if every workload and all together have an answer by price, no cheaper tier is
    open beside it, every planned run left figures, and nothing makes the question moot."""
    if tally.workloads_answered < tally.workloads:
        return "partly conclusive"
    # What is moot stands before a lost run. More runs of the kind would not make it less so.
    moot = _moot_word(asked)
    if moot is not None:
        return moot
    if tally.runs_lost or _none_for_all(asked):
        return "partly conclusive"
    # Enough is proven of the tier, but not that nothing cheaper is.
    if asked.is_price_open:
        return "enough; price open"
    if _is_cheaper_open(asked):
        return "enough; cheaper not excluded"
    return "conclusive"


def _none_for_all(asked: Asked) -> bool:
    """Whether no tier is named for all workloads together, where that was asked."""
    cluster = asked.verdict.cluster
    return cluster is not None and cluster.tier is None


def _is_cheaper_open(asked: Asked) -> bool:
    """Whether a cheaper tier is still open, for one workload or for all together."""
    if any(decision.cheaper_open for decision in asked.verdict.decisions):
        return True
    cluster = asked.verdict.cluster
    return cluster is not None and bool(cluster.cheaper_open)


def _moot_by_word(asked: Asked) -> dict[MootWord, list[str]]:
    """What makes questions moot → the workloads whose it does; in the order of `MOOT`."""
    workloads: dict[MootWord, list[str]] = {}
    for word in MOOT:
        for decision in asked.verdict.decisions:
            if word in decision.moot:
                workloads.setdefault(word, []).append(decision.workload)
    return workloads


def _without_prices(asked: Asked) -> list[str]:
    """How tiers were chosen where prices could not be compared, each way once."""
    ways: list[str] = []
    for decision in asked.verdict.decisions:
        way = decision.without_prices
        if way and way not in ways:
            ways.append(way)
    return ways


def _tally(asked: Asked) -> Tally:
    answered = [dec for dec in asked.verdict.decisions if dec.tier is not None]
    settled = [d for d in asked.verdict.deltas if d.verdict != "inconclusive"]
    planned = asked.campaign.plan.runs
    # The plan is what counts: runs that were never carried out are lost too.
    lost = [run for run in planned if asked.campaign.loss(run)]
    failed = [run for run in asked.campaign.runs if run.record.outcome != "done"]
    return Tally(
        workloads=len(asked.subjects),
        workloads_answered=len(answered),
        comparisons=len(asked.verdict.deltas),
        comparisons_settled=len(settled),
        runs_planned=len(planned),
        runs_lost=len(lost),
        runs_excluded=len(asked.verdict.excluded),
        runs_failed=len(failed),
    )


# ------------------------------------------------------------------ in words

_MOOT_TEXTS: Mapping[MootWord, str] = {
    "made-up figures": "A model made the figures of {}: `tierbench compare` measures.",
    "cached data": "Most runs of {} read from the cache, not from the disks. Load more data "
    "than the cache holds.",
    "this machine": "This machine limited {}, not the disks. Use a larger machine.",
    "short windows": "Most runs of {} were measured for less than 30 s, so background writes do "
    "not show. Take a larger --scale.",
    "assumed latency": "The answer on {} rests on latencies that nobody measured on the real "
    "disks. Measure there, or give `recorded`, or `read_latency` and `write_latency`.",
}


def _moot_in_words(asked: Asked) -> list[str]:
    texts: list[str] = []
    for word, workloads in _moot_by_word(asked).items():
        texts.append(_MOOT_TEXTS[word].format(prose.listed(workloads)))
    return texts


def _tally_in_words(tally: Tally) -> str:
    """`2 of 3 workloads have an answer; 5 of 9 comparisons came to a verdict`."""
    have = "have"
    if tally.workloads_answered == 1:
        have = "has"
    workloads = prose.counted(tally.workloads, "workload")
    comparisons = prose.counted(tally.comparisons, "comparison")
    return (
        f"{tally.workloads_answered} of {workloads} {have} an answer; "
        f"{tally.comparisons_settled} of {comparisons} came to a verdict"
    )


def _lost_in_words(tally: Tally) -> str:
    """A sentence to follow another, or nothing."""
    if not tally.runs_lost:
        return ""
    planned = prose.counted(tally.runs_planned, "planned run")
    text = f" {tally.runs_lost} of {planned} left no figures"
    if tally.runs_excluded:
        were = "were"
        if tally.runs_excluded == 1:
            were = "was"
        text += f" that count: {tally.runs_excluded} {were} excluded as invalid"
    return f"{text}."
