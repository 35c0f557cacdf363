"""Campaigns of one profile, with an SLO."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.analysis.results import Results
from tests.campaigns import SHAPES, build_campaign
from tests.decision_scenarios import RATES, asked_for


def alone(clause: str, **shape: Any) -> Results:
    """One profile with an SLO, five repetitions of 600/s."""
    usual = {
        "profiles": ["premium"],
        "workloads": ["insert"],
        "repetitions": 5,
        "values": {("premium", "insert"): RATES},
        "frames": False,
    }
    return asked_for(build_campaign(**{**usual, **shape}), clause)


def client_at_its_limit() -> Results:
    shape = replace(
        SHAPES["premium", "insert"], client_cpu_pct=90.0, throughput_per_s=600.0
    )
    shapes = {("premium", "insert"): shape}
    return alone("throughput > 5000", shapes=shapes, frames=True)
