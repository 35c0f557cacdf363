"""The nouns of judging: what `analysis` concludes from records, as verdict.json holds it.

Units stand in a field's name, as in `orchestrator.model`; `_pct` is percent of 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.facts import BottleneckCause
from orchestrator.model import Direction, Doubt

VerdictWord = Literal["better", "worse", "same", "inconclusive"]


@dataclass(frozen=True)
class CellSummary:
    """One metric of one cell over its finished runs. No interval if n < 2."""

    profile: str
    workload: str
    metric: str
    scope: str
    unit: str
    direction: Direction
    n: int
    mean: float
    median: float
    ci_low: float | None
    ci_high: float | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class Delta:
    """Contender against baseline. `change_pct` of the metric itself: negative latency is good."""

    baseline: str
    contender: str
    workload: str
    metric: str
    scope: str
    unit: str
    direction: Direction
    n_baseline: int
    n_contender: int
    change_pct: float
    ci_low_pct: float | None
    ci_high_pct: float | None
    verdict: VerdictWord
    reason: str


@dataclass(frozen=True)
class Bottleneck:
    """What limited a cell, on its busiest node; `evidence`: `analysis.resources.VALUES` by name."""

    profile: str
    workload: str
    node: str
    verdict: BottleneckCause
    text: str
    evidence: Mapping[str, float]


@dataclass(frozen=True)
class Decision:
    """Which tier to buy for a workload, or None if the evidence does not carry one."""

    workload: str
    tier: str | None
    reason: str
    monthly_cost: float | None
    currency: str | None


@dataclass(frozen=True)
class Verdict:
    """verdict.json: made from plan and records alone."""

    schema_version: int
    baseline: str
    cells: tuple[CellSummary, ...]
    deltas: tuple[Delta, ...]
    bottlenecks: tuple[Bottleneck, ...]
    decisions: tuple[Decision, ...]
    doubts: tuple[Doubt, ...]
    missing: tuple[str, ...] = ()
