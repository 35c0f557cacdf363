"""How figures follow a factor: by a power of its value, by a gentle bend, or with a knee. Pure.

A law is a power of the value: least squares of logarithms over the repetitions that have all
values. It holds unless the means are off the line by more than the margin and by more than chance.
Where it does not hold it may bend gently, as what saturates does. Only what turns faster than that
has a knee: between the two values that leave the best pair of lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from orchestrator import metrics
from orchestrator.analysis import metric_values
from orchestrator.analysis.conclusions import Law
from orchestrator.analysis.decisions.values import Values
from orchestrator.analysis.metric_values import Key
from orchestrator.analysis.statistics import stats

LEVEL = 0.05  # level of the test for lack of fit; and each end of a law's interval
# Less than this sum of squares is that of a single value, of which no line has a slope.
_NO_SPREAD = 1e-12


def of_tier(values: Values, tier: str) -> Iterator[Law]:
    """The laws of the tier's figures; where nodes are added, also of rates for each node.

    There are none if values are words or if there is one repetition.
    """
    numbers = values.numbers
    # A power law is a line of logarithms, which zero has not.
    if min(numbers, default=0) <= 0:
        return
    nodes = values.nodes(tier)
    margin_pct = values.campaign.plan.judging.margin_pct
    for key in values.keys:
        rows = _whole_repetitions(values, tier, key)
        # One repetition has no spread against which a line could be held.
        if len(rows) < 2:
            continue
        yield law(key, numbers, rows, margin_pct, per_node=False)
        is_rate = metrics.METRICS[key[0]].direction == "higher"
        if is_rate and len(set(nodes)) > 1:
            per_node = rows / np.array(nodes)
            yield law(key, numbers, per_node, margin_pct, per_node=True)


def _whole_repetitions(values: Values, tier: str, key: Key) -> np.ndarray:
    """A row for each repetition that has the figure at all values, in the order of the values."""
    rows: dict[int, list[float]] = {}
    for runs in values.runs(tier):
        for run in runs:
            figure = metric_values.value_of(run.record, *key)
            if figure:
                rows.setdefault(run.record.run.repetition, []).append(figure)
    return np.array([row for row in rows.values() if len(row) == len(values.numbers)])


# ------------------------------------------------------------------ a power


@dataclass(frozen=True)
class _Squares:
    """A sum of squares with its degrees of freedom."""

    total: float
    freedom: int

    @property
    def mean(self) -> float:
        return self.total / self.freedom


@dataclass(frozen=True)
class _PowerFit:
    """A line through the logarithms of all repetitions.

    `x`, `means`: logarithms of the values, and the mean of the figures at each, around zero.
    `weight`: of the slope, the sum of squares of all x. `chance`, `lack`: what repetitions differ
    by, and what their means are off the line.
    """

    x: np.ndarray
    means: np.ndarray
    repetitions: int
    slope: float
    weight: float
    chance: _Squares

    @property
    def off(self) -> np.ndarray:
        """What each mean is off the line."""
        return self.means - self.slope * self.x

    @property
    def lack(self) -> _Squares:
        total = self.repetitions * _sum_of_squares(self.off)
        return _Squares(total, len(self.x) - 2)


def _fit(numbers: Sequence[float], rows: np.ndarray) -> _PowerFit:
    logs_of_numbers = np.log(np.asarray(numbers, dtype=float))
    x = logs_of_numbers - logs_of_numbers.mean()
    logs = np.log(rows)
    # Each repetition has a level of its own, as a slow hour slows all of its runs.
    y = logs - logs.mean(axis=1, keepdims=True)
    repetitions, count = y.shape
    weight = repetitions * _sum_of_squares(x)
    slope = float((y * x).sum()) / weight
    means = y.mean(axis=0)
    chance = _Squares(_sum_of_squares(y - means), (repetitions - 1) * (count - 1))
    return _PowerFit(x, means, repetitions, slope, weight, chance)


def law(
    key: Key,
    numbers: Sequence[float],
    rows: np.ndarray,
    margin_pct: float,
    per_node: bool,
) -> Law:
    """How figures follow the numbers; `rows`: a repetition each, in the order of the numbers."""
    fit = _fit(numbers, rows)
    half = _half_of_interval(fit)
    knee: int | None = None
    bends = _is_off(fit.off, fit.lack, fit.chance, margin_pct)
    if bends and not _bends_gently(fit, margin_pct):
        knee = _knee(fit.x, fit.means)
    return Law(
        metric=key[0],
        scope=key[1],
        per_node=per_node,
        exponent=fit.slope,
        low=fit.slope - half,
        high=fit.slope + half,
        values=len(fit.x),
        knee=knee,
        bends=bends,
    )


def _is_off(
    off: np.ndarray, lack: _Squares, chance: _Squares, margin_pct: float
) -> bool:
    """Whether means are off a curve by more than the margin and by more than chance."""
    # The test finds bends that no buyer would care about if there is little noise: hence the
    # margin.
    beyond_margin = float(np.abs(off).max()) > math.log1p(margin_pct / 100)
    return beyond_margin and _does_not_fit(lack, chance)


def _sum_of_squares(values: np.ndarray) -> float:
    return float((values**2).sum())


def _half_of_interval(fit: _PowerFit) -> float:
    """Student's, of the slope, by all that is off the line."""
    lack = fit.lack
    freedom = fit.chance.freedom + lack.freedom
    residual = math.sqrt((fit.chance.total + lack.total) / freedom)
    # A few repetitions may agree by luck.
    spread = max(residual, stats.NOISE_FLOOR)
    error = spread / math.sqrt(fit.weight)
    return stats.t_quantile(1 - LEVEL, freedom) * error


