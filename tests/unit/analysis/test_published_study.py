"""The published study: a stored campaign of its tables, judged and shown like any other."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator import units
from orchestrator.analysis.conclusions import Delta, Verdict
from orchestrator.analysis.results import Results
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure import concluding
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from orchestrator.facts import DoubtKind
from orchestrator.report import wording
from orchestrator.texts import prose
from tests import ROOT, golden
from tests.campaign_tables import sampled_in

PLACE = ROOT / "results" / "reference-azure-yugabytedb"
STORED = PLACE / "published"
TABLES: dict[str, Any] = yaml.safe_load((STORED / "study.yaml").read_text())
DOCUMENT = ROOT / "docs" / "research" / "STUDY.md"
WITHIN_PCT = 5.0
ALL_RUNS = set(range(1, 16)) - {10}
# A figure of the printed changes → metric and scope, as the campaign has them.
CHANGED = {
    "latency": ("latency_avg_s", "all"),
    "throughput": ("throughput_per_s", "all"),
    "nopm": ("nopm", "all"),
    "new_order_latency": ("latency_avg_s", "new_order"),
}


@dataclass(frozen=True)
class Judged:
    """The study as a campaign on disk, judged and reported."""

    folder: Path
    results: Results
    verdict: Verdict
    markdown: str


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("study") / "published"
    shutil.copytree(STORED, folder)
    concluded = concluding.conclude(folder)
    text = concluded.report.markdown.read_text().replace("\u00a0", " ")
    return Judged(folder, concluded.campaign, concluded.verdict, text)


# ------------------------------------------------------------------ figures


def number(printed: object) -> Decimal:
    """Without its unit."""
    return Decimal(re.sub(r"[a-zA-Z/]+$", "", str(printed)))


def test_every_published_figure_is_in_the_records_and_no_other(judged: Judged) -> None:
    published: dict[tuple[str, str], list[Decimal]] = {}
    for load, workload in TABLES["workloads"].items():
        for tier, figures in workload["results"].items():
            if figures:
                published[load, tier] = sorted(map(number, figures.values()))
    in_units_of_the_tables = {"s": 1000, "bytes/s": 1e-6}
    stored: dict[tuple[str, str], list[Decimal]] = {}
    for run in judged.results.done:
        values: list[Decimal] = []
        for measurement in run.record.measurements:
            factor = in_units_of_the_tables.get(measurement.unit, 1)
            values.append(Decimal(repr(round(measurement.value * factor, 6))))
        stored[run.record.run.workload, run.record.run.profile] = sorted(values)
    assert len(stored) == 14
    assert stored == published


def printed_changes() -> Iterator[tuple[str, str, str, Decimal]]:
    """Workload, figure, tier, and the change in percent with the digits that were printed."""
    for workload, figures in TABLES["deltas"].items():
        for figure, tiers in figures.items():
            for tier, printed in tiers.items():
                yield workload, figure, tier, Decimal(str(printed))


def computed(verdict: Verdict, workload: str, figure: str, tier: str) -> Delta:
    for delta in verdict.deltas:
        is_it = (delta.metric, delta.scope) == CHANGED[figure]
        if is_it and (delta.workload, delta.contender) == (workload, tier):
            return delta
    raise AssertionError(f"no change of {figure} of {tier} in {workload}")


def rounded(delta: Delta, printed: Decimal) -> Decimal:
    """With as many digits, halves rounded away from zero."""
    exact = Decimal(repr(delta.change_pct))
    return exact.quantize(printed, ROUND_HALF_UP) + 0  # no minus zero


def test_each_printed_change_follows_from_its_figures(judged: Judged) -> None:
    """The table of docs/research/STUDY.md has both."""
    lines = [
        "| workload | figure | tier | published | reproduced |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for workload, figure, tier, printed in printed_changes():
        delta = computed(judged.verdict, workload, figure, tier)
        change = rounded(delta, printed)
        assert change == printed, (workload, figure, tier)
        words = in_words(delta)
        lines.append(
            f"| {workload} | {words} | {tier} | {printed:+} % | {change:+} % |"
        )
    assert len(lines) == 2 + 12
    golden.compare_section(DOCUMENT, "deltas", block(lines))


def in_words(delta: Delta) -> str:
    words = wording.METRICS[delta.metric]
    if delta.metric == "throughput_per_s":
        words = "throughput"
    if delta.scope == "new_order":
        return f"New-Order's {words}"
    return words


# ------------------------------------------------------------------ what is not there


def test_the_missing_cell_is_missing_everywhere(judged: Judged) -> None:
    cells = {(cell.workload, cell.profile) for cell in judged.verdict.cells}
    assert ("insert", "premium") not in cells
    assert ("insert", "ultra") in cells
    (missing,) = judged.verdict.missing
    why = 'its figures were not published: the tables say "TBD"'
    assert missing == f"premium × insert: no finished run (run 10 failed: {why})"
    assert not any(delta.workload == "insert" for delta in judged.verdict.deltas)
    assert "1 of 15 planned runs left no figures." in judged.markdown
    assert "| premium | *missing: no finished run* |" in judged.markdown


def test_nothing_is_made_up(judged: Judged) -> None:
    for run in judged.results.runs:
        record = run.record
        parts = (record.phases, record.nodes, record.gate, record.facts)
        assert parts == ((), (), None, {})
        assert sampled_in(run).empty and run.intervals.empty
    assert {cell.ci_low for cell in judged.verdict.cells} == {None}
    assert {delta.ci_low_pct for delta in judged.verdict.deltas} == {None}
    assert {delta.verdict for delta in judged.verdict.deltas} == {"inconclusive"}
    assert {decision.tier for decision in judged.verdict.decisions} == {None}
    metrics = {cell.metric for cell in judged.verdict.cells}
    assert not any("p95" in metric or "p99" in metric for metric in metrics)


def test_the_report_claims_no_gate_and_no_measurement(judged: Judged) -> None:
    text = judged.markdown
    for tier in judged.results.plan.tiers:
        assert f"{tier.name}: no disk check was recorded, so the disk may not" in text
    assert "No charts: no run left figures over time." in text
    claims = ("passed", "95 % interval", "round by round", "As intervals")
    for claim in (*claims, "never measured | done"):
        assert claim not in text
    assert "Published by others, not measured here" in text
    assert "no figure was measured here" in text


# ------------------------------------------------------------------ doubts and causes


DOUBTED: dict[DoubtKind, set[int | None]] = {
    "published figures": {None},
    "one repetition": {None},
    "missing cell": {None},
    "no truth gate": {*ALL_RUNS},
    "telemetry gaps": {*ALL_RUNS},
    "data fits in the cache": {1, 2, 3},
    "bursting disk": {1, 7, 13},
    "think time's ceiling": {13, 14, 15},
}


def test_it_is_doubted_as_any_campaign_without_gates_and_samples(
    judged: Judged,
) -> None:
    found: dict[str, set[int | None]] = {}
    for doubt in judged.verdict.doubts:
        found.setdefault(doubt.kind, set()).add(doubt.run)
    assert found == DOUBTED


def test_burst_credit_and_think_time_are_told_with_their_figures(
    judged: Judged,
) -> None:
    texts = {(d.kind, d.run): d.text for d in judged.verdict.doubts}
    above = "2,500 IOPS on average, above the 1,100 of premium"
    assert above in texts["bursting disk", 7]
    for run, share in ((13, "97.7"), (15, "99.6")):
        text = texts["think time's ceiling", run]
        assert f"reached {share} % of the 25,720 New-Orders" in text


def test_causes_are_named_only_where_means_carry_them(judged: Judged) -> None:
    assert judged.verdict.bottlenecks
    for cause in judged.verdict.bottlenecks:
        expected = "unattributed"
        if cause.workload == "tpcc":
            expected = "load_bound"
        assert cause.verdict == expected
        if (cause.profile, cause.workload) == ("premium", "point-select"):
            assert (cause.node, cause.evidence["cpu_pct"]) == ("each node", 60)
            share = cause.evidence["iops_of_cap_pct"]
            assert share == pytest.approx(100 * 2500 / 1100)


# ------------------------------------------------------------------ commands


def test_it_is_shown_and_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """What `make study` does."""
    before = sorted(STORED.rglob("*"))
    assert exit_code(["report", str(STORED)], CampaignApp()) == EXIT_DONE
    assert "Published by others, not measured here" in capsys.readouterr().out
    assert sorted(STORED.rglob("*")) == before


def test_its_first_screen_says_why_nothing_is_concluded(judged: Judged) -> None:
    answer = judged.verdict.answer
    assert answer is not None
    assert answer.brief.why == (
        "Each tier was measured once: one run has no interval, so no difference is "
        "proven."
    )


def test_figures_of_others_are_not_gone_on_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code(["resume", str(STORED)], CampaignApp()) == EXIT_USAGE
    assert "no campaign that was measured here" in capsys.readouterr().err


# ------------------------------------------------------------------ the document


def test_the_documented_decisions_are_the_programs(judged: Judged) -> None:
    """From verdict.json, so that whoever changes how tiers are chosen reads what changed here."""
    verdict = json.loads((judged.folder / "verdict.json").read_text())
    lines = [
        "| workload | our decision | why | by the point figures alone |",
        "| --- | --- | --- | --- |",
    ]
    for decision in verdict["decisions"]:
        load = decision["workload"]
        points = prose.listed(within(verdict["cells"], load))
        tier = decision["tier"] or "none"
        lines.append(f"| {load} | {tier} | {decision['reason']} | {points} |")
    golden.compare_section(DOCUMENT, "decisions", block(lines))


def within(cells: list[dict[str, Any]], workload: str) -> list[str]:
    """The tiers that are within the margin of the best in all that a decision compares."""
    of_load = [cell for cell in cells if cell["workload"] == workload]
    tiers = list(dict.fromkeys(cell["profile"] for cell in of_load))
    for metric in ("throughput_per_s", "nopm", "latency_avg_s"):
        values: dict[str, float] = {}
        for cell in of_load:
            if cell["metric"] == metric:
                values[cell["profile"]] = cell["mean"]
        best = max(values.values(), default=0.0)
        if metric.startswith("latency"):
            best = min(values.values(), default=0.0)
        for tier, value in values.items():
            if tier in tiers and abs(value / best - 1) * 100 > WITHIN_PCT:
                tiers.remove(tier)
    return tiers


def block(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in ("", *lines, ""))


def test_the_documented_rehearsal_is_that_of_its_verdict() -> None:
    """Changes in the table of docs/research/STUDY.md, with as many digits as it has."""
    verdict = json.loads((PLACE / "rehearsal" / "verdict.json").read_text())
    text = DOCUMENT.read_text().replace("\u00a0", " ")
    table = text.split("<!-- rehearsal -->")[1].split("\n\n")[1]
    told: list[tuple[str, str, str, str]] = []
    for row in table.splitlines()[2:]:
        workload, _, tier, _, here, _, word = row.strip("| ").split(" | ")
        told.append((workload, tier, here, word))
    held: list[tuple[str, str, str, str]] = []
    for delta in verdict["deltas"]:
        change = units.format_change(delta["change_pct"]).replace("\u00a0", " ")
        held.append((delta["workload"], delta["contender"], change, delta["verdict"]))
    assert len(told) == 20
    assert set(told) <= set(held)
