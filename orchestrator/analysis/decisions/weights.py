"""Several workloads as one, by the weight that each has for the cluster (`--weights`). Pure.

What is compared is the weighted geometric mean of each repetition: a tier that is worse in a little
of the work may be better in the most of it. A workload with an SLO, at a rate of its own, or of
which some tiers lack a figure, stays apart: a must is not weighed. So is the share of failed
transactions, of which the mean has that of the worst workload."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from orchestrator.analysis.decisions.candidates import (
    FAILED,
    USUAL,
    Candidate,
    Criterion,
)
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.telemetry.causes import NOT_THE_TIER
from orchestrator.model import Doubt, Objective
from orchestrator.units import listed


def weighed(contests: Sequence[Contest], weights: Mapping[str, float]) -> list[Contest]:
    """The contests to be met together: that of all weighted workloads without an SLO instead of
    theirs, if there are several."""
    mixed: list[Contest] = []
    musts: list[Contest] = []
    for contest in contests:
        if contest.workload in weights and not _is_must(contest):
            mixed.append(contest)
        else:
            musts.append(contest)
    if len(mixed) < 2:
        return list(contests)
    return [_together(mixed, weights), *musts]


def _is_must(contest: Contest) -> bool:
    """Whether it must be met by itself, whatever a tier does in the other workloads."""
    if contest.slo or contest.overload.asked:
        return True
    for criterion in contest.left_out:
        if any(criterion in tier.values for tier in contest.candidates):
            return True
    return False


# ------------------------------------------------------------------ one contest of several


@dataclass(frozen=True)
class _Part:
    """A workload of the mean. `weight`: its share of all, of 1."""

    contest: Contest
    weight: float

    def candidate(self, name: str) -> Candidate:
        """The tier of this name."""
        return next(tier for tier in self.contest.candidates if tier.name == name)


def _together(contests: Sequence[Contest], weights: Mapping[str, float]) -> Contest:
    """One contest, in the criteria that all have. What forbids an answer of one forbids it here."""
    first = contests[0]
    total = sum(weights[contest.workload] for contest in contests)
    parts = [_Part(contest, weights[contest.workload] / total) for contest in contests]
    criteria = _alike_criteria(contests)
    return make_contest(
        f"the weighted mean of {_workloads(contests, weights)}",
        [_mean(name, parts, criteria) for name in _common_tiers(contests)],
        _planned(contests),
        first.margin_pct,
        tuple(criteria),
        p99_margin_pct=first.p99_margin_pct,
        share=min(contest.share for contest in contests),
        obstacle=_first_obstacle(contests),
        doubts=_doubts(contests),
    )


def _workloads(contests: Sequence[Contest], weights: Mapping[str, float]) -> str:
    """`tpcc (2) and insert (1)`."""
    names = [contest.workload for contest in contests]
    return listed([f"{name} ({weights[name]:g})" for name in names])


def _names(contest: Contest) -> list[str]:
    return [candidate.name for candidate in contest.candidates]


def _common_tiers(contests: Sequence[Contest]) -> list[str]:
    """The tiers that take part in each, in the order of the first."""
    names = _names(contests[0])
    for contest in contests:
        present = _names(contest)
        names = [name for name in names if name in present]
    return names


def _planned(contests: Sequence[Contest]) -> list[str]:
    """All tiers, with figures or without."""
    names: list[str] = []
    for contest in contests:
        names += [*_names(contest), *contest.absent]
    return list(dict.fromkeys(names))


def _first_obstacle(contests: Sequence[Contest]) -> str:
    for contest in contests:
        if contest.obstacle:
            return contest.obstacle
    return ""


def _doubts(contests: Sequence[Contest]) -> dict[str, list[Doubt]]:
    """Of each tier those of all workloads."""
    doubts: dict[str, list[Doubt]] = {}
    for contest in contests:
        for tier, of_tier in contest.doubts.items():
            if of_tier:
                doubts.setdefault(tier, []).extend(of_tier)
    return doubts


# ------------------------------------------------------------------ the mean of a tier


def _alike_criteria(
    contests: Sequence[Contest],
) -> dict[Criterion, list[Criterion]]:
    """A usual criterion → what stands for it in each contest; of those that all of them have."""
    criteria: dict[Criterion, list[Criterion]] = {}
    for usual in USUAL:
        alike = [_alike(usual, contest) for contest in contests]
        present = [criterion for criterion in alike if criterion is not None]
        if len(present) == len(contests):
            criteria[usual] = present
    return criteria


def _alike(usual: Criterion, contest: Contest) -> Criterion | None:
    """What a contest compares of that kind: rate, average or tail."""
    for criterion in contest.criteria:
        is_alike = criterion.is_latency == usual.is_latency
        if is_alike and criterion.is_tail == usual.is_tail:
            return criterion
    return None


def _mean(
    name: str,
    parts: Sequence[_Part],
    criteria: Mapping[Criterion, Sequence[Criterion]],
) -> Candidate:
    """The tier with the weighted means of the repetitions that all its workloads have."""
    candidates = [part.candidate(name) for part in parts]
    shares = [part.weight for part in parts]
    values: dict[Criterion, tuple[float, ...]] = {}
    numbers: list[int] = []
    for criterion, alike in criteria.items():
        figures: list[dict[int, float]] = []
        for candidate, counterpart in zip(candidates, alike, strict=True):
            figures.append(candidate.by_repetition(counterpart))
        numbers = _common_repetitions(figures)
        means: list[float] = []
        for number in numbers:
            in_repetition = [of_workload[number] for of_workload in figures]
            means.append(_weighted_mean(in_repetition, shares))
        values[criterion] = tuple(means)
    return replace(
        candidates[0],
        values=values,
        cause=_cause(candidates),
        measured=_worst_failures(candidates),
        repetitions=tuple(numbers),
    )


def _common_repetitions(figures: Sequence[Mapping[int, float]]) -> list[int]:
    """The numbers of which each workload has a figure that a logarithm can be taken of."""
    numbers = list(figures[0])
    for of_workload in figures:
        numbers = [number for number in numbers if of_workload.get(number, 0.0) > 0]
    return numbers


def _weighted_mean(values: Sequence[float], shares: Sequence[float]) -> float:
    """Geometric, so that what counts is by which share a tier is slower in each workload."""
    pairs = zip(shares, values, strict=True)
    return math.exp(sum(share * math.log(value) for share, value in pairs))


def _cause(candidates: Sequence[Candidate]) -> str:
    """The first that is not the tier's doing: it forbids a conclusion; else that of the first."""
    for candidate in candidates:
        if candidate.cause in NOT_THE_TIER:
            return candidate.cause
    return candidates[0].cause


def _worst_failures(
    candidates: Sequence[Candidate],
) -> dict[Objective, tuple[float, ...]] | None:
    """The shares of failed transactions of the workload that has most of them."""
    failed: list[tuple[float, ...]] = []
    for candidate in candidates:
        shares_pct = (candidate.measured or {}).get(FAILED)
        if shares_pct:
            failed.append(shares_pct)
    if not failed:
        return None
    return {FAILED: max(failed, key=fmean)}