def _does_not_fit(lack: _Squares, chance: _Squares) -> bool:
    """The F test for lack of fit, against the spread of repetitions (Draper and Smith, Applied
    Regression Analysis, 1998, section 2.1)."""
    # Two values are always on a line.
    if not lack.freedom:
        return False
    ratio = lack.mean / max(chance.mean, stats.NOISE_FLOOR**2)
    return bool(special.fdtrc(lack.freedom, chance.freedom, ratio) <= LEVEL)


# ------------------------------------------------------------------ a gentle bend

# A curve that saturates, x / (x + h), has one power far below h. It has another far above. At no
# value one becomes the other, so that is no knee. The bend is looked for between multiples of the
# least and the most number. So many places are tried.
_BEND_BELOW = 1 / 16
_BEND_ABOVE = 16.0
_BENDS = 65
# Its power may change by so much from far below the bend to far above: that of x / (x + h).
_MOST_TURN = 1.0


def _bends_gently(fit: _PowerFit, margin_pct: float) -> bool:
    """Whether X^b (1 + X/h)^d, with d from -1 to 1, explains the means as a power would have to.
    The `x` of the fit are logarithms of X."""
    off = _off_gentle_bend(fit.x, fit.means)
    # Four things are fitted, though d within bounds: at least one is left to test.
    freedom = max(1, len(fit.means) - 4)
    lack = _Squares(fit.repetitions * _sum_of_squares(off), freedom)
    return not _is_off(off, lack, fit.chance, margin_pct)


def _off_gentle_bend(x: np.ndarray, means: np.ndarray) -> np.ndarray:
    """What the best of such curves leaves of the means, by least squares of logarithms."""
    numbers = np.exp(x)
    least = _BEND_BELOW * numbers.min()
    most = _BEND_ABOVE * numbers.max()
    best: np.ndarray = means - means.mean()
    for bend in np.geomspace(least, most, _BENDS):
        turn = np.log1p(numbers / bend)
        off = _off_bend_at(x, turn, means)
        if _sum_of_squares(off) < _sum_of_squares(best):
            best = off
    return best


def _off_bend_at(x: np.ndarray, turn: np.ndarray, means: np.ndarray) -> np.ndarray:
    """`turn`: what is added to the logarithms for each power by which the curve turns."""
    constant = np.ones(len(means))
    terms = np.column_stack([constant, x, turn])
    fitted, *_ = np.linalg.lstsq(terms, means, rcond=None)
    # A sharper turn than that of saturation would be a knee. The line is fitted to what is left.
    turned_by = float(np.clip(fitted[2], -_MOST_TURN, _MOST_TURN))
    rest = means - turned_by * turn
    line = np.column_stack([constant, x])
    along, *_ = np.linalg.lstsq(line, rest, rcond=None)
    return np.asarray(rest - line @ along)


# ------------------------------------------------------------------ a knee


@dataclass(frozen=True)
class _Line:
    """The line of some values. `misfit`: the sum of squares that it leaves."""

    slope: float
    misfit: float


def _line(x: np.ndarray, y: np.ndarray) -> _Line:
    x = x - x.mean()
    y = y - y.mean()
    slope = float((y * x).sum()) / max(_sum_of_squares(x), _NO_SPREAD)
    return _Line(slope, misfit=_sum_of_squares(y - slope * x))


class _Knee(NamedTuple):
    """How well a knee behind a value explains the figures: the least is the best, field by
    field, in this order."""

    # Misfit of both lines, in logarithms: to 3 digits, which is within 3 %.
    misfit: float
    likeness: float  # likeness of the step between them to its line, turned round
    flatness: float  # flatness of that step


def _knee(x: np.ndarray, means: np.ndarray) -> int:
    """Place of the value behind which figures follow another line. Where two pairs of lines fit
    within 3 %, the step between which is most unlike its own line; of equals the steepest."""
    knees = [_knee_behind(place, x, means) for place in range(len(x) - 1)]
    return knees.index(min(knees))


def _knee_behind(place: int, x: np.ndarray, means: np.ndarray) -> _Knee:
    after = place + 1
    left = _line(x[:after], means[:after])
    right = _line(x[after:], means[after:])
    step = float((means[after] - means[place]) / (x[after] - x[place]))
    # The first value alone has no slope to be unlike to: the step is held against what follows.
    line = right
    if place:
        line = left
    return _Knee(
        misfit=round(left.misfit + right.misfit, 3),
        likeness=-round(abs(step - line.slope), 2),
        flatness=-abs(step),
    )
