"""What the figures of a contest prove of each of its tiers. Pure.

Only intervals prove that a tier is within the margin of another or outside; else it is open. That a
tier is enough is a claim; claims are made at a level that holds for all of them together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.conclusions import Standing
from orchestrator.analysis.decisions.candidates import FAILED, Candidate, Criterion
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.levels import DISCARDED, ONE_SIDED
from orchestrator.analysis.decisions.objective_tests import (
    ObjectiveTest,
    objective_test,
)
from orchestrator.analysis.decisions.pairs import Comparison, ratio_of_two
from orchestrator.analysis.statistics import looks, many_tests
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.model import Objective


@dataclass(frozen=True)
class ComparedTiers:
    """The tiers of a contest, and what it knows of them beside their figures.

    flattered: names of those that a doubt makes look better than they are.
    barred: names of those that can claim nothing, whatever their figures are.
    alone_is_enough: whether one without rivals is enough, as the others do not serve the rate.
    """

    tiers: tuple[Candidate, ...]
    rules: ContestRules
    flattered: frozenset[str]
    barred: frozenset[str]
    alone_is_enough: bool


@dataclass(frozen=True)
class Proof:
    """Standings of all tiers of a contest, by name. `level`: at which claims hold together.
    `failing`: whether each keeps `FAILED`. `claims`: p-values of their not being enough."""

    comparisons: Mapping[str, tuple[Comparison, ...]]
    objectives: Mapping[str, tuple[ObjectiveTest, ...]]
    standings: Mapping[str, Standing]
    level: float
    failing: Mapping[str, ObjectiveTest]
    claims: Mapping[str, float]


@dataclass(frozen=True)
class _Claims:
    """What tiers claim: to be enough.

    `p_values`: of each tier's claim. `refused`: tiers proven not to be enough. `discarded`: those
    that make no claim. `level`: what the claims of all tiers share.
    """

    p_values: dict[str, float]
    refused: set[str]
    discarded: set[str]
    level: float


def prove(compared: ComparedTiers) -> Proof:
    """A tier is enough if each of its comparisons, or each objective of an SLO, is proven."""
    comparisons: dict[str, tuple[Comparison, ...]] = {}
    tested: dict[str, tuple[ObjectiveTest, ...]] = {}
    failing: dict[str, ObjectiveTest] = {}
    for tier in compared.tiers:
        comparisons[tier.name] = _comparisons_of(tier, compared)
        tested[tier.name] = tuple(
            _test_of(tier, clause, compared) for clause in compared.rules.slo
        )
        failing[tier.name] = _test_of(tier, FAILED, compared)
    if compared.rules.slo:
        claims = _claims_to_meet_slo(tested)
    else:
        claims = _claims_to_be_within_margin(comparisons, compared)
    for name in compared.barred:
        claims.p_values[name] = 1.0
    refused = claims.refused | _missing(compared, tested, failing)
    # What a refused tier would have spent of the level is left to the others.
    silent = refused | claims.discarded
    claimed = [p for name, p in claims.p_values.items() if name not in silent]
    level = many_tests.level_of_claims(claimed, claims.level)
    standings = standings_of(claims.p_values, level, refused=refused)
    return Proof(
        comparisons=comparisons,
        objectives=tested,
        standings=standings,
        level=level,
        failing=failing,
        claims=claims.p_values,
    )


def _claims_to_meet_slo(tested: Mapping[str, Sequence[ObjectiveTest]]) -> _Claims:
    p_values = {name: _worst_of_tests(tests) for name, tests in tested.items()}
    return _Claims(p_values, refused=set(), discarded=set(), level=ONE_SIDED)


def _claims_to_be_within_margin(
    by_tier: Mapping[str, Sequence[Comparison]], compared: ComparedTiers
) -> _Claims:
    p_values: dict[str, float] = {}
    refused: set[str] = set()
    discarded: set[str] = set()
    for name, comparisons in by_tier.items():
        p_values[name] = _worst_of_comparisons(comparisons, compared)
        if _worse(comparisons, compared):
            refused.add(name)
        # Rather outside the margin than within: it has no chance, and would cost others theirs.
        if any(pair.p_within <= DISCARDED for pair in comparisons):
            discarded.add(name)
    # Claims that stay were chosen by their own p-values: by chance 90 % of those at the margin do.
    # So they share 90 % of the level (discarding, Zhao, Small and Su 2019).
    level = ONE_SIDED * (1 - DISCARDED)
    return _Claims(p_values, refused, discarded, level)


def standings_of(
    claims: Mapping[str, float], level: float, refused: Collection[str]
) -> dict[str, Standing]:
    """Tier → whether it is enough. `claims`: the p-value of each tier's claim that it is."""
    standings: dict[str, Standing] = {}
    for name, p_value in claims.items():
        standings[name] = standing_of(p_value, level, refused=name in refused)
    return standings


