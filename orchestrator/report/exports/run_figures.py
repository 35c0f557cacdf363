"""Every planned run with what it left, which all exports write; and as CSV, in long form."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.analysis import conclusions, results
from orchestrator.analysis.telemetry import resources
from orchestrator.model import Measurement, Run

MISSING = "missing"  # in the place of an outcome: the run left no record


@dataclass(frozen=True)
class RunFigures:
    """`excluded`: it does not enter results. `figures`: its record's, then those of telemetry.
    `span_s`: when it began and ended, in Unix seconds; None if it did not begin."""

    run: Run
    outcome: str
    excluded: bool
    figures: tuple[Measurement, ...]
    span_s: tuple[float, float] | None


def runs(campaign: results.Results) -> Iterator[RunFigures]:
    """The planned runs in order, those without a record too."""
    cpus = results.machine_cpus(campaign)
    used = {
        data.record.run.number
        for cell in results.cells(campaign)
        for data in cell.finished
    }
    for run in campaign.plan.runs:
        data = campaign.by_number.get(run.number)
        outcome: str = MISSING
        if data:
            outcome = data.record.outcome
        figures: dict[tuple[str, str], Measurement] = {}
        if data and outcome == "done":
            for figure in (
                *data.record.measurements,
                *resources.telemetry_of(data, cpus),
            ):
                figures.setdefault((figure.metric, figure.scope), figure)
        span_s = results.span_s([data] if data else [])
        yield RunFigures(
            run, outcome, run.number not in used, tuple(figures.values()), span_s
        )


_OF_RUN = ("run", "profile", "disk", "workload", "repetition", "outcome", "excluded")
_OF_FIGURE = ("metric", "scope", "unit", "direction", "value")
COLUMNS = (*_OF_RUN, *_OF_FIGURE)


def as_csv(campaign: results.Results, _: conclusions.Verdict) -> str:
    """A row for each figure of each run, or one without a metric, so that no run is overlooked.
    `disk`: the kind of the tier's disks; `excluded`: yes or no; numbers have all their digits."""
    disks = {profile.name: profile.tier.disk.kind for profile in campaign.plan.profiles}
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for of_run in runs(campaign):
        run = of_run.run
        if of_run.excluded:
            excluded = "yes"
        else:
            excluded = "no"
        what = (
            run.number,
            run.profile,
            disks[run.profile],
            run.workload,
            run.repetition,
        )
        figures = [
            [getattr(figure, name) for name in _OF_FIGURE] for figure in of_run.figures
        ]
        for figure in figures or [[""] * len(_OF_FIGURE)]:
            writer.writerow((*what, of_run.outcome, excluded, *figure))
    return page.getvalue()
