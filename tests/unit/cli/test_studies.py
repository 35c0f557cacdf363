"""The published study: carried in as it stands, judged like any campaign, and told so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from orchestrator import units
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import concluding, studies
from orchestrator.cli.campaign_app import CampaignApp
from orchestrator.cli.main import exit_code
from orchestrator.cli.options import Request
from orchestrator.errors import EXIT_DONE, UsageError
from orchestrator.facts import DoubtKind
from orchestrator.planning import published_study
from orchestrator.planning.published_study import STATEMENT, DeltaKey
from orchestrator.report import campaign_tables
from orchestrator.report.rendering import markdown
from orchestrator.system import campaign_folders, store
from tests import ROOT, golden
from tests.apps import an_app
from tests.campaign_tables import sampled_in

FILE = ROOT / studies.REFERENCE
TEXT = FILE.read_text()
STUDY = published_study.read("study.yaml", "reference", TEXT)
REHEARSED = FILE.parent / "rehearsal" / "verdict.json"
DOCUMENT = ROOT / "docs" / "STUDY.md"
WITHIN_PCT = 5.0


@dataclass(frozen=True)
class Imported:
    """The study as a campaign on disk, judged and reported."""

    folder: Path
    results: Results
    verdict: Verdict
    markdown: str


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    _, folder = studies.carry_in(CampaignApp(), FILE, tmp_path_factory.mktemp("study"))
    results, verdict, paths = concluding.conclude(folder)
    text = paths.markdown.read_text().replace("\u00a0", " ")
    return Imported(folder, results, verdict, text)


# ------------------------------------------------------------------ figures


def test_every_published_figure_is_in_the_records_and_no_other(
    imported: Imported,
) -> None:
    """Method: the YAML is read anew, without the module under test."""
    tables = yaml.safe_load(TEXT)["workloads"]
    published = {
        (load, tier): sorted(
            Decimal(re.sub(r"[a-zA-Z/]+$", "", str(v))) for v in figures.values()
        )
        for load, workload in tables.items()
        for tier, figures in workload["results"].items()
        if figures
    }
    factor = {"s": 1000, "bytes/s": 1e-6}
    stored = {
        (run.record.run.workload, run.record.run.profile): sorted(
            Decimal(repr(round(m.value * factor.get(m.unit, 1), 6)))
            for m in run.record.measurements
        )
        for run in imported.results.runs
    }
    assert len(stored) == 14
    assert stored == published


CHANGES = [(workload, metric, tier) for workload, tier, metric, _ in STUDY.deltas]


@pytest.mark.parametrize(
    "number", range(len(CHANGES)), ids=["-".join(one) for one in CHANGES]
)
def test_each_printed_change_is_reproduced_and_reported(
    imported: Imported, number: int
) -> None:
    """To the digits that were printed, in the verdict and on the page."""
    key, printed = list(STUDY.deltas.items())[number]
    workload, tier, compared, _ = key
    assert studies.reproduced({key: printed}, imported.verdict) == {key: printed}
    page = rows(imported.markdown)
    metric = "Latency" if compared.startswith("latency") else "Throughput"
    column = [w.name for w in imported.results.plan.workloads].index(workload) + 1
    cell = page[metric, tier][column]
    assert Decimal(cell.split(" %")[0].replace("−", "-")) == printed


def rows(markdown: str) -> dict[tuple[str, str], list[str]]:
    """(Latency or Throughput, tier) → cells of the tables of changes."""
    found = {}
    for title in ("Latency", "Throughput"):
        part = markdown.split(f"### {title} (")[1].split("\n#")[0]
        for line in re.findall(r"^\| (.*) \|$", part, re.MULTILINE):
            cells = line.split(" | ")
            found[title, cells[0].split("<br>")[0]] = cells
    return found


def test_a_change_that_does_not_follow_is_said(imported: Imported) -> None:
    text = TEXT.replace("ultra: -46.9}", "ultra: -41.6}")
    wrong = published_study.read("study.yaml", "wrong", text)
    assert studies.compared(wrong, imported.verdict) == [
        "11 of 12 printed changes follow from its figures",
        "ultra, tpcc, latency_avg_s: printed -41.6 %, and its figures make -46.9 %",
    ]


def test_the_command_and_those_after_it_end_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Imported, shown again and judged again: the same report each time."""
    places = ["--results", str(tmp_path)]
    reports = []
    for command in (
        ["import-study", *places],
        ["report", *places],
        ["analyze", "LATEST"],
    ):
        words = [
            str(tmp_path / "latest") if word == "LATEST" else word for word in command
        ]
        code = exit_code(words, CampaignApp())
        assert code == EXIT_DONE, capsys.readouterr().err
        reports.append((tmp_path / "latest" / "report.md").read_text())
    assert "12 of 12 printed changes follow from its figures" in capsys.readouterr().out
    assert len(set(reports)) == 1


