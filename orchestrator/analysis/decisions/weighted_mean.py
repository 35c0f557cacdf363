"""The contest of several workloads as one: the weighted mean of each repetition. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from orchestrator.analysis.decisions.candidates import (
    FAILED,
    LATENCIES,
    THROUGHPUT,
    USUAL,
    Candidate,
    Criterion,
)
from orchestrator.analysis.decisions.contest_rules import Circumstances, ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.model import Doubt, Objective
from orchestrator.texts.prose import listed

AVERAGE = LATENCIES[0]
P99 = LATENCIES[1]


@dataclass(frozen=True)
class WeighedPart:
    """A workload of the mean. `weight`: its share of all, of 1."""

    contest: Contest
    weight: float

    def candidate(self, name: str) -> Candidate:
        """The tier of this name."""
        return next(tier for tier in self.contest.candidates if tier.name == name)


@dataclass(frozen=True)
class WeighedFigures:
    """The workloads over which a criterion counts, and what stands for it in each of them."""

    parts: tuple[WeighedPart, ...]
    criteria: tuple[Criterion, ...]

    @property
    def shares(self) -> list[float]:
        """The weight of each workload; their sum is 1."""
        # Workloads without this criterion take no part, so shares are of those that have it.
        total = sum(part.weight for part in self.parts)
        return [part.weight / total for part in self.parts]

    def by_repetition(self, tier: str) -> list[dict[int, float]]:
        """For each workload, the figures of a tier by repetition."""
        figures: list[dict[int, float]] = []
        for part, criterion in zip(self.parts, self.criteria, strict=True):
            figures.append(part.candidate(tier).by_repetition(criterion))
        return figures

    def begun(self, tier: str, repetitions: Sequence[int]) -> dict[int, float]:
        """For each repetition, the share of the mean in which the tier's run began the block."""
        weighted_parts = list(zip(self.shares, self.parts, self.criteria, strict=True))
        begun: dict[int, float] = {}
        for number in repetitions:
            begun[number] = 0.0
            for share, part, criterion in weighted_parts:
                begun[number] += share * part.candidate(tier).begun(criterion, number)
        return begun


# ------------------------------------------------------------------ one contest of several


