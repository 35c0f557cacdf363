"""Tiers compared for a decision: which take part, and in what. Pure.

What they are judged by is in `contest_rules`, what is proven of them in `proof`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.analysis.conclusions import Standing
from orchestrator.analysis.decisions import preference
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contest_rules import (
    Circumstances,
    ContestRules,
    ContestRuns,
)
from orchestrator.analysis.decisions.proof import ComparedTiers, Proof, prove
from orchestrator.analysis.doubts import by_effect
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.design import purchase_prices
from orchestrator.model import Doubt
from orchestrator.texts import prose


@dataclass(frozen=True)
class Contest:
    """All candidates of a workload, from cheap to dear, and in what they are compared.

    Without a price for each in one list the order is by declared limits.

    absent: names of tiers that left no figures.
    outside: tiers that are compared with nothing: without figures, or overloaded.
    rules: with those criteria alone that all candidates have.
    left_out: the criteria that a run lacks.
    no_prices: why prices do not order the tiers, or empty.
    unlike_prices: why prices that are compared may not be, or empty.
    """

    workload: str
    candidates: tuple[Candidate, ...]
    absent: tuple[str, ...]
    outside: tuple[Candidate, ...]
    rules: ContestRules
    left_out: tuple[Criterion, ...]
    no_prices: str
    unlike_prices: str
    circumstances: Circumstances
    runs: ContestRuns

    def flattered(self, candidate: Candidate) -> Doubt | None:
        """The doubt for which nothing is concluded in this tier's favour."""
        return by_effect.forbidding(self.circumstances.doubts.get(candidate.name, ()))

    @cached_property
    def limited_by(self) -> list[str]:
        """What limits the answer, whichever it is."""
        doubts: list[Doubt] = []
        for tier_doubts in self.circumstances.doubts.values():
            doubts += tier_doubts
        limits = by_effect.limiting(doubts)
        if self.circumstances.scale:
            return [f"scale {self.circumstances.scale}", *limits]
        return limits

    def is_known(self, criterion: Criterion) -> bool:
        """Whether each run of each tier has the figure, compared or not."""
        return _all_have(criterion, self.candidates)

    def others(self, candidate: Candidate) -> list[Candidate]:
        return [other for other in self.candidates if other is not candidate]

    @cached_property
    def proof(self) -> Proof:
        """What its figures prove, worked out once."""
        flattered: set[str] = set()
        barred: set[str] = set()
        for tier in self.candidates:
            if self.flattered(tier):
                flattered.add(tier.name)
            if self.barred(tier):
                barred.add(tier.name)
        compared = ComparedTiers(
            self.candidates,
            self.rules,
            frozenset(flattered),
            frozenset(barred),
            alone_is_enough=bool(self.circumstances.overload.always),
        )
        return prove(compared)

    def standing(self, standing: Standing) -> list[Candidate]:
        """The candidates with this standing, in their order."""
        standings = self.proof.standings
        return [tier for tier in self.candidates if standings[tier.name] == standing]

    # ---------------------------------------------------------------- what no repetition mends

    def barred(self, candidate: Candidate) -> str:
        """Why the runs at hand cannot show that a tier is enough, whatever their figures are and
        however often they are repeated as they were; or an empty text."""
        doubt = self.flattered(candidate)
        if doubt:
            return f"{doubt} ({doubt.kind}): {doubt.advice}"
        # An SLO asks nothing of the other tiers.
        if self.rules.slo:
            return ""
        return self._lacking() or self._held_back(candidate)

    def _lacking(self) -> str:
        """A sentence if only some tiers have a criterion, because then they cannot be compared in
        it."""
        for criterion in self.left_out:
            without: list[str] = []
            for tier in self.candidates:
                if criterion not in tier.values:
                    without.append(tier.name)
            # What every tier lacks is only not compared: it favours none of them.
            if len(without) < len(self.candidates):
                names = prose.listed(without)
                lack = f"not every run of {names} has a {criterion.title}"
                return f"{lack}: measure for longer"
        return ""

    def _held_back(self, candidate: Candidate) -> str:
        """A sentence if something else than the disk limited another tier.

        That is this machine, its load generator or a slow node. It is then not known what the best
        tier can do.
        """
        # A rate that was asked for does not depend on the tier.
        if self.circumstances.overload.asked:
            return ""
        causes: list[str] = []
        for other in self.others(candidate):
            if other.cause in NOT_THE_TIER:
                causes.append(f"{other.name} ({cause_in_words(other.cause)})")
        if not causes:
            return ""
        return f"what limited {prose.listed(causes)} was not the tier"


def make_contest(
    workload: str,
    candidates: Sequence[Candidate],
    planned: Sequence[str],
    rules: ContestRules,
    circumstances: Circumstances | None = None,
    runs: ContestRuns | None = None,
    *,
    outside: Sequence[Candidate] = (),
) -> Contest:
    """Candidates in the order of preference, and what all of them can be compared in.

    Of equal cost the tier that declares more comes first. Where prices do not order them, the one
    that declares less comes first. `planned`: the names of all tiers. The rest as in `Contest`.
    """
    profiles = [candidate.profile for candidate in candidates]
    # Machines count in the cost of all tiers or of none, or costs could not be compared.
    prices = purchase_prices.compare_prices(profiles)
    priced = _priced(candidates, prices.with_vms)
    shared: list[Criterion] = []
    left_out: list[Criterion] = []
    for criterion in rules.criteria:
        if _all_have(criterion, priced):
            shared.append(criterion)
        else:
            left_out.append(criterion)
    present = {candidate.name for candidate in candidates}
    by_price = not prices.obstacle
    return Contest(
        workload=workload,
        candidates=tuple(preference.in_order(priced, by_price=by_price)),
        absent=tuple(name for name in planned if name not in present),
        outside=tuple(_priced(outside, prices.with_vms)),
        rules=replace(rules, criteria=tuple(shared)),
        left_out=tuple(left_out),
        no_prices=prices.obstacle,
        unlike_prices=prices.doubt,
        circumstances=circumstances or Circumstances(),
        runs=runs or ContestRuns(),
    )


def _priced(tiers: Sequence[Candidate], with_vms: bool) -> list[Candidate]:
    """The tiers, each of which costs its disks alone, or its disks and its machines."""
    return [replace(tier, with_vms=with_vms) for tier in tiers]


def _all_have(criterion: Criterion, candidates: Sequence[Candidate]) -> bool:
    return all(criterion in candidate.values for candidate in candidates)
