"""How much each counter grew over a span of time. Pure."""

import math
from collections.abc import Mapping

import numpy as np

from orchestrator.analysis.telemetry.counters.counter_series import Key, Steps

MIN_COVERAGE = 0.5  # share of the window that samples must cover to stand for it


def moved(rates: Mapping[Key, Steps], start_s: float, end_s: float) -> dict[Key, float]:
    """Node and counter → its growth in [start_s, end_s].

    Counters without a step in that time are left out.
    """
    growth: dict[Key, float] = {}
    for key, steps in rates.items():
        overlap_s = np.minimum(steps.end_s, end_s) - np.maximum(steps.begin_s, start_s)
        reaches_into = overlap_s > 0
        if reaches_into.any():
            # A step counts in part, at its mean rate. So nothing of adjacent spans is lost, and
            # nothing is counted twice.
            parts = steps.per_s[reaches_into] * overlap_s[reaches_into]
            growth[key] = math.fsum(parts)
    return growth


class Growth:
    """Growth per second of each node's counters between the window's first and last sample. Those
    sampled for less than half of it are left out. `nodes`: all that were sampled."""

    def __init__(self, start_s: float, end_s: float) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._per_s: dict[Key, float] = {}
        self.nodes: set[str] = set()

    def add(self, rates: Mapping[Key, Steps]) -> None:
        """Takes in all `rates` of some nodes."""
        for key, steps in rates.items():
            node, _metric = key
            self.nodes.add(node)
            growth_per_s = self._in_window(steps)
            if growth_per_s is not None:
                self._per_s[key] = growth_per_s

    def _in_window(self, steps: Steps) -> float | None:
        """Growth per second in the window; None if its samples cover too little of it."""
        begins_within = steps.begin_s >= self._start_s
        lies_within = begins_within & (steps.end_s <= self._end_s)
        step_s = steps.step_s[lies_within]
        sampled_s = math.fsum(step_s)
        if not step_s.size or sampled_s < MIN_COVERAGE * (self._end_s - self._start_s):
            return None
        # No mean of rates, which uneven sampling would bend.
        return math.fsum(steps.per_s[lies_within] * step_s) / sampled_s

    def per_s(self, node: str, *metrics: str) -> float | None:
        """The sum of these counters per second; None if any was not sampled."""
        total = 0.0
        for metric in metrics:
            value = self._per_s.get((node, metric))
            # The sum would be too low without one of them, and look like the whole.
            if value is None:
                return None
            total += value
        return total