# ------------------------------------------------------------------ what is not there


def test_the_missing_cell_is_missing_everywhere(imported: Imported) -> None:
    cells = {(cell.workload, cell.profile) for cell in imported.verdict.cells}
    assert ("insert", "premium") not in cells
    assert ("insert", "ultra") in cells
    assert imported.verdict.missing == (
        "premium × insert: no finished run (run 10 was not published)",
    )
    assert not any(delta.workload == "insert" for delta in imported.verdict.deltas)
    assert "Run 10 (premium × insert) was not published." in imported.markdown
    assert "1 of 15 planned runs left no figures." in imported.markdown
    assert "| premium | *missing: no finished run* |" in imported.markdown


def test_nothing_is_made_up(imported: Imported) -> None:
    for run in imported.results.runs:
        record = run.record
        assert (record.outcome, record.phases, record.nodes, record.gate) == (
            "done",
            (),
            (),
            None,
        )
        assert record.facts["published"]["figures"] == STATEMENT
        assert sampled_in(run).empty and run.intervals.empty
    assert {cell.ci_low for cell in imported.verdict.cells} == {None}
    assert {delta.ci_low_pct for delta in imported.verdict.deltas} == {None}
    assert {delta.verdict for delta in imported.verdict.deltas} == {"inconclusive"}
    assert {decision.tier for decision in imported.verdict.decisions} == {None}
    metrics = {cell.metric for cell in imported.verdict.cells}
    assert not any("p95" in metric or "p99" in metric for metric in metrics)


def test_only_files_that_are_there_are_named(imported: Imported) -> None:
    left = sorted(
        file.name for file in (imported.folder / "runs").rglob("*") if file.is_file()
    )
    assert left == ["record.json"] * 14
    assert (imported.folder / "study.yaml").read_text() == TEXT
    for absent in ("intervals.csv", "samples.parquet", "raw/", "p99"):
        assert absent not in imported.markdown
    drawn = sorted(file.name for file in (imported.folder / "charts").iterdir())
    assert drawn == ["changes-latency.svg", "changes-throughput.svg"]


def test_the_report_claims_no_gate_and_no_measurement(imported: Imported) -> None:
    text = imported.markdown
    for tier in imported.results.plan.tiers:
        assert (
            f"{tier.name}: no gate was recorded: nothing shows that the disk is what"
            in text
        )
    assert "No charts: no run left figures over time." in text
    for claim in (
        "passed",
        "95 % interval",
        "round by round",
        "was not carried out",
        "As intervals",
    ):
        assert claim not in text
    assert "study.yaml holds the tables" in text