def together(
    parts: Sequence[WeighedPart],
    counted: Mapping[Criterion, WeighedFigures],
    weights: Mapping[str, float],
) -> Contest:
    """One contest of all. What forbids an answer of one workload forbids it here."""
    contests = [part.contest for part in parts]
    first = contests[0].rules
    rules = ContestRules(
        first.margin_pct,
        tuple(counted),
        p99_margin_pct=first.p99_margin_pct,
        # A mean is judged as strictly as the strictest of its workloads.
        share=min(contest.rules.share for contest in contests),
    )
    circumstances = Circumstances(
        obstacle=_first_obstacle(contests), doubts=_doubts(contests)
    )
    return make_contest(
        f"the weighted mean of {_workloads(contests, weights)}",
        [_mean(name, parts, counted) for name in _common_tiers(contests)],
        _planned(contests),
        rules,
        circumstances,
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
        # A mean without one of its workloads would be of other work.
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
        if contest.circumstances.obstacle:
            return contest.circumstances.obstacle
    return ""


def _doubts(contests: Sequence[Contest]) -> dict[str, list[Doubt]]:
    """For each tier, the doubts of all workloads."""
    doubts: dict[str, list[Doubt]] = {}
    for contest in contests:
        for tier, tier_doubts in contest.circumstances.doubts.items():
            if tier_doubts:
                doubts.setdefault(tier, []).extend(tier_doubts)
    return doubts


# ------------------------------------------------------------------ what a criterion counts over


def counted_criteria(parts: Sequence[WeighedPart]) -> dict[Criterion, WeighedFigures]:
    """Each usual criterion that any workload compares → the workloads that have this criterion."""
    counted: dict[Criterion, WeighedFigures] = {}
    for usual in USUAL:
        compared = [_compared_as(usual, part.contest) for part in parts]
        if not any(compared):
            continue
        having: list[WeighedPart] = []
        criteria: list[Criterion] = []
        for part, criterion in zip(parts, compared, strict=True):
            stands_for_it = criterion or _behind_throughput(usual, part.contest)
            if stands_for_it is not None:
                having.append(part)
                criteria.append(stands_for_it)
        counted[usual] = WeighedFigures(tuple(having), tuple(criteria))
    return counted


def _compared_as(usual: Criterion, contest: Contest) -> Criterion | None:
    """What a contest compares of that kind: rate, average or tail."""
    return _first_alike(usual, contest.rules.criteria)


def _behind_throughput(usual: Criterion, contest: Contest) -> Criterion | None:
    """The average latency of a closed loop, for which throughput stands in its own contest."""
    # It is sessions ÷ throughput in a closed loop (Little's law), so that it was not compared.
    if usual != AVERAGE or _compared_as(THROUGHPUT, contest) is None:
        return None
    if contest.candidates and contest.is_known(AVERAGE):
        return AVERAGE
    return None


def _first_alike(usual: Criterion, criteria: Sequence[Criterion]) -> Criterion | None:
    for criterion in criteria:
        # Its kind is compared, as workloads count other figures: NOPM or transactions, New-Order or
        # all types.
        is_alike = criterion.is_latency == usual.is_latency
        if is_alike and criterion.is_tail == usual.is_tail:
            return criterion
    return None


# ------------------------------------------------------------------ the mean of a tier


def _mean(
    name: str, parts: Sequence[WeighedPart], counted: Mapping[Criterion, WeighedFigures]
) -> Candidate:
    """The tier with the weighted means of the repetitions that all figures have."""
    candidates = [part.candidate(name) for part in parts]
    by_repetition: dict[Criterion, list[dict[int, float]]] = {}
    for usual, figures in counted.items():
        by_repetition[usual] = figures.by_repetition(name)
    # A repetition that lacks one workload would be a mean of other work than the rest.
    numbers = _common_repetitions(by_repetition.values())
    values: dict[Criterion, tuple[float, ...]] = {}
    first: dict[Criterion, dict[int, float]] = {}
    for usual, figures in counted.items():
        values[usual] = _weighted_means(by_repetition[usual], figures.shares, numbers)
        first[usual] = figures.begun(name, numbers)
    return replace(
        candidates[0],
        values=values,
        cause=_cause(candidates),
        measured=_worst_failures(candidates),
        repetitions=tuple(numbers),
        first=first,
    )


def _weighted_means(
    workload_figures: Sequence[Mapping[int, float]],
    shares: Sequence[float],
    numbers: Sequence[int],
) -> tuple[float, ...]:
    """The mean of all workloads in each repetition. `numbers`: of the repetitions."""
    means: list[float] = []
    for number in numbers:
        in_repetition = [by_number[number] for by_number in workload_figures]
        means.append(_weighted_mean(in_repetition, shares))
    return tuple(means)


def _common_repetitions(
    criteria: Iterable[Sequence[Mapping[int, float]]],
) -> list[int]:
    """The numbers of the repetitions in which each figure of each workload is above zero."""
    all_figures: list[Mapping[int, float]] = []
    for workload_figures in criteria:
        all_figures += workload_figures
    if not all_figures:
        return []
    numbers = list(all_figures[0])
    for figures in all_figures:
        # The mean is of logarithms, which zero has not.
        numbers = [number for number in numbers if figures.get(number, 0.0) > 0]
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
    # A mean of them would hide a workload that fails behind others that do not.
    failed: list[tuple[float, ...]] = []
    for candidate in candidates:
        shares_pct = (candidate.measured or {}).get(FAILED)
        if shares_pct:
            failed.append(shares_pct)
    if not failed:
        return None
    return {FAILED: max(failed, key=fmean)}
