"""The cell of the run that predictions rest on: what it did, and by what a disk is called fast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from orchestrator.analysis.metric_values import value_of, whole
from orchestrator.analysis.predictions import FigureKey
from orchestrator.analysis.results import Results, RunData, finished
from orchestrator.design import rehearsal
from orchestrator.extensions.predict.prediction import FIGURES, THROUGHPUT
from orchestrator.metrics import METRICS, number_in_words, span_in_words, value_in_words
from orchestrator.report import wording

LATENCY = FigureKey("latency_avg_s")


@dataclass(frozen=True)
class MeasuredCell:
    """What the runs of a cell did, on the one tier that was measured."""

    run: str  # name of a run as a command takes it, CAMPAIGN/RUN
    tier: str
    workload: str
    means: Mapping[FigureKey, float]  # the mean of the cell's runs
    # Whether transactions began at a given rate: a faster disk then shortens their latency alone.
    is_paced: bool
    margin_pct: float  # two figures within it count as the same
    database: str
    nodes: int  # number of nodes that were measured
    # Whether a model made its figures up.
    is_rehearsed: bool

    @property
    def speed(self) -> FigureKey:
        """The figure by which a disk is called fast."""
        if self.is_paced:
            return LATENCY
        return FigureKey(THROUGHPUT)

    def times_as_fast(self, value: float, other: float) -> float:
        """How many times as fast a disk with that value of `speed` is as one with the other."""
        if self.is_paced:
            return other / value
        return value / other

    @property
    def did(self) -> str:
        """What its own tier did: `470 transactions/s`; empty if no run left that figure."""
        return figure_in_short(self.speed, self.means.get(self.speed))


def title_of(key: FigureKey) -> str:
    """`transactions/s`, `new_order p99 latency`."""
    words = wording.METRICS.get(key.metric, METRICS[key.metric].title)
    if key.scope == "all":
        return words
    return f"{key.scope} {words}"


def figure_in_short(key: FigureKey, value: float | None) -> str:
    """`470 transactions/s`; empty for none."""
    if value is None:
        return ""
    return value_in_words(key.metric, value)


def number_in_short(key: FigureKey, value: float) -> str:
    """The same in a table, whose column says what is counted: `470`."""
    return number_in_words(key.metric, value)


def span_in_short(key: FigureKey, low: float, high: float) -> str:
    """`402 to 440 transactions/s`."""
    return span_in_words(key.metric, low, high)


def measured_cell(campaign: Results, run: RunData, name: str) -> MeasuredCell:
    """`name`: by which commands find the campaign."""
    record = run.record
    tier = record.profile.name
    workload = record.workload.name
    runs: Sequence[RunData] = finished(campaign, tier, workload) or (run,)
    means: dict[FigureKey, float] = {}
    for metric, scope in FIGURES:
        values = whole(runs, (metric, scope))
        if values:
            means[FigureKey(metric, scope)] = fmean(values)
    return MeasuredCell(
        run=f"{name}/{record.run.slug}",
        tier=tier,
        workload=workload,
        means=means,
        is_paced=value_of(record, "offered_per_s") is not None,
        margin_pct=campaign.plan.judging.margin_pct,
        database=record.profile.cluster.database,
        nodes=record.profile.cluster.nodes,
        is_rehearsed=rehearsal.is_rehearsed(record.profile, record.workload),
    )
