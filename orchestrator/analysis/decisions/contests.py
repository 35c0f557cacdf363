"""Tiers compared for a decision: which take part, in what, and what is proven. Pure.

Only intervals prove that a tier is within the margin of another or outside; else it is open. That a
tier is enough is a claim; claims are made at a level that holds for all of them together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from orchestrator import units
from orchestrator.analysis.conclusions import Standing
from orchestrator.analysis.decisions import preference
from orchestrator.analysis.decisions.candidates import (
    FAILED,
    USUAL,
    Candidate,
    Criterion,
)
from orchestrator.analysis.decisions.effort import RepetitionEffort
from orchestrator.analysis.decisions.levels import DISCARDED, ONE_SIDED
from orchestrator.analysis.decisions.objective_tests import (
    ObjectiveTest,
    objective_test,
)
from orchestrator.analysis.decisions.pairs import Comparison, ratio_of_two
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.overload import NO_RATE, Overload
from orchestrator.analysis.statistics import looks, many_tests
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.design import purchase_prices
from orchestrator.model import Doubt, Objective


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear, and in what they are compared.

    Without a price for each in one list the order is by declared limits.
    """

    workload: str
    candidates: tuple[Candidate, ...]
    absent: tuple[str, ...]  # names of tiers that left no figures
    margin_pct: float
    no_prices: str  # why prices do not order the tiers, or empty
    criteria: tuple[Criterion, ...]
    left_out: tuple[Criterion, ...] = ()  # criteria that a run lacks
    # Think time holds the rate at its ceiling on every tier: it is not compared.
    at_ceiling: bool = False
    slo: tuple[Objective, ...] = ()  # if any, it decides instead of the margin
    share: float = 1.0  # share of the usual levels that this look has (`looks`)
    obstacle: str = ""  # why nothing may be compared at all
    # Has the tiers that are no candidates, as they do not serve the rate.
    overload: Overload = NO_RATE
    # Doubts about the runs of each tier, and "" → those about the campaign.
    doubts: Mapping[str, Sequence[Doubt]] = field(default_factory=dict)
    # Scale of the workload, where it is less than the published study's.
    scale: str = ""
    # Tiers whose disks have no tail of latencies: then p99 is no criterion.
    constant_latency: tuple[str, ...] = ()
    unlike_prices: str = ""  # why prices that are compared may not be
    window_s: float = 0.0  # window of its runs, 0 if unlike or as long as their work
    p99_margin_pct: float | None = None  # None if it is that of the others
    effort: RepetitionEffort = field(default_factory=RepetitionEffort)
    # Tiers that are compared with nothing: without figures, or overloaded.
    outside: tuple[Candidate, ...] = ()
    # Numbers of the candidates' runs whose figures are judged.
    judged_runs: frozenset[int] = frozenset()

    def margin_of(self, criterion: Criterion) -> float:
        """How much worse, in %, a tier may be in this criterion and still be enough."""
        if criterion.is_tail and self.p99_margin_pct is not None:
            return self.p99_margin_pct
        return self.margin_pct

    def bound_of(self, criterion: Criterion) -> float:
        """The ratio to another tier at which the margin is used up: more than 1 of a latency, less
        of a rate."""
        margin = self.margin_of(criterion) / 100
        if criterion.is_latency:
            return 1 + margin
        return 1 - margin

    def flattered(self, candidate: Candidate) -> Doubt | None:
        """The doubt for which nothing is concluded in this tier's favour."""
        return kinds.forbidding(self.doubts.get(candidate.name, ()))

    @cached_property
    def limited_by(self) -> list[str]:
        """What limits the answer, whichever it is."""
        doubts: list[Doubt] = []
        for tier_doubts in self.doubts.values():
            doubts += tier_doubts
        limits = kinds.limiting(doubts)
        if self.scale:
            return [f"scale {self.scale}", *limits]
        return limits

    def is_known(self, criterion: Criterion) -> bool:
        """Whether each run of each tier has the figure, compared or not."""
        return _all_have(criterion, self.candidates)

    def others(self, candidate: Candidate) -> list[Candidate]:
        return [other for other in self.candidates if other is not candidate]

    def standing(self, standing: Standing) -> list[Candidate]:
        """The candidates with this standing, in their order."""
        standings = self.proof.standings
        return [tier for tier in self.candidates if standings[tier.name] == standing]

    def barred(self, candidate: Candidate) -> str:
        """Why the runs at hand cannot show that a tier is enough, whatever their figures are and
        however often they are repeated as they were; or an empty text."""
        doubt = self.flattered(candidate)
        if doubt:
            return f"{doubt.text} ({doubt.kind}): {doubt.advice}"
        if self.slo:
            return ""  # an SLO asks nothing of the other tiers
        return self._lacking() or self._held_back(candidate)

    def _lacking(self) -> str:
        """A sentence if only some tiers have a criterion, because then they cannot be compared in
        it."""
        for criterion in self.left_out:
            without = [
                tier.name for tier in self.candidates if criterion not in tier.values
            ]
            # What every tier lacks is only not compared: it favours none of them.
            if len(without) < len(self.candidates):
                names = units.listed(without)
                lack = f"not every run of {names} has a {criterion.title}"
                return f"{lack}: measure for longer"
        return ""

    def _held_back(self, candidate: Candidate) -> str:
        """A sentence if something else than the disk limited another tier.

        That is this machine, its load generator or a slow node. It is then not known what the best
        tier can do.
        """
        if self.overload.asked:
            return ""  # a rate that was asked for does not depend on the tier
        causes: list[str] = []
        for other in self.others(candidate):
            if other.cause in NOT_THE_TIER:
                cause = other.cause.replace("_", " ")
                causes.append(f"{other.name} ({cause})")
        if not causes:
            return ""
        return f"what limited {units.listed(causes)} was not the tier"

    @cached_property
    def proof(self) -> Proof:
        """What its figures prove, worked out once."""
        return _proof(self)


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


