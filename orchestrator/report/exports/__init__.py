"""A judged campaign in the formats of other programs: a pure function and one line here for each.
Figures keep their base units and all their digits."""

from collections.abc import Callable, Mapping

from orchestrator.analysis import conclusions, results
from orchestrator.report.exports import junit, openmetrics, run_figures

FORMATS: Mapping[str, Callable[[results.Results, conclusions.Verdict], str]] = {
    "csv": run_figures.as_csv,
    "junit": junit.text,
    "openmetrics": openmetrics.text,
}
