"""Records and their tables as one bundle, and tidy pandas frames made from them. Pure.

`Campaign` is what the store hands to everything right of "records": analysis and report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orchestrator.model import Plan, Record


@dataclass(frozen=True)
class RunData:
    """One run as stored.

    intervals: time_s (Unix), phase, throughput_per_s, latency_avg_s, latency_p50_s,
        latency_p95_s, latency_p99_s, errors: one row per second.
    samples: time_s (Unix), node, metric, unit, value, phase: counters as read, no rates.
    Both are empty frames with these columns where a run left none.
    """

    record: Record
    intervals: pd.DataFrame
    samples: pd.DataFrame


@dataclass(frozen=True)
class Campaign:
    """One results folder, loaded."""

    name: str
    plan: Plan
    fingerprint: Mapping[str, Any]
    runs: tuple[RunData, ...]
