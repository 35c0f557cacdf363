"""JUnit XML as Jenkins and other CI servers read it: a suite for each workload, its runs,
comparisons and decision as test cases. Elements and attributes (junit.xml.jinja) are those of
Jenkins' schema (https://github.com/jenkinsci/xunit-plugin, junit-10.xsd)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from orchestrator import metrics, units
from orchestrator.analysis import conclusions, results
from orchestrator.design import varied_workloads
from orchestrator.report import wording
from orchestrator.report.exports.run_figures import (
    MISSING,
    RunFigures,
    kinds_of_doubts,
    runs,
)
from orchestrator.report.rendering import filled
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.caveats import stamps
from orchestrator.texts import prose

_Outcome = Literal["passed", "skipped", "failure", "error"]

# A change that nobody can tell is no test that ran.
_OUTCOMES: Mapping[conclusions.VerdictWord, _Outcome] = {
    "better": "passed",
    "worse": "failure",
    "same": "passed",
    "inconclusive": "skipped",
}
# What XML 1.0 cannot hold, not even escaped; a server's log may have it.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class _Case:
    """`kind`: the word for why it did not pass; `text`: what there is to say of it."""

    group: str
    name: str
    outcome: _Outcome
    kind: str
    text: str
    time_s: float = 0.0


@dataclass(frozen=True)
class _Suite:
    """`began`: the time of its first run, as the schema has it; None if none was begun."""

    workload: str
    cases: list[_Case]
    began: str | None


def text(campaign: results.Results, verdict: conclusions.Verdict) -> str:
    """The whole document, with its declaration."""
    index = ReportIndex(campaign, verdict)
    suites = _suites(index)
    labels = stamps(index)
    filters = {"xml": _as_xml}
    return filled(
        "junit.xml.jinja", filters, name=campaign.name, suites=suites, stamps=labels
    )


def _as_xml(words: str) -> str:
    return _NOT_XML.sub("\ufffd", words)


def _suites(index: ReportIndex) -> list[_Suite]:
    """One for each workload."""
    cases = units.gathered(_cases(index))
    begun = units.gathered(
        (data.record.run.workload, data) for data in index.campaign.runs
    )
    suites: list[_Suite] = []
    for load in index.workloads:
        began = _time(begun.get(load.name, []))
        cases_of_load = cases.get(load.name, [])
        suites.append(_Suite(load.name, cases_of_load, began))
    return suites


def _time(begun: list[results.RunData]) -> str | None:
    span_s = results.span_s(begun)
    if span_s is None:
        return None
    return f"{datetime.fromtimestamp(span_s.begin_s, UTC):%Y-%m-%dT%H:%M:%S}"


# ------------------------------------------------------------------ cases


def _cases(index: ReportIndex) -> Iterator[tuple[str, _Case]]:
    """Each with its workload."""
    for run in runs(index.campaign):
        yield run.run.workload, _run(index, run)
    for delta in index.verdict.deltas:
        yield delta.workload, _comparison(delta)
    # The loads of a sweep have one decision, which stands with the last of them.
    last_load = {
        varied_workloads.decision_subject(load): load.name for load in index.workloads
    }
    for decision in index.verdict.decisions:
        yield last_load.get(decision.workload, ""), _decision(decision)


def _run(index: ReportIndex, figures: RunFigures) -> _Case:
    run = figures.run
    name = f"run {run.number:02d}: {run.profile}, repetition {run.repetition}"
    took_s = 0.0
    if figures.span_s is not None:
        took_s = figures.span_s.end_s - figures.span_s.begin_s
    loss = index.campaign.loss(run)
    if loss is None:
        count = f"{len(figures.figures)} figures"
        kinds = kinds_of_doubts(index.verdict, run)
        if kinds:
            count += f"; notes: {', '.join(kinds)}"
        return _Case(
            group="runs",
            name=name,
            outcome="passed",
            kind="",
            text=count,
            time_s=took_s,
        )
    # An error, not a failure: the test could not be carried out, and nothing is proven of the tier.
    outcome: _Outcome = "error"
    # A run that was never begun did not fail: CI shows it as skipped.
    if figures.outcome == MISSING:
        outcome = "skipped"
    return _Case(
        group="runs",
        name=name,
        outcome=outcome,
        kind=figures.outcome,
        text=loss.label,
        time_s=took_s,
    )


def _comparison(delta: conclusions.Delta) -> _Case:
    what = metrics.METRICS[delta.metric].title
    if delta.scope != "all":
        what = f"{delta.scope}: {what}"
    name = f"{delta.contender} against {delta.baseline}, {what}"
    change = _change(delta)
    return _Case(
        group="comparisons",
        name=name,
        outcome=_OUTCOMES[delta.verdict],
        kind=delta.verdict,
        text=f"{delta.verdict}: {change}; {delta.reason}",
    )


def _change(delta: conclusions.Delta) -> str:
    if delta.overloaded:
        tiers = prose.listed(delta.overloaded)
        return f"not compared, as {tiers} served too little"
    change = units.format_change(delta.change_pct)
    interval = wording.interval(delta) or "no interval"
    return f"{change} ({interval})"


def _decision(decision: conclusions.Decision) -> _Case:
    name = "which tier"
    # It is no failure of a tier that none is named: that may take more repetitions.
    if decision.tier is None:
        return _Case(
            group="decision",
            name=name,
            outcome="skipped",
            kind="no decision",
            text=decision.reason,
        )
    why = f"{decision.tier}: {decision.reason}"
    return _Case(group="decision", name=name, outcome="passed", kind="", text=why)
