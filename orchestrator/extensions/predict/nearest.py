"""Which tier comes nearest to an SLO that none is predicted to meet. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.disk_words import specified
from orchestrator.analysis.predictions import Prediction
from orchestrator.design.slo import format_objective
from orchestrator.metrics import METRICS
from orchestrator.model import Objective
from orchestrator.texts import prose


@dataclass(frozen=True)
class Nearest:
    """A tier that comes nearest, and the clauses that are within its prediction.

    `price`: in words; empty if not known.
    """

    tier: str
    price: str
    possible_clauses: tuple[str, ...]

    def __str__(self) -> str:
        """`azure/P15, for 34.56 USD a month, comes nearest: it is predicted to keep p99 < 9 ms`."""
        clauses = prose.listed(self.possible_clauses)
        tier = specified(self.tier)
        if self.price:
            tier = f"{tier}, for {self.price},"
        return f"{tier} comes nearest: it is predicted to keep {clauses}"


def nearest(predictions: Sequence[Prediction]) -> Nearest | None:
    """Which of the tiers comes nearest if none meets an SLO. None if nothing is predicted."""
    candidates: list[Prediction] = []
    for prediction in predictions:
        if prediction.figures and prediction.chance is not None:
            candidates.append(prediction)
    if not candidates:
        return None
    best = max(candidates, key=_nearness)
    clauses: list[str] = []
    for key, figure in best.by_key.items():
        # The worse end of its interval, so that all of it meets the clause.
        bound = figure.low
        if METRICS[key.metric].less_is_better:
            bound = figure.high
        rounded = float(f"{bound:.3g}")
        objective = Objective(key.metric, key.scope, rounded)
        clauses.append(format_objective(objective))
    return Nearest(best.tier, phrases.monthly(best.price), tuple(clauses))


def _nearness(prediction: Prediction) -> tuple[float, float]:
    """How near a prediction comes to the SLO: by its chance, then by the worst of its figures."""
    goodness: list[float] = []
    for key, figure in prediction.by_key.items():
        better = -math.inf
        if figure.value > 0:
            better = math.log(figure.value)
        if METRICS[key.metric].less_is_better:
            better = -better
        goodness.append(better)
    return (prediction.chance or 0.0, min(goodness))
