"""The one answer for all workloads of a cluster in words: why a tier is named, or none, and what
that rests on. Pure."""

from collections.abc import Sequence
from typing import Literal

from orchestrator.analysis.conclusions import ReasonParts
from orchestrator.analysis.decisions import remarks
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.cluster_standings import (
    MOST_WORKLOADS,
    refusing,
    with_standing,
)
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.decisions.no_contest import no_contest
from orchestrator.analysis.doubts import by_effect
from orchestrator.analysis.statistics import looks
from orchestrator.model import Doubt
from orchestrator.texts.prose import all_of, listed
from orchestrator.units import format_quantity, gathered

_Obstacle = Literal["not enough", "open", "not at one level"]


# ------------------------------------------------------------------ why


def why(
    count: int,
    contests: Sequence[Contest],
    tiers: Sequence[Candidate],
    tier: Candidate | None,
) -> ReasonParts:
    """Why that tier, or none, and not a cheaper one. `count`: of workloads."""
    workloads = f"{all_of(count, 'workload')} together"
    # Workloads with weights may all be one contest, which has a name of its own.
    if len(contests) == 1:
        workloads = contests[0].workload
    if len(contests) > MOST_WORKLOADS:
        return _too_many(workloads)
    unanswered = [contest.workload for contest in contests if no_contest(contest)]
    # A tier can be named only if every workload has an answer. So this is why none is.
    if tier is None and unanswered:
        return _no_answer_for(workloads, unanswered)
    if tier is None:
        claim = f"no tier is proven enough for {workloads}"
        return ReasonParts(claims=(claim,), proofs=_why_not(tiers, contests))
    which = "cheapest tier"
    if contests[0].no_prices:
        which = "tier with the lowest declared limits"
    passed_over = tiers[: tiers.index(tier)]
    return ReasonParts(
        tier_is=f"the {which} proven enough for {workloads}",
        proofs=_why_not(passed_over, contests),
    )


def _too_many(workloads: str) -> ReasonParts:
    """What to do instead: a mean counts as one workload."""
    cannot = f"cannot be proven for more than {MOST_WORKLOADS} workloads"
    instead = "weigh those that count together (`--weights`), or compare fewer"
    claim = f"no tier is named for {workloads}, as one answer {cannot}"
    return ReasonParts(claims=(claim,), proofs=(instead,))


def _no_answer_for(workloads: str, unanswered: Sequence[str]) -> ReasonParts:
    have = "has"
    if len(unanswered) > 1:
        have = "have"
    none = f"no tier can be proven enough for {workloads}"
    proof = f"{listed(unanswered)} {have} no answer"
    return ReasonParts(claims=(none,), proofs=(proof,))


def _why_not(
    tiers: Sequence[Candidate], contests: Sequence[Contest]
) -> tuple[str, ...]:
    """Why none of them is named; tiers with the same reason share its clause."""
    by_reason: dict[tuple[_Obstacle, str], list[str]] = {}
    for tier in tiers:
        reason = _obstacle(tier.name, contests)
        by_reason.setdefault(reason, []).append(tier.name)
    clauses: list[str] = []
    for (obstacle, workloads), names in by_reason.items():
        clauses.append(_in_words(obstacle, workloads, names))
    return tuple(clauses)


def _obstacle(tier: str, contests: Sequence[Contest]) -> tuple[_Obstacle, str]:
    """What keeps the tier from being named, and the workloads in which it does."""
    refused_by = refusing(tier, contests)
    if refused_by:
        return "not enough", listed(refused_by)
    unsure = with_standing(tier, contests, "open")
    if unsure:
        return "open", listed(unsure)
    # Each claim may hold alone, but those of all tiers share one level.
    return "not at one level", ""


def _in_words(obstacle: _Obstacle, workloads: str, tiers: Sequence[str]) -> str:
    """`whether premium-v2 and ultra are enough for tpcc is open`."""
    are = "is"
    if len(tiers) > 1:
        are = "are"
    names = listed(tiers)
    if obstacle == "open":
        return f"whether {names} {are} enough for {workloads} is open"
    if obstacle == "not enough":
        return f"{names} {are} not enough for {workloads}"
    return f"{names} {are} proven enough for each, and not yet for all at one level"


# ------------------------------------------------------------------ what it rests on


def basis(contests: Sequence[Contest]) -> str:
    """Level, and repetitions and windows of each workload."""
    runs = gathered(
        (remarks.runs_in_words(contest), contest.workload) for contest in contests
    )
    texts = remarks.with_whose(runs)
    level = format_quantity(100 * confidence(contests, 1 - ONE_SIDED), "%")
    return f"that a tier is enough for all holds at {level}; {'; '.join(texts)}"


def confidence(contests: Sequence[Contest], usual: float) -> float:
    """The confidence of the workload that is judged most strictly.

    `usual`: the confidence if there is a single look.
    """
    # A claim for all workloads holds at no better level than its strictest part.
    share = min(contest.rules.share for contest in contests)
    return looks.confidence(usual, share)


def limits(contests: Sequence[Contest]) -> list[str]:
    """What a reader of an answer must know besides: a sentence for each thing that is so."""
    texts = (_at_ceiling(contests), _limited_by(contests))
    return [text for text in texts if text]


def _limited_by(contests: Sequence[Contest]) -> str:
    """The doubts that limit the answers of any workload, with all their runs; or an empty text."""
    doubts: list[Doubt] = []
    limits: list[str] = []
    for contest in contests:
        for tier_doubts in contest.circumstances.doubts.values():
            doubts += tier_doubts
        scale = f"scale {contest.circumstances.scale}"
        # All workloads mostly have one scale, which is told once.
        if contest.circumstances.scale and scale not in limits:
            limits.append(scale)
    return remarks.limits_in_words([*limits, *by_effect.limiting(doubts)])


def _at_ceiling(contests: Sequence[Contest]) -> str:
    """The workloads whose rate think time holds; or an empty text."""
    held = [
        contest.workload for contest in contests if contest.circumstances.at_ceiling
    ]
    if not held:
        return ""
    return f"Think time holds throughput of {listed(held)} at its ceiling on every tier"