# ------------------------------------------------------------------ who takes part


def make_contest(
    workload: str,
    candidates: Sequence[Candidate],
    tiers: Sequence[str],
    margin_pct: float,
    criteria: Sequence[Criterion] = USUAL,
    *,
    p99_margin_pct: float | None = None,
    slo: tuple[Objective, ...] = (),
    share: float = 1.0,
    obstacle: str = "",
    at_ceiling: bool = False,
    constant_latency: tuple[str, ...] = (),
    overload: Overload = NO_RATE,
    doubts: Mapping[str, Sequence[Doubt]] | None = None,
    scale: str = "",
    window_s: float = 0.0,
    effort: RepetitionEffort | None = None,
    outside: Sequence[Candidate] = (),
    judged_runs: frozenset[int] = frozenset(),
) -> Contest:
    """Candidates in the order of preference, and what all of them can be compared in.

    Of equal cost the tier that declares more comes first. Where prices do not order them, the one
    that declares less comes first. `tiers`: all that were planned. The rest as in `Contest`.
    """
    profiles = [candidate.profile for candidate in candidates]
    # Machines count in the cost of all tiers or of none, or costs could not be compared.
    with_vms, no_prices, unlike_prices = purchase_prices.compare_prices(profiles)
    priced = [replace(candidate, with_vms=with_vms) for candidate in candidates]
    not_compared = [replace(tier, with_vms=with_vms) for tier in outside]
    shared = [criterion for criterion in criteria if _all_have(criterion, priced)]
    left_out = [criterion for criterion in criteria if criterion not in shared]
    present = {candidate.name for candidate in candidates}
    return Contest(
        workload=workload,
        candidates=tuple(preference.in_order(priced, by_price=not no_prices)),
        absent=tuple(name for name in tiers if name not in present),
        margin_pct=margin_pct,
        no_prices=no_prices,
        criteria=tuple(shared),
        left_out=tuple(left_out),
        at_ceiling=at_ceiling,
        slo=slo,
        share=share,
        obstacle=obstacle,
        overload=overload,
        doubts=doubts or {},
        scale=scale,
        constant_latency=constant_latency,
        unlike_prices=unlike_prices,
        window_s=window_s,
        p99_margin_pct=p99_margin_pct,
        effort=effort or RepetitionEffort(),
        outside=tuple(not_compared),
        judged_runs=judged_runs,
    )


def _all_have(criterion: Criterion, candidates: Sequence[Candidate]) -> bool:
    return all(criterion in candidate.values for candidate in candidates)


# ------------------------------------------------------------------ what is proven


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


def _proof(contest: Contest) -> Proof:
    """A tier is enough if each of its comparisons, or each objective of an SLO, is proven."""
    tiers = contest.candidates
    compared = {tier.name: _comparisons_of(tier, contest) for tier in tiers}
    tested = {tier.name: _tests_of(tier, contest) for tier in tiers}
    failing = {tier.name: _test_of(tier, FAILED, contest) for tier in tiers}
    if contest.slo:
        claims = _claims_to_meet_slo(tested)
    else:
        claims = _claims_to_be_within_margin(compared, contest)
    for tier in tiers:
        if contest.barred(tier):
            claims.p_values[tier.name] = 1.0
    refused = claims.refused | _missing(contest, tested, failing)
    # What a refused tier would have spent of the level is left to the others.
    silent = refused | claims.discarded
    claimed = [p for name, p in claims.p_values.items() if name not in silent]
    level = many_tests.level_of_claims(claimed, claims.level)
    standings = standings_of(claims.p_values, level, refused=refused)
    return Proof(compared, tested, standings, level, failing, claims.p_values)


