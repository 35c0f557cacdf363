"""Every planned run with what it left: what the exports write, before any format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.analysis import results
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry import resources
from orchestrator.model import Measurement, Run

MISSING = "missing"  # in the place of an outcome: the run left no record


@dataclass(frozen=True)
class RunFigures:
    """`excluded`: it does not enter results. `figures`: as its record has them, then those of
    telemetry over its window."""

    run: Run
    outcome: str
    excluded: bool
    figures: tuple[Measurement, ...]
    data: RunData | None

    @property
    def ended_s(self) -> float | None:
        """Unix seconds; None if it has no phases."""
        phases = self.data.record.phases if self.data else ()
        return max((phase.end_s for phase in phases), default=None)

    @property
    def took_s(self) -> float | None:
        """From the begin of its first phase to the end of its last."""
        phases = self.data.record.phases if self.data else ()
        if not phases:
            return None
        return max(phase.end_s for phase in phases) - min(phase.start_s for phase in phases)


def runs(campaign: Results) -> Iterator[RunFigures]:
    """The planned runs in order, those without a record too."""
    cpus = results.machine_cpus(campaign)
    left = {data.record.run.number: data for data in campaign.runs}
    used = {data.record.run.number for cell in results.cells(campaign) for data in cell.finished}
    for run in campaign.plan.runs:
        data = left.get(run.number)
        outcome = data.record.outcome if data else MISSING
        figures = _figures(data, cpus) if data and outcome == "done" else ()
        yield RunFigures(run, outcome, run.number not in used, figures, data)


def _figures(data: RunData, cpus: float | None) -> tuple[Measurement, ...]:
    stored = data.record.measurements
    known = {(one.metric, one.scope) for one in stored}
    sampled = resources.telemetry_of(data, cpus)
    return (*stored, *(one for one in sampled if (one.metric, one.scope) not in known))