def test_a_campaign_stands_beside_the_study(imported: Imported, tmp_path: Path) -> None:
    """Inserts into 30 tables of P15 were not published; latency of other types is not asked."""
    request = Request(
        profiles=["premium", "ultra"],
        workloads=["insert", "tpcc"],
        scale="smoke",
        repetitions=2,
    )
    folder = an_app(tmp_path).rehearse(replace(request, results=tmp_path))
    verdict = judge(store.load(folder))
    rows = [
        [cell.text for cell in row]
        for row in campaign_tables.beside_changes(imported.verdict, verdict).rows
    ]
    assert [row[:4] for row in rows] == [
        ["insert", "throughput", "ultra", "not published"],
        ["insert", "average latency", "ultra", "not published"],
        ["tpcc", "NOPM", "ultra", "+1.9 %"],
        ["tpcc", "New-Order's average latency", "ultra", "−46.9 %"],
    ]
    ours = {(d.workload, d.metric, d.scope): d for d in verdict.deltas}
    assert rows[2][4] == units.format_change(ours["tpcc", "nopm", "all"].change_pct)
    assert {row[6] for row in rows} <= {"same", "better", "worse", "inconclusive"}
    used = [
        [cell.text for cell in row]
        for row in campaign_tables.beside_used(imported.verdict, verdict).rows
    ]
    assert used[0][:3] == ["insert", "premium", "not published"]
    assert used[3][:3] == ["tpcc", "ultra", "85.5 %"]


# ------------------------------------------------------------------ doubts


DOUBTED: dict[DoubtKind, set[int | None]] = {
    "published figures": {None},
    "one repetition": {None},
    "missing cell": {None},
    "data fits in the cache": {1, 2, 3},
    "bursting disk": {1, 7, 13},
    "think time's ceiling": {13, 14, 15},
}


def test_the_doubts_are_those_of_its_figures_and_no_other(imported: Imported) -> None:
    found: dict[str, set[int | None]] = {}
    for doubt in imported.verdict.doubts:
        found.setdefault(doubt.kind, set()).add(doubt.run)
    assert found == DOUBTED


def test_burst_credit_and_think_time_are_told_with_their_figures(
    imported: Imported,
) -> None:
    texts = {(d.kind, d.run): d.text for d in imported.verdict.doubts}
    assert (
        "2,500 IOPS on average, above the 1,100 of premium" in texts["bursting disk", 7]
    )
    assert texts["think time's ceiling", 13].startswith(
        "97.7 % of the 25,720 New-Orders"
    )
    assert texts["think time's ceiling", 15].startswith(
        "99.6 % of the 25,720 New-Orders"
    )


def test_figures_that_cannot_all_be_true_are_doubted(tmp_path: Path) -> None:
    """A study that prints its threads is held against Little's law."""
    file = tmp_path / "study.yaml"
    file.write_text(TEXT.replace("threads: 24", "threads: 32"))
    _, folder = studies.carry_in(CampaignApp(), file, tmp_path / "results")
    doubts = judge(store.load(folder)).doubts
    doubted = {doubt.run for doubt in doubts if doubt.kind == "Little's law"}
    assert doubted == {4, 5, 6, 11, 12}


def test_causes_are_named_only_where_means_carry_them(imported: Imported) -> None:
    causes = {(b.workload, b.profile): b.verdict for b in imported.verdict.bottlenecks}
    assert {cause for (load, _), cause in causes.items() if load == "tpcc"} == {
        "load_bound"
    }
    assert {cause for (load, _), cause in causes.items() if load != "tpcc"} == {
        "unattributed"
    }
    premium = next(
        b
        for b in imported.verdict.bottlenecks
        if (b.profile, b.workload) == ("premium", "point-select")
    )
    assert (premium.node, premium.evidence["cpu_pct"]) == ("each node", 60)
    assert premium.evidence["iops_of_cap_pct"] == pytest.approx(100 * 2500 / 1100)


# ------------------------------------------------------------------ the file


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        studies.carry_in(CampaignApp(), tmp_path / "none.yaml", tmp_path / "results")
    assert not (tmp_path / "results").exists()


SMALL = """
title: One disk against another
question: Is the second enough?
source: a table
as_of: 2020
baseline: old
cluster: {database: postgresql, nodes: 1, replication_factor: 1}
tiers: {old: {title: Old}, new: {title: New, iops: 500}}
disk_figures: all nodes
workloads:
  mixed:
    title: mixed
    generator: pgbench
    dataset: pgbench
    threads: 8
    loader_threads: 1
    warmup: 0s
    measure: 60s
    results:
      old: {throughput: 80, latency: 100ms, latency_p99: 150ms}
      new: {throughput: 160, latency: 50ms, latency_p99: 300ms, iops: 900}
"""


