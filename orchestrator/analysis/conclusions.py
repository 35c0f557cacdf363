"""The nouns of judging: what `analysis` concludes from records, as verdict.json holds it.

Units stand in a field's name, as in `orchestrator.model`; `_pct` is percent of 100."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator import facts, model
from orchestrator.analysis.answers.record import Answer
from orchestrator.units import format_change

VerdictWord = Literal["better", "worse", "same", "inconclusive"]
Standing = Literal["enough", "not enough", "open"]
ObjectiveWord = Literal["met", "missed", "open"]
# An answer holds for this alone, because the disks were hardly asked.
MootWord = Literal[
    "made-up figures", "cached data", "this machine", "short windows", "assumed latency"
]


@dataclass(frozen=True)
class CellSummary:
    """One metric of one cell over its finished runs. No interval if n < 2."""

    profile: str
    workload: str
    metric: str
    scope: str
    unit: str
    direction: model.Direction
    n: int
    mean: float
    median: float
    ci_low: float | None
    ci_high: float | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class Delta:
    """Contender against baseline."""

    baseline: str
    contender: str
    workload: str
    metric: str
    scope: str
    unit: str
    direction: model.Direction
    n_baseline: int  # repetitions compared, which are those that both sides finished
    n_contender: int
    change_pct: float  # change of the metric itself: negative latency is good
    ci_low_pct: float | None
    ci_high_pct: float | None
    verdict: VerdictWord
    reason: str
    # Tiers that do not serve the rate asked for; then `verdict` rests on that, not on the change.
    overloaded: tuple[str, ...] = ()
    confidence_pct: float = 95.0  # confidence of the interval


@dataclass(frozen=True)
class Elasticity:
    """How throughput follows a limit: 1 as it does, 0 not at all; with its interval of 90 %."""

    limit: facts.TriedLimit
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bottleneck:
    """What limited a cell, on its busiest node. `verdict`: its cause, by that name in verdict.json
    since its first version; `evidence`: the values of `Evidence` by name.
    `elasticities`: to the limits that were tried out. `faster_disk`: what a faster one would do, a
    sentence behind `text`; empty if nothing tells, or `text` of an earlier program says it."""

    profile: str
    workload: str
    node: str
    verdict: facts.BottleneckCause
    text: str
    evidence: Mapping[str, float]
    elasticities: tuple[Elasticity, ...] = ()
    faster_disk: str = ""

    @property
    def cause(self) -> facts.BottleneckCause:
        return self.verdict

    @property
    def in_words(self) -> str:
        """All that is said of it, in sentences."""
        return f"{self.text} {self.faster_disk}".rstrip()


@dataclass(frozen=True)
class Change:
    """One tier against another in one criterion, with the interval of the decision."""

    metric: str
    scope: str
    title: str
    against: str
    change_pct: float
    ci_low_pct: float | None
    ci_high_pct: float | None

    @property
    def words(self) -> str:
        """`-3.1 % (-5.2 % to -1.0 %)`; without an interval the change alone."""
        change = format_change(self.change_pct)
        if self.ci_low_pct is None or self.ci_high_pct is None:
            return change
        low = format_change(self.ci_low_pct)
        high = format_change(self.ci_high_pct)
        return f"{change} ({low} to {high})"


@dataclass(frozen=True)
class ObjectiveResult:
    """A clause of the SLO of one tier: geometric mean and interval, as numbers and in words.

    `measured`: `mean` and `interval` together. `interval`: empty where one run has none.
    """

    objective: str
    word: ObjectiveWord
    measured: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    mean: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Offer:
    """What one tier costs and whether it is enough."""

    tier: str
    standing: Standing
    # A month, of the disks of all nodes, and of their machines if these are unlike; None: no price.
    monthly_cost: float | None
    cost_per_unit: float | None  # a month, for one `unit` of throughput
    unit: str
    currency: str
    # True if each tier as cheap is proven worse in a criterion; False if one is proven to beat it:
    # as cheap, within the margin in every criterion and worse in none, and cheaper or better in
    # one; None if neither is proven, or without prices.
    on_front: bool | None
    price_region: str
    price_as_of: str
    price_source: str
    # The comparison in which each criterion comes off worst.
    worst: tuple[Change, ...]
    slo: tuple[ObjectiveResult, ...]
    # The least margin at which it would be proven enough, and that of p99 latency; None where
    # nothing is proven in its favour, or with an SLO.
    least_margin_pct: float | None = None
    least_p99_margin_pct: float | None = None
    # The bounds of `cost_per_unit` by those that its throughput has.
    cost_per_unit_low: float | None = None
    cost_per_unit_high: float | None = None


@dataclass(frozen=True)
class NeighbourTier:
    """A tier next to the named one in price: how much more or less it costs, and how figures
    change."""

    tier: str
    cost_change: float | None
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class DecidingFigure:
    """The figure that ruled tiers out: by its limit, if `is_clause`, else by the margin."""

    metric: str
    scope: str
    is_clause: bool


@dataclass(frozen=True)
class ReasonParts:
    """The first sentence of a decision's reason in its parts, for whoever shows some of them.

    tier_is: what the tier named is: `the cheapest tier proven to meet p99 < 20 ms`. Empty if none
        is named.
    claims: what else is proven, or is not, a clause each.
    proofs: the figures behind that. They stand after a colon.
    """

    tier_is: str = ""
    claims: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()

    @property
    def claimed(self) -> tuple[str, ...]:
        """All that is claimed, without the name of the tier."""
        if self.tier_is:
            return (self.tier_is, *self.claims)
        return self.claims

    def in_words(self, tier: str | None, settled_by: str = "") -> str:
        """The whole without a full stop: `ultra is …; premium misses …`.

        tier: the one named.
        settled_by: what would decide it, which comes last.
        """
        claims = list(self.claims)
        if tier is not None and self.tier_is:
            claims.insert(0, f"{tier} is {self.tier_is}")
        last = [text for text in (*self.proofs, settled_by) if text]
        if not self.proofs:
            return "; ".join([*claims, *last])
        return f"{'; '.join(claims)}: {'; '.join(last)}"


def in_one_text(sentences: Sequence[str]) -> str:
    """What a decision keeps as its `reason`: its sentences, without the last full stop."""
    return ". ".join(sentences)


@dataclass(frozen=True)
class Decision:
    """Which tier to buy for a workload, or None if the evidence does not carry one."""

    workload: str
    tier: str | None
    reason: str
    monthly_cost: float | None = None
    currency: str | None = None
    # The first sentence of `reason`, without what would settle it.
    reason_parts: ReasonParts = ReasonParts()
    # All of `reason` in sentences, the most important first; earlier programs did not write them.
    sentences: tuple[str, ...] = ()
    # What decided, in words: a criterion's title, a clause of the SLO, or empty.
    criterion: str = ""
    # The same as a record; None if no single figure decided.
    decided_by: DecidingFigure | None = None
    slo: tuple[str, ...] = ()  # its clauses
    offers: tuple[Offer, ...] = ()  # every tier with figures, from cheap to dear
    dearer: NeighbourTier | None = None  # the steps to the neighbours in price
    cheaper: NeighbourTier | None = None
    # A tier that would be preferred, or every tier, is neither proven enough nor proven not to be,
    # which more repetitions may change.
    is_open: bool = False
    # What would decide it, or tell whether a cheaper tier would do: `it takes 6 to 14 more
    # repetitions, 2 to 4 h; at stake 12 USD a month`.
    settled_by: str = ""
    # Whether more repetitions of the same kind are expected to.
    repetitions_settle: bool = False
    # Tiers that would be preferred to the one named, and open.
    cheaper_open: tuple[str, ...] = ()
    # Dearer tiers without figures, where enough is measured against the best: one may be faster
    # than all that were measured.
    best_open: tuple[str, ...] = ()
    confidence_pct: float = 90.0  # confidence of all intervals
    with_vms: bool = False  # costs include the machines, as tiers are on unlike ones
    # How it was chosen where not all prices could be compared, and why.
    without_prices: str = ""
    # The level, repetitions and windows that its figures rest on, in words.
    basis: str = ""
    moot: tuple[MootWord, ...] = ()
    # A sweep has no offers: tier → the clause that it is proven to miss.
    missed: Mapping[str, str] = field(default_factory=dict)

    def offer(self, tier: str) -> Offer | None:
        """What it says of a tier; None if that has no figures."""
        for offer in self.offers:
            if offer.tier == tier:
                return offer
        return None


@dataclass(frozen=True)
class WithoutWorkload:
    """The cheaper answer for a cluster, or the first, if one of its workloads is given up."""

    workload: str
    tier: str
    monthly_cost: float | None
    currency: str | None

    def __str__(self) -> str:
        answer = f"Without {self.workload}: {self.tier}"
        if self.monthly_cost is None:
            return answer
        return f"{answer}, {self.monthly_cost:,.2f} {self.currency} a month"


@dataclass(frozen=True)
class ClusterDecision:
    """Which tier to buy for a cluster, whose disks are of one, for all its workloads together."""

    tier: str | None
    reason: str
    workloads: tuple[str, ...]
    standings: Mapping[str, Standing]
    # Same as in `Decision`.
    reason_parts: ReasonParts = ReasonParts()
    # Same as in `Decision`.
    sentences: tuple[str, ...] = ()
    monthly_cost: float | None = None
    currency: str | None = None
    with_vms: bool = False
    # The workloads that force this tier, each alone.
    without: tuple[WithoutWorkload, ...] = ()
    # Same as in `Decision`.
    basis: str = ""
    confidence_pct: float = 90.0
    cheaper_open: tuple[str, ...] = ()
    best_open: tuple[str, ...] = ()


@dataclass(frozen=True)
class Law:
    """How a figure follows a factor: as its value to the power of `exponent`, with its interval of
    90 %. `values`: how many it rests on. `bends`: whether they follow no such law. `knee`: place of
    the value behind which they then follow another line; None where they bend gently."""

    metric: str
    scope: str
    per_node: bool
    exponent: float
    low: float
    high: float
    values: int
    knee: int | None = None
    bends: bool = False


@dataclass(frozen=True)
class TierValues:
    """One tier at the values of what is varied. Mappings: workload at a value → what it had there.
    Loads are numbers of a sweep; None: not found, or no sweep."""

    tier: str
    steps: tuple[Delta, ...]  # each value, as `contender`, against the first
    causes: Mapping[str, facts.BottleneckCause]
    per_node: Mapping[str, float] = field(default_factory=dict)  # mean throughput
    laws: tuple[Law, ...] = ()
    peak_per_s: float | None = None  # the highest mean throughput
    # The least load with nearly as much, if a higher one was measured.
    knee: float | None = None
    # The highest load proven to meet the latencies of the SLO.
    at_slo: float | None = None
    at_slo_per_s: float | None = None  # its mean throughput
    stopped: str = ""  # why no higher load is proven


@dataclass(frozen=True)
class VariedWorkload:
    """One workload at the values of a factor, or at the loads of a sweep.

    values: in words. numbers: the same as numbers; empty if they are none.
    workloads: the names of the workload at each value.
    horizons: up to where each tier is enough, in sentences.
    slo: latencies of the SLO, which a high load of a sweep may miss.
    """

    workload: str
    factor: str
    values: tuple[str, ...]
    numbers: tuple[float, ...]
    workloads: tuple[str, ...]
    tiers: tuple[TierValues, ...]
    horizons: tuple[str, ...] = ()
    slo: tuple[str, ...] = ()

    def word(self, number: float) -> str:
        """The value that is this number."""
        return self.values[self.numbers.index(number)]


@dataclass(frozen=True)
class ExcludedRun:
    """A finished run that no figure is made of, by the validity rule. reasons: doubts in words."""

    run: int
    profile: str
    workload: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """verdict.json: made from plan and records alone."""

    schema_version: int
    baseline: str
    cells: tuple[CellSummary, ...]
    deltas: tuple[Delta, ...]
    bottlenecks: tuple[Bottleneck, ...]
    decisions: tuple[Decision, ...]
    doubts: tuple[model.Doubt, ...]
    missing: tuple[str, ...] = ()
    sweeps: tuple[VariedWorkload, ...] = ()
    noise_floor: tuple[Delta, ...] = ()  # the baseline's twin against it
    excluded: tuple[ExcludedRun, ...] = ()
    cluster: ClusterDecision | None = None  # None with one workload or one tier
    varied: tuple[VariedWorkload, ...] = ()
    answer: Answer | None = None  # what all of it says of what to buy

    def decision(self, subject: str) -> Decision | None:
        """What was decided on a workload or on the loads of a sweep; None if nothing was."""
        for decision in self.decisions:
            if decision.workload == subject:
                return decision
        return None
