"""Several workloads as one, by the weight that each has for the cluster (`--weights`). Pure.

What is compared is the weighted geometric mean of each repetition: a tier that is worse in a little
of the work may be better in the most of it. A workload with an SLO, at a rate of its own, or of
which some tiers lack a figure, stays apart: a must is not weighed. So is the share of failed
transactions, of which the mean has that of the worst workload."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from orchestrator.analysis.decisions.candidates import (
    FAILED,
    USUAL,
    Candidate,
    Criterion,
)
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.telemetry.causes import NOT_THE_TIER
from orchestrator.units import gathered, listed


def weighed(contests: Sequence[Contest], weights: Mapping[str, float]) -> list[Contest]:
    """The contests to be met together: that of all weighted workloads without an SLO instead of
    theirs, if there are several."""
    mixed = [c for c in contests if c.workload in weights and not _is_must(c)]
    if len(mixed) < 2:
        return list(contests)
    return [_together(mixed, weights), *(c for c in contests if c not in mixed)]


def _is_must(contest: Contest) -> bool:
    lacking = any(
        of in tier.values for of in contest.left_out for tier in contest.candidates
    )
    return bool(contest.slo) or contest.overload.asked or lacking


def _together(contests: Sequence[Contest], weights: Mapping[str, float]) -> Contest:
    """One contest, in the criteria that all have. What forbids an answer of one forbids it here."""
    first, names = contests[0], [contest.workload for contest in contests]
    tiers = [
        p
        for p in first.candidates
        if all(p.name in _names(other) for other in contests)
    ]
    shares = [weights[name] / sum(weights[name] for name in names) for name in names]
    kept = {of: each for of in USUAL if all(each := _alike(of, contests))}
    candidates = [_mean(tier.name, contests, shares, kept) for tier in tiers]
    of_tiers = (of_tier for contest in contests for of_tier in contest.doubts.items())
    planned = dict.fromkeys(name for c in contests for name in (*_names(c), *c.absent))
    text = listed([f"{name} ({weights[name]:g})" for name in names])
    title = f"the weighted mean of {text}"
    contest = make_contest(
        title, candidates, list(planned), first.margin_pct, tuple(kept)
    )
    return replace(
        contest,
        share=min(contest.share for contest in contests),
        obstacle=next(
            (contest.obstacle for contest in contests if contest.obstacle), ""
        ),
        doubts=gathered((tier, doubt) for tier, own in of_tiers for doubt in own),
        p99_margin_pct=first.p99_margin_pct,
    )


def _names(contest: Contest) -> list[str]:
    return [candidate.name for candidate in contest.candidates]


def _alike(criterion: Criterion, contests: Sequence[Contest]) -> list[Criterion | None]:
    """What each contest compares of that kind: rate, average or tail."""
    kind = criterion.is_latency, criterion.is_tail
    return [
        next(
            (own for own in contest.criteria if (own.is_latency, own.is_tail) == kind),
            None,
        )
        for contest in contests
    ]


def _mean(
    name: str,
    contests: Sequence[Contest],
    shares: Sequence[float],
    criteria: Mapping[Criterion, Sequence[Criterion | None]],
) -> Candidate:
    """The tier with the weighted means of the repetitions that all its workloads have."""
    own = [
        next(c for c in contest.candidates if c.name == name) for contest in contests
    ]
    cause = next(
        (tier.cause for tier in own if tier.cause in NOT_THE_TIER), own[0].cause
    )
    values, numbers = dict[Criterion, tuple[float, ...]](), list[int]()
    for criterion, of_each in criteria.items():
        measured = [
            tier.by_repetition(of) for tier, of in zip(own, of_each, strict=True) if of
        ]
        numbers = [
            n for n in measured[0] if all(other.get(n, 0.0) > 0 for other in measured)
        ]
        values[criterion] = tuple(
            math.exp(
                sum(s * math.log(v[n]) for s, v in zip(shares, measured, strict=True))
            )
            for n in numbers
        )
    failed = [kept for tier in own if (kept := (tier.measured or {}).get(FAILED))]
    worst = {FAILED: max(failed, key=fmean)} if failed else None
    return replace(
        own[0], values=values, cause=cause, measured=worst, repetitions=tuple(numbers)
    )
