"""What takes part in a decision: tiers with their figures, and in what they are compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from orchestrator import metrics, model, tier
from orchestrator.analysis import metric_values, results
from orchestrator.design import factors, latency_quantiles, purchase_prices


@dataclass(frozen=True)
class Criterion:
    """A metric in which tiers are compared, and what a reader calls it."""

    metric: str
    title: str
    scope: str = "all"

    @property
    def key(self) -> metric_values.Key:
        return self.metric, self.scope

    @property
    def is_latency(self) -> bool:
        """Whether less is better."""
        return metrics.METRICS[self.metric].less_is_better

    @property
    def is_tail(self) -> bool:
        """Whether it is a percentile, which has a margin of its own."""
        return metrics.METRICS[self.metric].percent is not None


THROUGHPUT = Criterion("throughput_per_s", "throughput")
NOPM = Criterion("nopm", "throughput")
LATENCIES = (
    Criterion("latency_avg_s", "average latency"),
    Criterion("latency_p99_s", "p99 latency"),
)
USUAL = (THROUGHPUT, *LATENCIES)
# What a tier must keep besides: above it, too much of its work is in no other figure.
FAILED = model.Objective("failed_pct", "all", 1.0)
# Latencies of the one type in TPC-C whose rate is counted: those of all together would mostly be
# others.
NEW_ORDER = (
    Criterion("latency_avg_s", "average New-Order latency", "new_order"),
    Criterion("latency_p99_s", "p99 New-Order latency", "new_order"),
)
# Criteria by what counts as throughput (`metric_values.RATES`).
COMPARED: Mapping[str, tuple[Criterion, tuple[Criterion, ...]]] = {
    NOPM.metric: (NOPM, NEW_ORDER),
    "payload_bytes_per_s": (Criterion("payload_bytes_per_s", "throughput"), LATENCIES),
    THROUGHPUT.metric: (THROUGHPUT, LATENCIES),
}
# Criteria where a node was lost and rebuilt.
REBUILD = (
    Criterion("rebuild_s", "time to rebuild a node"),
    Criterion("latency_p99_s", "p99 latency while a node is rebuilt", "rebuild"),
)
# Criteria where a disk was slow. How long it takes to recover is not counted: it may not be
# reached. The average stays where a constant latency leaves no p99 to compare.
SLOW_DISK = (
    Criterion("latency_avg_s", "average latency while a disk is slow", "slow_disk"),
    Criterion("latency_p99_s", "p99 latency while a disk is slow", "slow_disk"),
)


def each_once(
    throughput: Criterion, latencies: tuple[Criterion, ...], *, closed_loop: bool
) -> tuple[Criterion, ...]:
    """What tiers are compared in, each figure once.

    The average of New-Order alone is always a figure of its own: it is a part of a session's time,
    though the rate of New-Orders is a fixed share of all.
    """
    if not closed_loop:
        return (throughput, *latencies)
    average = LATENCIES[0]
    # Average latency is sessions ÷ throughput in a closed loop without think time (Little's law).
    # To compare both would count one figure twice.
    return (throughput, *(latency for latency in latencies if latency != average))


def at_highest_load(throughput: Criterion, load: model.Workload) -> Criterion:
    """Throughput of a sweep, where most is asked of a tier."""
    return _at(throughput, load)


def at_least_load(
    latencies: Sequence[Criterion], load: model.Workload
) -> tuple[Criterion, ...]:
    """Latencies of a sweep, where the queue is shortest."""
    return tuple(_at(latency, load) for latency in latencies)


def _at(criterion: Criterion, load: model.Workload) -> Criterion:
    if load.varied is None:
        raise ValueError(f"{load.name} is not a load of a sweep")
    title = f"{criterion.title} at {factors.in_words(load.varied)}"
    return replace(criterion, title=title)


def without_tail(profiles: Iterable[model.Profile]) -> tuple[str, ...]:
    """The tiers whose emulated latency is constant: their p99 is no disk's, and not compared."""
    return tuple(
        profile.name
        for profile in profiles
        if latency_quantiles.is_constant(profile.tier)
    )


