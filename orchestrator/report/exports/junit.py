"""JUnit XML as Jenkins and other CI servers read it: a suite for each workload, its runs,
comparisons and decision as test cases. Elements and attributes (junit.xml.jinja) are those of
Jenkins' schema (https://github.com/jenkinsci/xunit-plugin, junit-10.xsd).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from orchestrator import units
from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Decision, Delta, Verdict
from orchestrator.metrics import METRICS
from orchestrator.planning import load_points
from orchestrator.report import wording
from orchestrator.report.exports.run_figures import RunFigures, runs
from orchestrator.report.prose import words
from orchestrator.report.rendering import filled
from orchestrator.report.report_index import ReportIndex
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


def text(campaign: results.Results, verdict: Verdict) -> str:
    """The whole document, with its declaration."""
    index, every = ReportIndex(campaign, verdict), list(runs(campaign))
    suites = [_suite(index, load.name, every) for load in campaign.plan.workloads]
    values = {"name": campaign.name, "suites": suites, "stamps": stamps(index)}
    return filled("junit.xml.jinja", {"xml": lambda words: _NOT_XML.sub("\ufffd", words)}, **values)


def _suite(index: ReportIndex, workload: str, every: list[RunFigures]) -> dict[str, Any]:
    """`began`: of its first run, as the schema has a time; None if none was begun."""
    own = (data for data in index.campaign.runs if data.record.run.workload == workload)
    span = results.span_s(own)
    began = datetime.fromtimestamp(span[0], UTC).strftime("%Y-%m-%dT%H:%M:%S") if span else None
    cases = list(_cases(index, workload, every))
    return {"workload": workload, "cases": cases, "began": began}


def _cases(index: ReportIndex, workload: str, every: list[RunFigures]) -> Iterator[_Case]:
    verdict = index.verdict
    yield from (_run(index, run) for run in every if run.run.workload == workload)
    yield from (_comparison(delta) for delta in verdict.deltas if delta.workload == workload)
    # The loads of a sweep have one decision, which stands with the last of them.
    last = {load_points.subject(load): load.name for load in index.workloads}
    yield from (_decision(d) for d in verdict.decisions if last.get(d.workload) == workload)


def _run(index: ReportIndex, run: RunFigures) -> _Case:
    name = f"run {run.run.number:02d}: {run.run.profile}, repetition {run.run.repetition}"
    loss = index.loss(run.run)
    begin_s, end_s = results.span_s([run.data] if run.data else []) or (0.0, 0.0)
    time_s = end_s - begin_s
    if run.data is None:
        return _Case("runs", name, "skipped", "missing", loss or "not carried out")
    if loss is not None:
        return _Case("runs", name, "error", run.outcome, loss, time_s)
    if run.excluded:
        return _Case("runs", name, "skipped", "excluded", "does not enter results", time_s)
    return _Case("runs", name, "passed", "", f"{len(run.figures)} figures", time_s)


_OF_WORD = words("junit.outcomes")


def _comparison(delta: Delta) -> _Case:
    scope = "" if delta.scope == "all" else f"{delta.scope}: "
    span = wording.interval(delta) or "no interval"
    change = f"{units.format_change(delta.change_pct)} ({span})"
    if delta.overloaded:
        change = f"not compared, as {units.listed(delta.overloaded)} served too little"
    said = f"{delta.verdict}: {change}; {delta.reason}"
    title = METRICS[delta.metric].title
    name = f"{delta.contender} against {delta.baseline}, {scope}{title}"
    return _Case("comparisons", name, _OF_WORD[delta.verdict], delta.verdict, said)


def _decision(decision: Decision) -> _Case:
    if decision.tier is None:
        return _Case("decision", "which tier", "skipped", "no decision", decision.reason)
    return _Case("decision", "which tier", "passed", "", f"{decision.tier}: {decision.reason}")
