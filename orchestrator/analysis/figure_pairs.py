"""What is compared of two sides, figure by figure: the values of both, and their ratio. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from orchestrator import metrics
from orchestrator.analysis.figures import slowed
from orchestrator.analysis.metric_values import Key, Measured, sound
from orchestrator.analysis.overload import LatencyOutcome
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import looks, stats
from orchestrator.units import format_seconds

# Metrics that are compared. New-Order is the only one of TPC-C's types here, the one that the
# specification reports first. Each further comparison is one more chance of a false alarm.
COMPARED: tuple[Key, ...] = (
    ("throughput_per_s", "all"),
    ("nopm", "all"),
    ("payload_bytes_per_s", "all"),
    ("latency_avg_s", "all"),
    ("latency_p99_s", "all"),
    ("latency_avg_s", "new_order"),
    ("latency_p99_s", "new_order"),
    ("rebuild_s", "all"),
    ("throughput_per_s", "rebuild"),
    ("latency_p99_s", "rebuild"),
    ("slow_share_pct", "all"),
    ("recovery_s", "all"),
    ("throughput_per_s", slowed.MEANWHILE),
    ("latency_avg_s", slowed.MEANWHILE),
    ("latency_p99_s", slowed.MEANWHILE),
)

# "Same" is two one-sided tests at 5 % (Schuirmann 1987): a 90 % interval within the margin.
# Contenders whose words are in question share the 5 %.
SAME_CONFIDENCE = 0.90


@dataclass(frozen=True)
class Pair:
    """One comparison before its verdict: the values of both sides, the baseline's first."""

    contender: str
    workload: str
    metric: metrics.Metric
    scope: str
    left: tuple[float, ...]
    right: tuple[float, ...]
    ratio: stats.Ratio
    obstacle: str  # why it must not be drawn, or empty
    # Whether the i-th values of both sides are of one repetition.
    in_blocks: bool
    share: float = 1.0  # share of the usual levels that its look has
    # Overload of a side, which decides instead of the figures.
    overload: LatencyOutcome | None = None
    # What is asked of all contenders beside one baseline, such as the workload's name. Empty where
    # it is asked of this one alone.
    question: str = ""

    @property
    def key(self) -> Key:
        return self.metric.name, self.scope

    @property
    def chance(self) -> float | None:
        """Its p-value, to be held against the usual levels, if it can come to a verdict at all."""
        if self.obstacle or self.overload or self.ratio.p_value is None:
            return None
        return looks.at_look([self.ratio.p_value], self.share)[0]

    @property
    def confidence(self) -> float:
        return looks.confidence(stats.CONFIDENCE, self.share)

    def within(self, sharing: int) -> float:
        """The confidence of the interval that shows sameness: each end is a one-sided test.

        `sharing`: so many contenders share the chance of error."""
        return looks.confidence(SAME_CONFIDENCE, self.share / sharing)

    def is_far(self, margin_pct: float) -> bool:
        """Whether its whole interval lies beyond the margin: then neither "same" nor the wrong
        direction can be said of it, and it takes no chance of error from the others."""
        interval = self.ratio.interval_pct
        # Nothing is known of it yet, so it takes part in the chance.
        if interval is None:
            return False
        low, high = interval
        return high < -margin_pct or low > margin_pct


def pairs(
    contender: str,
    workload: str,
    sides: tuple[Sequence[Measured], Sequence[Measured]],
    reason: str,
) -> Iterator[Pair]:
    """The comparisons of all figures that runs of both sides have, the baseline's first, without
    an interval; none where there is no change, as a side has no figure or the baseline zero."""
    first, second = sides
    for key in COMPARED:
        left = _values(first, key)
        right = _values(second, key)
        if not left or not right or sum(left) <= 0:
            continue
        runs = len(first) + len(second)
        metric, scope = key
        yield Pair(
            contender=contender,
            workload=workload,
            metric=metrics.METRICS[metric],
            scope=scope,
            left=left,
            right=right,
            ratio=stats.ratio_of_all(left, right),
            obstacle=reason or _obstacle(key, (left, right), runs),
            in_blocks=True,
        )


def _values(side: Sequence[Measured], key: Key) -> tuple[float, ...]:
    """The values of the runs that have the figure."""
    return tuple(run[key].value for run in side if key in run)


def _obstacle(
    key: Key, sides: tuple[tuple[float, ...], tuple[float, ...]], runs: int
) -> str:
    """Why the figures themselves must not be compared; empty if nothing says so."""
    left, right = sides
    absent = runs - len(left) - len(right)
    if absent:
        # Dropping such runs would choose among them: the slow ones lack percentiles first.
        return f"{absent} of {runs} runs have no such figure"
    if min(*left, *right) <= 0:
        return "a run's figure is zero, and a ratio to it has no meaning"
    apart = max(*left, *right) - min(*left, *right)
    if key == ("recovery_s", "all") and apart <= slowed.LEAST_RECOVERY_S:
        least = format_seconds(slowed.LEAST_RECOVERY_S)
        return f"times to recover within {least} of each other are not told apart"
    return ""


def of_runs(
    contender: str,
    workload: str,
    runs: tuple[Sequence[RunData], Sequence[RunData]],
    obstacle: str,
    share: float = 1.0,
    question: str = "",
) -> Iterator[Pair]:
    """The comparisons of finished runs, of the repetitions that both sides finished: with an
    interval if there are several. `question`: as in `Pair`; the workload unless it is given."""
    left, right = runs
    by_left = _by_repetition(left)
    by_right = _by_repetition(right)
    sides = (list(by_left.values()), list(by_right.values()))
    for pair in pairs(contender, workload, sides, obstacle):
        asked = replace(pair, share=share, question=question or workload)
        yield _in_blocks(asked, by_left, by_right)


_ByRepetition = Mapping[int, Measured]


def _by_repetition(runs: Sequence[RunData]) -> _ByRepetition:
    return {run.record.run.repetition: sound(run.record.measurements) for run in runs}


def _in_blocks(pair: Pair, left: _ByRepetition, right: _ByRepetition) -> Pair:
    """The comparison of the repetitions that both sides finished.

    Several repetitions give an interval.
    """
    key = pair.key
    common: list[int] = []
    for number, run in left.items():
        if key in run and key in right.get(number, ()):
            common.append(number)
    first = tuple(left[number][key].value for number in common)
    second = tuple(right[number][key].value for number in common)
    ratio = pair.ratio
    # There is no ratio if a figure is zero, or if both finished no repetition in common.
    with suppress(ValueError):
        ratio = stats.ratio_of_means(first, second, pair.confidence)
    return replace(pair, left=first, right=second, ratio=ratio)