@dataclass(frozen=True)
class Candidate:
    """A tier with its values, one per finished repetition."""

    profile: model.Profile
    values: Mapping[Criterion, tuple[float, ...]]
    cause: str  # cause of its bottleneck
    # Values for the objectives of an SLO; an objective that a run lacks is not there.
    measured: Mapping[model.Objective, tuple[float, ...]] | None = None
    # Their numbers, in the order of the values; 1, 2, 3 and so on if not given.
    repetitions: tuple[int, ...] = ()
    # Its cost includes the machines, as tiers are compared on unlike ones.
    with_vms: bool = False
    # Each criterion has: repetition → the share of its figure whose runs were planned to begin the
    # block of all tiers. None is absent; a mean of workloads may have a part.
    first: Mapping[Criterion, Mapping[int, float]] = field(default_factory=dict)
    # Directions in which its sessions waited for the disk; both, where that is not known.
    awaited: tuple[tier.Way, ...] = tier.WAYS

    @classmethod
    def of_runs(
        cls,
        profile: model.Profile,
        runs: Sequence[results.RunData],
        criteria: Iterable[Criterion],
        clauses: Iterable[model.Objective] = (),
        cause: str = "",
    ) -> Self:
        """A candidate with those criteria and clauses of which each of its runs has a figure."""
        values: dict[Criterion, tuple[float, ...]] = {}
        for criterion in criteria:
            figures = metric_values.whole(runs, criterion.key)
            if figures:
                values[criterion] = figures
        measured: dict[model.Objective, tuple[float, ...]] = {}
        for clause in clauses:
            figures = metric_values.objective_values(runs, clause)
            if figures:
                measured[clause] = figures
        numbers = tuple(run.record.run.repetition for run in runs)
        return cls(profile, values, cause, measured, numbers)

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def price(self) -> tier.Price | None:
        """The price of a disk for data."""
        # Disks for WAL may have another price, and without it the cost of the tier is not known.
        if purchase_prices.disks_monthly(self.profile) is None:
            return None
        return self.profile.tier.price

    @property
    def currency(self) -> str | None:
        if self.price is None:
            return None
        return self.price.currency

    @property
    def monthly_cost(self) -> float | None:
        """Price of the cluster's disks, those for WAL too, and of its machines if they count."""
        return purchase_prices.monthly(self.profile, self.with_vms)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its repetitions."""
        if self.repetitions:
            return self.repetitions
        return _counted_from_1(max(len(figures) for figures in self.values.values()))

    def begun(self, criterion: Criterion, repetition: int) -> float:
        """1 if its run began the repetition's block, 0 if it did not."""
        return self.first.get(criterion, {}).get(repetition, 0.0)

    def by_repetition(self, criterion: Criterion) -> dict[int, float]:
        figures = self.values[criterion]
        numbers = self.repetitions or _counted_from_1(len(figures))
        return dict(zip(numbers, figures, strict=True))


def _counted_from_1(count: int) -> tuple[int, ...]:
    return tuple(range(1, count + 1))


@dataclass(frozen=True)
class CommonValues:
    """The values of two tiers in the repetitions that both finished, in the same order."""

    candidate: list[float]
    other: list[float]
    # Each repetition has 1 if the candidate's run began it, −1 if the other's did, else 0. A mean
    # of workloads has that of its parts.
    first: list[float]


def in_common(
    candidate: Candidate, other: Candidate, criterion: Criterion
) -> CommonValues:
    """The values of both, repetition by repetition: what slows a whole repetition cancels out."""
    other_values = other.by_repetition(criterion)
    common = CommonValues(candidate=[], other=[], first=[])
    # Values are paired by repetition: what slows all of it cancels out in their ratio.
    for number, value in candidate.by_repetition(criterion).items():
        if number in other_values:
            common.candidate.append(value)
            common.other.append(other_values[number])
            began = candidate.begun(criterion, number)
            common.first.append(began - other.begun(criterion, number))
    return common
