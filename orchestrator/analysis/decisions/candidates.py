"""What takes part in a decision: tiers with their figures, and in what they are compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from orchestrator import metrics, model, tier
from orchestrator.analysis import results
from orchestrator.planning import costs, factors, latency_quantiles


@dataclass(frozen=True)
class Criterion:
    """A metric in which tiers are compared, and what a reader calls it."""

    metric: str
    title: str
    scope: str = "all"

    @property
    def key(self) -> tuple[str, str]:
        return self.metric, self.scope

    @property
    def is_latency(self) -> bool:
        return metrics.METRICS[self.metric].direction == "lower"

    @property
    def is_tail(self) -> bool:
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
# Of TPC-C's transactions the one whose rate is counted: all together would mostly be others.
NEW_ORDER = (
    Criterion("latency_avg_s", "average New-Order latency", "new_order"),
    Criterion("latency_p99_s", "p99 New-Order latency", "new_order"),
)
# By what counts as throughput (`results.RATES`).
COMPARED: Mapping[str, tuple[Criterion, tuple[Criterion, ...]]] = {
    NOPM.metric: (NOPM, NEW_ORDER),
    "payload_bytes_per_s": (Criterion("payload_bytes_per_s", "throughput"), LATENCIES),
    THROUGHPUT.metric: (THROUGHPUT, LATENCIES),
}
# Where a node was lost and rebuilt.
REBUILD = (
    Criterion("rebuild_s", "time to rebuild a node"),
    Criterion("latency_p99_s", "p99 latency meanwhile", "rebuild"),
)


def each_once(
    throughput: Criterion, latencies: tuple[Criterion, ...], *, closed_loop: bool
) -> tuple[Criterion, ...]:
    """What tiers are compared in, each figure once. In a closed loop without think time the average
    latency of all transactions is sessions ÷ throughput (Little's law), and throughput stands for
    both. In an open loop or with think time they are two figures. So is the average of New-Order
    alone, a part of a session's time, though the rate of New-Orders is a fixed share of all."""
    same = LATENCIES[0] if closed_loop else None
    return throughput, *(criterion for criterion in latencies if criterion != same)


def at_ends(
    throughput: Criterion,
    latencies: tuple[Criterion, ...],
    loads: Sequence[model.Workload],
) -> tuple[Criterion, tuple[Criterion, ...]]:
    """Of a sweep: throughput at its highest load, and latencies at its least."""
    least, most = (
        factors.in_words(of.varied) for of in (loads[0], loads[-1]) if of.varied
    )
    at_least = tuple(replace(of, title=f"{of.title} at {least}") for of in latencies)
    return replace(throughput, title=f"{throughput.title} at {most}"), at_least


def comparable(
    latencies: tuple[Criterion, ...], profiles: Iterable[model.Profile]
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """Those in which tiers may be compared, and the tiers whose emulated latency has no tail."""
    constant = tuple(p.name for p in profiles if latency_quantiles.is_constant(p.tier))
    return tuple(of for of in latencies if not (constant and of.is_tail)), constant


@dataclass(frozen=True)
class Candidate:
    """A tier with its values, one per finished repetition."""

    profile: model.Profile
    values: Mapping[Criterion, tuple[float, ...]]
    cause: str  # of its bottleneck
    # Values for the objectives of an SLO; an objective that a run lacks is not there.
    measured: Mapping[model.Objective, tuple[float, ...]] | None = None
    # Their numbers, in the order of the values; 1, 2, 3 and so on if not given.
    repetitions: tuple[int, ...] = ()
    with_vms: bool = (
        False  # its cost includes the machines, as tiers are compared on unlike ones
    )

    @classmethod
    def of_runs(
        cls,
        profile: model.Profile,
        runs: Sequence[results.RunData],
        criteria: Iterable[Criterion],
        clauses: Iterable[model.Objective] = (),
        cause: str = "",
    ) -> Self:
        """With the criteria and the clauses of which each of its runs has a figure."""
        values = {of: v for of in criteria if (v := results.whole(runs, of.key))}
        measured = {
            of: v for of in clauses if (v := results.objective_values(runs, of))
        }
        numbers = tuple(run.record.run.repetition for run in runs)
        return cls(profile, values, cause, measured, numbers)

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def price(self) -> tier.Price | None:
        """That of a disk for data; None too if those for WAL have another that is not known."""
        return (
            None
            if costs.disks_monthly(self.profile) is None
            else self.profile.tier.price
        )

    @property
    def currency(self) -> str | None:
        return self.price.currency if self.price else None

    @property
    def monthly_cost(self) -> float | None:
        """Price of the cluster's disks, those for WAL too, and of its machines if they count."""
        return costs.monthly(self.profile, self.with_vms)

    def by_repetition(self, criterion: Criterion) -> dict[int, float]:
        values = self.values[criterion]
        return dict(
            zip(self.repetitions or range(1, len(values) + 1), values, strict=True)
        )