def standing_of(p_value: float, level: float, *, refused: bool) -> Standing:
    """`refused`: proven not to be enough, whatever the p-value of its claim is."""
    if refused:
        return "not enough"
    if p_value <= level:
        return "enough"
    return "open"


def _comparisons_of(tier: Candidate, compared: ComparedTiers) -> tuple[Comparison, ...]:
    """The comparisons of the tier with each other tier in each criterion."""
    comparisons: list[Comparison] = []
    for criterion in compared.rules.criteria:
        for other in compared.tiers:
            if other is not tier:
                comparisons.append(_compared(tier, other, criterion, compared))
    return tuple(comparisons)


def _test_of(
    tier: Candidate, objective: Objective, compared: ComparedTiers
) -> ObjectiveTest:
    # Any clause of any tier may seem missed by chance, so all of them share the level.
    family = max(1, len(compared.rules.slo)) * len(compared.tiers)
    return objective_test(tier, objective, share=compared.rules.share, family=family)


def _missing(
    compared: ComparedTiers,
    tested: Mapping[str, Sequence[ObjectiveTest]],
    failing: Mapping[str, ObjectiveTest],
) -> set[str]:
    """The tiers that are proven to miss a clause, or whose transactions fail too often."""
    names: set[str] = set()
    for tier in compared.tiers:
        tests = (failing[tier.name], *tested[tier.name])
        misses = any(test.missed for test in tests)
        # If something else held the disk back, what it missed proves nothing about it.
        if misses and tier.cause not in NOT_THE_TIER:
            names.add(tier.name)
    return names


def _worst_of_tests(tests: Sequence[ObjectiveTest]) -> float:
    """The p-value of the claim that each clause is met."""
    # All must hold, so the worst is that of the claim (intersection-union test, Berger 1982).
    return max(test.p_value for test in tests)


def _worst_of_comparisons(
    comparisons: Sequence[Comparison], compared: ComparedTiers
) -> float:
    """The p-value of the claim that it is within the margin of every other tier in everything. A
    tier without rivals is enough only if that is so because the others do not serve the rate."""
    alone = 1.0
    if compared.alone_is_enough:
        alone = 0.0
    # All comparisons must hold, as with an SLO, so the worst is that of the claim.
    return max((comparison.p_value for comparison in comparisons), default=alone)


def _worse(comparisons: Sequence[Comparison], compared: ComparedTiers) -> bool:
    """Whether a tier with these comparisons is proven to be worse than another by more than the
    margin in any of them."""
    count = len(compared.tiers)
    # At most k²/4 pairs of k tiers can be exactly at the margin at once. Every tier stands in k − 1
    # pairs. Chance may choose among the larger number.
    pairs = max(count - 1, count**2 // 4)
    p_values = [comparison.p_within for comparison in comparisons]
    return (
        many_tests.any_of(p_values, pairs * len(compared.rules.criteria)) <= ONE_SIDED
    )


def _compared(
    candidate: Candidate,
    other: Candidate,
    criterion: Criterion,
    compared: ComparedTiers,
) -> Comparison:
    """One tier against another in one criterion, by the runs of both."""
    ratio = ratio_of_two(
        candidate, other, criterion, compared.tiers, compared.rules.share
    )
    if ratio.p_value is None:
        return Comparison(
            candidate=candidate,
            other=other,
            criterion=criterion,
            ratio=ratio,
            p_value=1.0,
            p_within=1.0,
        )
    # This is the p-value of the hypothesis that the ratio is beyond the bound. A latency beyond it
    # makes the tier worse by more than the margin. A rate does so if it is not beyond.
    worse = ratio.chance_beyond(compared.rules.bound_of(criterion))
    if not criterion.is_latency:
        worse = 1 - worse
    # A campaign that is judged several times has less chance for each look: p-values are raised.
    enough, within = looks.at_look((worse, 1 - worse), compared.rules.share)
    # A tier that is worse than one that looks better than it is proves nothing. Nor does one that
    # is worse because this machine was the limit: that is not the disk's doing.
    if other.name in compared.flattered or candidate.cause in NOT_THE_TIER:
        within = 1.0
    return Comparison(candidate, other, criterion, ratio, enough, within)
