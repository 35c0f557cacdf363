"""Exports of one small campaign: word for word (`make golden` rewrites them), and held against the
rules of each format."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from orchestrator.analysis import metric_values
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Profile, Run
from orchestrator.report.exports import FORMATS, junit, openmetrics, run_figures
from tests import golden, report_verdicts
from tests.campaigns import build_campaign

FAILED, MISSING = 8, (3, 7)  # ultra × tpcc, ultra × insert
CAMPAIGN = build_campaign(
    profiles=["premium", "ultra"],
    workloads=["insert", "tpcc"],
    repetitions=2,
    nodes=1,
    values={
        ("premium", "insert"): (580.0, 600.0),
        ("premium", "tpcc"): (310.0, 315.0),
        ("ultra", "tpcc"): (470.0, 475.0),
    },
    missing=[("ultra", "insert")],
    failed=[FAILED],
    frames=False,
)
VERDICT = judge(CAMPAIGN)
SAMPLED = build_campaign(
    profiles=["premium"],
    workloads=["insert"],
    repetitions=1,
    warmup_s=5.0,
    measure_s=20.0,
)
DONE = {
    run.record.run.number: run.record
    for run in CAMPAIGN.runs
    if run.record.outcome == "done"
}


@pytest.mark.parametrize("form", FORMATS)
def test_the_export_is_the_golden_one(form: str) -> None:
    golden.compare(f"report/export-{form}.txt", FORMATS[form](CAMPAIGN, VERDICT))


def with_name(old: str, new: str) -> Results:
    """The campaign with another name of a profile."""

    def renamed(profile: Profile) -> Profile:
        return replace(profile, name=new) if profile.name == old else profile

    def moved(run: Run) -> Run:
        return replace(run, profile=new) if run.profile == old else run

    plan = CAMPAIGN.plan
    runs = tuple(
        replace(
            one,
            record=replace(
                one.record,
                run=moved(one.record.run),
                profile=renamed(one.record.profile),
            ),
        )
        for one in CAMPAIGN.runs
    )
    profiles = tuple(map(renamed, plan.profiles))
    plan = replace(plan, profiles=profiles, runs=tuple(map(moved, plan.runs)))
    return replace(CAMPAIGN, plan=plan, runs=runs)


# ------------------------------------------------------------------ csv


def test_csv_gives_every_stored_figure_back_digit_by_digit() -> None:
    rows = list(csv.DictReader(io.StringIO(run_figures.as_csv(CAMPAIGN, VERDICT))))
    assert tuple(rows[0]) == run_figures.COLUMNS
    for number, record in DONE.items():
        read = {
            (row["metric"], row["scope"]): (float(row["value"]), row["unit"])
            for row in rows
            if row["run"] == str(number)
        }
        assert {
            (m.metric, m.scope): (m.value, m.unit) for m in record.measurements
        }.items() <= (read.items())


def test_figures_of_telemetry_are_exported_too() -> None:
    verdict = judge(SAMPLED)
    rows = csv.DictReader(io.StringIO(run_figures.as_csv(SAMPLED, verdict)))
    iops = {
        row["scope"]: float(row["value"])
        for row in rows
        if row["metric"] == "disk_iops"
    }
    assert set(iops) == {"all", "node-1", "node-2", "node-3"}
    found = families(openmetrics.text(SAMPLED, verdict))
    assert {
        s.labels["scope"]: s.value for s in found["tierbench_disk_iops"].samples
    } == iops
    units = {name: family.unit for name, family in found.items()}
    assert units["tierbench_disk_bytes_per_second"] == "bytes_per_second"
    assert units["tierbench_cpu_ratio"] == "ratio"
    assert all(0 < s.value < 1 for s in found["tierbench_cpu_ratio"].samples)


def test_csv_has_a_row_for_runs_without_figures_and_says_that_they_are_excluded() -> (
    None
):
    rows = list(csv.DictReader(io.StringIO(run_figures.as_csv(CAMPAIGN, VERDICT))))
    empty = {int(row["run"]): row for row in rows if not row["metric"]}
    assert {
        n: (row["outcome"], row["excluded"], row["value"]) for n, row in empty.items()
    } == {
        FAILED: ("failed", "yes", ""),
        **dict.fromkeys(MISSING, ("missing", "yes", "")),
    }
    assert {row["excluded"] for row in rows if row["metric"]} == {"no"}


# ------------------------------------------------------------------ junit

# Element → attributes (True: required) and children of Jenkins' schema, as far as it goes here.
_SAID: tuple[dict[str, bool], set[str]] = ({"type": False, "message": False}, set())
_COUNTS = {"name": True, "tests": True, "failures": True, "errors": True, "time": False}
_SCHEMA: dict[str, tuple[dict[str, bool], set[str]]] = {
    "testsuites": (dict.fromkeys(_COUNTS, False), {"testsuite"}),
    "testsuite": (
        {**_COUNTS, "skipped": False, "timestamp": False},
        {"properties", "testcase"},
    ),
    "properties": ({}, {"property"}),
    "property": ({"name": True, "value": True}, set()),
    "testcase": (
        {"name": True, "classname": False, "time": False},
        {"skipped", "error", "failure", "system-out"},
    ),
    "skipped": _SAID,
    "error": _SAID,
    "failure": _SAID,
    "system-out": ({}, set()),
}
_TIME = re.compile(r"\d*\.\d*$")


def document(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = _SCHEMA[element.tag]
        assert {name for name, needed in attributes.items() if needed} <= set(
            element.attrib
        )
        assert set(element.attrib) <= set(attributes), element.tag
        assert {child.tag for child in element} <= children, element.tag
        assert "time" not in element.attrib or _TIME.match(element.attrib["time"])
    for suite in root.iter("testsuite"):
        tags = Counter(child.tag for case in suite.iter("testcase") for child in case)
        counted = {
            name: int(suite.attrib[name]) for name in ("failures", "errors", "skipped")
        }
        assert counted == {
            "failures": tags["failure"],
            "errors": tags["error"],
            "skipped": tags["skipped"],
        }
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    return root


def test_junit_tells_failed_runs_from_missing_ones() -> None:
    insert, tpcc = document(junit.text(CAMPAIGN, VERDICT)).findall("testsuite")
    missing = {
        c.attrib["name"]
        for c in insert.iter("testcase")
        if c.find("skipped") is not None
    }
    assert {"run 03: ultra, repetition 1", "run 07: ultra, repetition 2"} <= missing
    (error,) = tpcc.iter("error")
    assert error.attrib == {
        "type": "failed",
        "message": "failed: node-1 stopped answering",
    }


def test_junit_gives_each_verdict_its_own_outcome() -> None:
    campaign, verdict = (
        report_verdicts.reported_campaign(frames=False),
        report_verdicts.verdict(),
    )
    root = document(junit.text(campaign, verdict))
    kinds = Counter(
        (child.tag, child.attrib.get("type", ""))
        for case in root.iter("testcase")
        if case.attrib["classname"].endswith(".comparisons")
        for child in case
    )
    words = Counter(delta.verdict for delta in verdict.deltas)
    assert kinds == {
        ("failure", "worse"): words["worse"],
        ("skipped", "inconclusive"): words["inconclusive"],
        ("system-out", ""): words["better"] + words["same"],
    }
    reasons = {one.attrib["message"] for one in root.iter("skipped")}
    assert any("needs about 3 more repetitions" in reason for reason in reasons)
    decisions = [
        c for c in root.iter("testcase") if c.attrib["classname"].endswith(".decision")
    ]
    open_ones = sum(case.find("skipped") is not None for case in decisions)
    assert open_ones == sum(decision.tier is None for decision in verdict.decisions)


def test_junit_leaves_out_what_xml_cannot_hold() -> None:
    runs = tuple(
        replace(
            one,
            record=replace(one.record, failure="said \x1b[31m<no>\x00 & died\nat once"),
        )
        for one in CAMPAIGN.runs
    )
    root = document(junit.text(replace(CAMPAIGN, runs=runs), VERDICT))
    (error,) = root.iter("error")
    assert error.attrib["message"] == "failed: said \ufffd[31m<no>\ufffd & died"
    assert (error.text or "").endswith("& died\nat once")


# ------------------------------------------------------------------ openmetrics


def families(text: str) -> dict[str, Metric]:
    """Read by the library's strict parser: names, units, order and the end are checked there."""
    read: Iterator[Metric] = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {family.name: family for family in read}