def _claims_to_meet_slo(tested: Mapping[str, Sequence[ObjectiveTest]]) -> _Claims:
    p_values = {name: _worst_of_tests(tests) for name, tests in tested.items()}
    return _Claims(p_values, refused=set(), discarded=set(), level=ONE_SIDED)


def _claims_to_be_within_margin(
    compared: Mapping[str, Sequence[Comparison]], contest: Contest
) -> _Claims:
    p_values: dict[str, float] = {}
    refused: set[str] = set()
    discarded: set[str] = set()
    for name, comparisons in compared.items():
        p_values[name] = _worst_of_comparisons(comparisons, contest)
        if _worse(comparisons, contest):
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


def _comparisons_of(tier: Candidate, contest: Contest) -> tuple[Comparison, ...]:
    """The comparisons of the tier with each other tier in each criterion."""
    comparisons: list[Comparison] = []
    for criterion in contest.criteria:
        for other in contest.others(tier):
            comparisons.append(_compared(tier, other, criterion, contest))
    return tuple(comparisons)


def _tests_of(tier: Candidate, contest: Contest) -> tuple[ObjectiveTest, ...]:
    return tuple(_test_of(tier, clause, contest) for clause in contest.slo)


def _test_of(tier: Candidate, objective: Objective, contest: Contest) -> ObjectiveTest:
    # Any clause of any tier may seem missed by chance, so all of them share the level.
    family = max(1, len(contest.slo)) * len(contest.candidates)
    return objective_test(tier, objective, share=contest.share, family=family)


def _missing(
    contest: Contest,
    tested: Mapping[str, Sequence[ObjectiveTest]],
    failing: Mapping[str, ObjectiveTest],
) -> set[str]:
    """The tiers that are proven to miss a clause, or whose transactions fail too often."""
    names: set[str] = set()
    for tier in contest.candidates:
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


def _worst_of_comparisons(comparisons: Sequence[Comparison], contest: Contest) -> float:
    """The p-value of the claim that it is within the margin of every other tier in everything. A
    tier without rivals is enough only if that is so because the others do not serve the rate."""
    alone = 1.0
    if contest.overload.always:
        alone = 0.0
    # All comparisons must hold, as with an SLO, so the worst is that of the claim.
    return max((comparison.p_value for comparison in comparisons), default=alone)


def _worse(comparisons: Sequence[Comparison], contest: Contest) -> bool:
    """Whether a tier with these comparisons is proven to be worse than another by more than the
    margin in any of them."""
    count = len(contest.candidates)
    # At most k²/4 pairs of k tiers can be exactly at the margin at once. Every tier stands in k − 1
    # pairs. Chance may choose among the larger number.
    pairs = max(count - 1, count**2 // 4)
    p_values = [comparison.p_within for comparison in comparisons]
    return many_tests.any_of(p_values, pairs * len(contest.criteria)) <= ONE_SIDED


def _compared(
    candidate: Candidate, other: Candidate, criterion: Criterion, contest: Contest
) -> Comparison:
    """One tier against another in one criterion, by the runs of both."""
    ratio = ratio_of_two(candidate, other, criterion, contest.candidates, contest.share)
    if ratio.p_value is None:
        return Comparison(candidate, other, criterion, ratio, 1.0, 1.0)
    # This is the p-value of the hypothesis that the ratio is beyond the bound. A latency beyond it
    # makes the tier worse by more than the margin. A rate does so if it is not beyond.
    worse = ratio.chance_beyond(contest.bound_of(criterion))
    if not criterion.is_latency:
        worse = 1 - worse
    # A campaign that is judged several times has less chance for each look: p-values are raised.
    enough, within = looks.at_look((worse, 1 - worse), contest.share)
    # A tier that is worse than one that looks better than it is proves nothing. Nor does one that
    # is worse because this machine was the limit: that is not the disk's doing.
    if contest.flattered(other) or candidate.cause in NOT_THE_TIER:
        within = 1.0
    return Comparison(candidate, other, criterion, ratio, enough, within)
