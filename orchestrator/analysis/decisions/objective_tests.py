"""Whether a tier meets an objective, such as a clause of an SLO. Pure.

Each is a one-sided test on the mean of repetitions: geometric, or of shares arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator import metrics
from orchestrator.analysis.conclusions import ObjectiveResult, ObjectiveWord
from orchestrator.analysis.decisions.candidates import FAILED, Candidate
from orchestrator.analysis.decisions.levels import ONE_SIDED, SHOWN
from orchestrator.analysis.statistics import looks, stats
from orchestrator.design.slo import format_objective
from orchestrator.model import Objective


@dataclass(frozen=True)
class ObjectiveTest:
    """One objective of one tier. `p_value`: as in `Comparison`; `missed`: proven."""

    objective: Objective
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float = 1.0
    missed: bool = False

    @property
    def is_lacking(self) -> bool:
        """Whether a run has no such figure, so that nothing can be told of it."""
        return self.value is None

    @property
    def clause(self) -> str:
        """`p99 < 20 ms`."""
        return format_objective(self.objective)

    def __str__(self) -> str:
        return f"{self.clause}: {self.measured}"

    @property
    def measured(self) -> str:
        """`41.2 ms (40.1 ms to 42.4 ms)`, `469 transactions/s (461 to 477)`."""
        if not self.interval:
            return self.mean
        return f"{self.mean} ({self.interval})"

    @property
    def mean(self) -> str:
        if self.value is None:
            return "not every run has it"
        return metrics.value_in_words(self.objective.metric, self.value)

    @property
    def interval(self) -> str:
        """Empty if there is none."""
        if self.low is None or self.high is None:
            return ""
        metric = self.objective.metric
        low = metrics.number_in_words(metric, self.low)
        high = metrics.number_in_words(metric, self.high)
        return f"{low} to {high}"

    def result(self, level: float) -> ObjectiveResult:
        """`level`: at which it is met."""
        clause = format_objective(self.objective)
        return ObjectiveResult(
            objective=clause,
            word=self._word(level),
            measured=self.measured,
            value=self.value,
            ci_low=self.low,
            ci_high=self.high,
            mean=self.mean,
            interval=self.interval,
        )

    def _word(self, level: float) -> ObjectiveWord:
        if self.missed:
            return "missed"
        if self.p_value <= level:
            return "met"
        return "open"


@dataclass(frozen=True)
class _Mean:
    """The mean of a tier's repetitions.

    It has an interval, and the p-value that the mean is the limit or more. With one repetition it
    has neither.
    """

    value: float
    low: float | None
    high: float | None
    p_above: float | None


def objective_test(
    candidate: Candidate, objective: Objective, *, share: float, family: int
) -> ObjectiveTest:
    """`share`: of the usual levels, that of this look (`looks`). `family`: how many objectives of
    all tiers are tested."""
    values = (candidate.measured or {}).get(objective, ())
    if not values:
        return ObjectiveTest(objective)
    confidence = looks.confidence(SHOWN, share)
    if objective.metric == FAILED.metric:
        mean = _mean_share(values, objective.limit, confidence)
    else:
        mean = _mean(values, objective.limit, confidence)
    # One repetition tells a value and no interval, so it is neither met nor missed.
    if mean.p_above is None:
        return ObjectiveTest(objective, mean.value)
    if metrics.METRICS[objective.metric].less_is_better:
        failing = mean.p_above
    else:
        failing = 1 - mean.p_above
    kept, missed = looks.at_look((failing, 1 - failing), share)
    # One missed clause is enough to refuse a tier, and one of many may seem missed by chance. What
    # a refused tier would have claimed goes to the claims of the others.
    is_missed = missed <= ONE_SIDED / family
    return ObjectiveTest(objective, mean.value, mean.low, mean.high, kept, is_missed)


def _mean(values: Sequence[float], limit: float, confidence: float) -> _Mean:
    """The mean of rates and times."""
    # Geometric, since their noise is proportional.
    mean = stats.geometric_mean(values, confidence)
    p_above = None
    if mean.error is not None:
        p_above = mean.chance_beyond(limit)
    return _Mean(mean.ratio, mean.low, mean.high, p_above)


def _mean_share(values: Sequence[float], limit: float, confidence: float) -> _Mean:
    """The mean of shares of failed transactions."""
    # Arithmetic, since a share may be zero, which has no logarithm.
    mean = stats.summarise(values, confidence)
    low = None
    if mean.ci_low is not None:
        # Student's interval does not know that a share is never below zero.
        low = max(0.0, mean.ci_low)
    p_above = stats.chance_of_share_above(values, limit)
    return _Mean(mean.mean, low, mean.ci_high, p_above)