def test_openmetrics_has_every_sound_figure_in_the_units_of_the_standard() -> None:
    found = families(openmetrics.text(CAMPAIGN, VERDICT))
    p99 = found["tierbench_latency_p99_seconds"]
    assert (p99.type, p99.unit) == ("gauge", "seconds")
    values = {(s.labels["run"], s.labels["scope"]): s.value for s in p99.samples}
    assert values["1", "all"] == metric_values.value_of(DONE[1], "latency_p99_s")
    assert {run for run, _ in values} == {str(number) for number in DONE}


def test_openmetrics_gives_times_of_runs_and_changes_with_their_intervals() -> None:
    verdict = report_verdicts.verdict()
    found = families(
        openmetrics.text(report_verdicts.reported_campaign(frames=False), verdict)
    )
    keys = ("profile", "workload", "metric", "scope")
    for name, field in (
        ("change_ratio", "change_pct"),
        ("change_low_ratio", "ci_low_pct"),
        ("change_high_ratio", "ci_high_pct"),
    ):
        samples = found[f"tierbench_{name}"].samples
        assert {tuple(s.labels[k] for k in keys): s.value for s in samples} == {
            (d.contender, d.workload, d.metric, d.scope): getattr(d, field) / 100
            for d in verdict.deltas
        }
    words = Counter(
        s.labels["tierbench_verdict"]
        for s in found["tierbench_verdict"].samples
        if s.value
    )
    assert words == Counter(delta.verdict for delta in verdict.deltas)
    outcomes = Counter(
        s.labels["tierbench_run_outcome"]
        for s in found["tierbench_run_outcome"].samples
        if s.value
    )
    assert outcomes == {"done": 15, "failed": 1, "missing": 2}
    assert all(
        s.timestamp is not None for family in found.values() for s in family.samples
    )
    first = found["tierbench_throughput_per_second"].samples[0]
    ended_s = (
        report_verdicts.reported_campaign(frames=False).runs[0].record.phases[-1].end_s
    )
    assert float(first.timestamp) == ended_s  # type: ignore[arg-type]


def test_openmetrics_escapes_names() -> None:
    odd = 'a "disk"\\2'
    found = families(openmetrics.text(with_name("ultra", odd), VERDICT))
    assert any(s.labels["profile"] == odd for s in found["tierbench_nopm"].samples)
