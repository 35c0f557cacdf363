"""JUnit XML as Jenkins and other CI servers read it: a suite for each workload, its runs,
comparisons and decision as test cases. Elements and attributes (junit.xml.jinja) are those of
Jenkins' schema (https://github.com/jenkinsci/xunit-plugin, junit-10.xsd)."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator import metrics, units
from orchestrator.analysis import conclusions, results
from orchestrator.planning import factors
from orchestrator.report import report_index, wording
from orchestrator.report.exports.run_figures import MISSING, RunFigures, runs
from orchestrator.report.prose import words
from orchestrator.report.rendering import filled
from orchestrator.report.sections.caveats import stamps

# What XML 1.0 cannot hold, not even escaped; a server's log may have it.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class _Case:
    """`outcome`: passed, skipped, failure or error; `kind`: the word for why it did not pass;
    `text`: what there is to say of it."""

    group: str
    name: str
    outcome: str
    kind: str
    text: str
    time_s: float = 0.0


def text(campaign: results.Results, verdict: conclusions.Verdict) -> str:
    """The whole document, with its declaration. A suite's `began`: of its first run, as the schema
    has a time; None if none was begun."""
    index = report_index.ReportIndex(campaign, verdict)
    # The loads of a sweep have one decision, which stands with the last of them.
    last = {factors.subject(load): load.name for load in index.workloads}
    cases = units.gathered(
        (
            *((run.run.workload, _run(index, run)) for run in runs(campaign)),
            *((delta.workload, _comparison(delta)) for delta in verdict.deltas),
            *((last.get(of.workload, ""), _decision(of)) for of in verdict.decisions),
        )
    )
    began = units.gathered((data.record.run.workload, data) for data in campaign.runs)
    suites = [
        {
            "workload": name,
            "cases": cases.get(name, []),
            "began": _time(began.get(name, [])),
        }
        for name in (load.name for load in index.workloads)
    ]
    values = {"name": campaign.name, "suites": suites, "stamps": stamps(index)}
    return filled(
        "junit.xml.jinja",
        {"xml": lambda words: _NOT_XML.sub("\ufffd", words)},
        **values,
    )


def _time(of_runs: list[results.RunData]) -> str | None:
    span_s = results.span_s(of_runs)
    if span_s:
        return f"{datetime.fromtimestamp(span_s[0], UTC):%Y-%m-%dT%H:%M:%S}"
    return None


def _run(index: report_index.ReportIndex, run: RunFigures) -> _Case:
    name = (
        f"run {run.run.number:02d}: {run.run.profile}, repetition {run.run.repetition}"
    )
    loss = index.campaign.lost(run.run).removeprefix("was ")
    begin_s, end_s = run.span_s or (0.0, 0.0)
    if not loss:
        return _Case(
            "runs", name, "passed", "", f"{len(run.figures)} figures", end_s - begin_s
        )
    if run.outcome == MISSING:
        outcome = "skipped"
    else:
        outcome = "error"
    return _Case("runs", name, outcome, run.outcome, loss, end_s - begin_s)


_OF_WORD = words("junit.outcomes")


def _comparison(delta: conclusions.Delta) -> _Case:
    if delta.scope == "all":
        scope = ""
    else:
        scope = f"{delta.scope}: "
    span = wording.interval(delta) or "no interval"
    change = f"{units.format_change(delta.change_pct)} ({span})"
    if delta.overloaded:
        change = f"not compared, as {units.listed(delta.overloaded)} served too little"
    said = f"{delta.verdict}: {change}; {delta.reason}"
    title = metrics.METRICS[delta.metric].title
    name = f"{delta.contender} against {delta.baseline}, {scope}{title}"
    return _Case("comparisons", name, _OF_WORD[delta.verdict], delta.verdict, said)


def _decision(decision: conclusions.Decision) -> _Case:
    if decision.tier is None:
        return _Case(
            "decision", "which tier", "skipped", "no decision", decision.reason
        )
    return _Case(
        "decision", "which tier", "passed", "", f"{decision.tier}: {decision.reason}"
    )