def test_another_study_is_carried_in_and_reported(tmp_path: Path) -> None:
    """Without a size of nodes, without CPU; its percentiles are shown and its disks summed."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    study, folder = studies.carry_in(CampaignApp(), file, tmp_path / "results")
    _, verdict, paths = concluding.conclude(folder)
    changes = {delta.metric: delta.change_pct for delta in verdict.deltas}
    assert changes["latency_p99_s"] == pytest.approx(100)
    text = paths.markdown.read_text()
    assert "| new<br>n = 1 | 50 ms | 300 ms | 160 | 900 |" in text.replace(
        "\u00a0", " "
    )
    assert "bursting disk" not in {
        doubt.kind for doubt in verdict.doubts
    }  # of all disks together
    assert studies.compared(study, verdict) == [
        "0 of 0 printed changes follow from its figures"
    ]
    assert (
        campaign_folders.newest(tmp_path / "results") == tmp_path / "results" / "latest"
    )


# ------------------------------------------------------------------ the document


def test_the_documented_changes_are_the_programs(imported: Imported) -> None:
    lines = [
        "| workload | figure | tier | published | reproduced |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    lines += [
        _line(*both)
        for both in studies.reproduced(STUDY.deltas, imported.verdict).items()
    ]
    golden.compare_section(DOCUMENT, "deltas", _block(lines))


def test_the_rehearsal_s_tables_are_those_of_its_verdict(imported: Imported) -> None:
    """`make golden` writes them, from the verdict that is kept."""
    rehearsed = TypeAdapter(Verdict).validate_json(REHEARSED.read_bytes())
    tables = (
        campaign_tables.beside_changes(imported.verdict, rehearsed),
        campaign_tables.beside_used(imported.verdict, rehearsed),
    )
    drawn = "\n\n".join(markdown.table(one) for one in tables)
    golden.compare_section(DOCUMENT, "rehearsal", f"\n{drawn}\n")


def _line(key: DeltaKey, change_pct: Decimal | None) -> str:
    workload, tier, metric, scope = key
    cells = (workload, campaign_tables.figure(metric, scope), tier)
    return f"| {' | '.join(cells)} | {STUDY.deltas[key]:+} % | {change_pct:+} % |"


def test_the_documented_decisions_are_the_programs(imported: Imported) -> None:
    """From verdict.json, so that whoever changes how tiers are chosen reads what changed here."""
    verdict = json.loads((imported.folder / "verdict.json").read_text())
    lines = [
        "| workload | our decision | why | by the point figures alone |",
        "| --- | --- | --- | --- |",
    ]
    for decision in verdict["decisions"]:
        load = decision["workload"]
        points = units.listed(_within(verdict["cells"], load))
        lines.append(
            f"| {load} | {decision['tier'] or 'none'} | {decision['reason']} | {points} |"
        )
    golden.compare_section(DOCUMENT, "decisions", _block(lines))


def _within(cells: list[dict[str, Any]], workload: str) -> list[str]:
    """The tiers that are within the margin of the best in all that a decision compares."""
    compared = ("throughput_per_s", "nopm", "latency_avg_s")
    of_load = [
        c for c in cells if c["workload"] == workload and c["metric"] in compared
    ]
    tiers = list(dict.fromkeys(cell["profile"] for cell in of_load))
    for metric in compared:
        values = {
            cell["profile"]: cell["mean"]
            for cell in of_load
            if cell["metric"] == metric
        }
        lower = metric.startswith("latency")
        best = (
            min(values.values(), default=0.0)
            if lower
            else max(values.values(), default=0.0)
        )
        off = {tier: abs(value / best - 1) * 100 for tier, value in values.items()}
        tiers = [tier for tier in tiers if off.get(tier, 0.0) <= WITHIN_PCT]
    return tiers


def _block(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in ("", *lines, ""))
