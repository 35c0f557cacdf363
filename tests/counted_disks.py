"""Runs whose emulated disks counted how long their limits kept I/Os."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.results import RunData
from tests.campaign_tables import Shape
from tests.campaigns import build_campaign


def of_disk(waited_s: float, took_s: float) -> RunData:
    """A run whose disk counted that of its reads, behind ten seconds of each before the window."""
    shapes = {
        ("premium-v2", "insert"): Shape(
            184.0, 1828.0, 2.0, await_s=0.00826, cpu_pct=26.0
        )
    }
    made = build_campaign(
        profiles=("premium-v2",), workloads=("insert",), repetitions=1, shapes=shapes
    )
    (run,) = made.runs
    begin = {"read": {"waited_s": 10.0, "took_s": 10.0}, "write": {}}
    end = {"read": {"waited_s": 10.0 + waited_s, "took_s": 10.0 + took_s}, "write": {}}
    disks = {
        f"disk-{node.name}": {"begin": begin, "end": end} for node in run.record.nodes
    }
    return replace(
        run, record=replace(run.record, facts={**run.record.facts, "disks": disks})
    )
