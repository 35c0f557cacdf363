"""Every planned run with what it left, which all exports write; and as CSV, in long form."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis import conclusions, results
from orchestrator.analysis.telemetry.use import telemetry_metrics
from orchestrator.model import Measurement, Run
from orchestrator.texts.foreign_text import csv_row
from orchestrator.texts.prose import yes_or_no

MISSING = "missing"  # stands in the place of an outcome: the run left no record


@dataclass(frozen=True)
class RunFigures:
    """`excluded`: it does not enter results. `figures`: its record's, then those of telemetry.
    `span_s`: when it began and ended, in Unix seconds; None if it did not begin."""

    run: Run
    outcome: str
    excluded: bool
    figures: tuple[Measurement, ...]
    span_s: results.TimeSpan | None


def runs(campaign: results.Results) -> Iterator[RunFigures]:
    """The planned runs in order, those without a record too."""
    cpus = results.machine_cpus(campaign)
    counting = _counting(campaign)
    for run in campaign.plan.runs:
        is_excluded = run.number not in counting
        data = campaign.by_number.get(run.number)
        if data is None:
            yield RunFigures(
                run=run, outcome=MISSING, excluded=is_excluded, figures=(), span_s=None
            )
            continue
        outcome = data.record.outcome
        # A run that failed may have left figures of a part of its window.
        figures: tuple[Measurement, ...] = ()
        if outcome == "done":
            figures = _figures(data, cpus)
        yield RunFigures(
            run=run,
            outcome=outcome,
            excluded=is_excluded,
            figures=figures,
            span_s=results.span_s([data]),
        )


def _counting(campaign: results.Results) -> set[int]:
    """Numbers of the runs that count."""
    counting: set[int] = set()
    for cell in results.cells(campaign):
        counting |= {data.record.run.number for data in cell.finished}
    return counting


def _figures(data: results.RunData, cpus: float | None) -> tuple[Measurement, ...]:
    """One figure of each metric and scope. What the record says goes before telemetry."""
    figures: dict[tuple[str, str], Measurement] = {}
    for figure in data.record.measurements:
        # The first of two stays, so the order of these loops is the rule.
        figures.setdefault((figure.metric, figure.scope), figure)
    for figure in telemetry_metrics.telemetry_of(data, cpus):
        figures.setdefault((figure.metric, figure.scope), figure)
    return tuple(figures.values())


# ------------------------------------------------------------------ CSV

_OF_RUN = (
    "run",
    "profile",
    "disk",
    "workload",
    "repetition",
    "outcome",
    "excluded",
    "doubts",
)
_OF_FIGURE = ("metric", "scope", "unit", "direction", "value")
COLUMNS = (*_OF_RUN, *_OF_FIGURE)


def as_csv(campaign: results.Results, verdict: conclusions.Verdict) -> str:
    """A row for each figure of each run, or one without a metric, so that no run is overlooked.
    `disk`: the kind of the tier's disks; `excluded`: yes or no; `doubts`: their kinds, with
    semicolons between them; numbers have all their digits, and no text is a formula."""
    disks = _kinds_of_disks(campaign)
    page = io.StringIO()
    # Tools of Unix take the `\r` of the module's own ending for part of the last column.
    writer = csv.DictWriter(page, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run_figures in runs(campaign):
        shared = _columns_of_run(run_figures, disks[run_figures.run.profile])
        shared["doubts"] = "; ".join(kinds_of_doubts(verdict, run_figures.run))
        for row in _rows(run_figures.figures):
            # A spreadsheet would carry out a text that begins with `=`.
            writer.writerow(csv_row({**shared, **row}))
    return page.getvalue()


def _kinds_of_disks(campaign: results.Results) -> dict[str, str]:
    """The kinds of disks, by profile."""
    return {profile.name: profile.tier.disk.kind for profile in campaign.plan.profiles}


def _columns_of_run(figures: RunFigures, disk: str) -> dict[str, object]:
    """What stands in all rows of a run."""
    run = figures.run
    return {
        "run": run.number,
        "profile": run.profile,
        "disk": disk,
        "workload": run.workload,
        "repetition": run.repetition,
        "outcome": figures.outcome,
        "excluded": yes_or_no(figures.excluded),
    }


def kinds_of_doubts(verdict: conclusions.Verdict, run: Run) -> list[str]:
    """The kinds of doubts about one run, each kind once."""
    kinds: list[str] = []
    for doubt in verdict.doubts:
        if doubt.run == run.number and doubt.kind not in kinds:
            kinds.append(doubt.kind)
    return kinds


def _rows(figures: Sequence[Measurement]) -> Iterator[dict[str, object]]:
    """Column → value; an empty row of a run without figures."""
    for figure in figures:
        yield {name: getattr(figure, name) for name in _OF_FIGURE}
    # A run without a row would seem never to have been planned.
    if not figures:
        yield {}
