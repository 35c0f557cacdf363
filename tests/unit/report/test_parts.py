"""The report's parts alone: doubts beside figures, series for charts, caps, colours, escaping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from orchestrator.model import Doubt
from orchestrator.report import charts, markdown, series, wording
from orchestrator.report.blocks import Cell, Chart, Column, Document, Table
from orchestrator.report.document import arrange
from orchestrator.report.page import draw
from orchestrator.report.report_index import ReportIndex, ranges
from orchestrator.tier import Burst
from tests import report_verdicts
from tests.campaigns import START_S, build_campaign, build_tier


@pytest.fixture(scope="module")
def index() -> ReportIndex:
    return ReportIndex(report_verdicts.campaign(frames=False), report_verdicts.verdict())


# ------------------------------------------------------------------ doubts


def test_charts_of_a_workload_with_a_long_name_have_files_of_their_own() -> None:
    workload = "\N{EARTH GLOBE AMERICAS}" * 62
    names = [f"{workload}-{what}" for what in ("throughput", "latency-p50", "latency-p99")]
    paths = {Chart(name, "", "").path for name in names}
    assert len(paths) == 3
    assert all(len(path.removeprefix("charts/").encode()) <= 255 for path in paths)
    assert Chart("tpcc-iops", "", "").path == "charts/tpcc-iops.svg"


def test_a_doubt_stands_beside_the_figures_of_its_runs_only(index: ReportIndex) -> None:
    # runs 3 and 12 are premium × tpcc, run 8 is ultra × insert
    assert index.notes("tpcc", "premium") == (1,)
    assert index.notes("tpcc", "ultra", "premium") == (1,)
    assert index.notes("tpcc", "ultra") == ()
    assert index.notes("insert", "ultra") == (2,)
    assert [note.where for note in index.footnotes] == ["runs 3, 12", "run 8"]


def test_a_doubt_about_every_run_is_said_once() -> None:
    campaign = build_campaign(profiles=["ultra"], workloads=["insert"], repetitions=2, frames=False)
    doubts = tuple(Doubt("client busy", "the client was busy", "use two", run) for run in (1, 2))
    found = ReportIndex(
        campaign, replace(report_verdicts.verdict(), baseline="ultra", doubts=doubts)
    )
    assert found.notes("insert", "ultra") == ()
    assert [(note.text, note.advice, note.where) for note in found.footnotes] == [
        ("The client was busy.", "Use two.", "every finished run")
    ]


def test_doubts_alike_but_for_their_numbers_are_one(index: ReportIndex) -> None:
    doubts = tuple(
        Doubt("unsteady throughput", f"fell by {run * 3:,} % in all", "wait", run)
        for run in (4, 3, 400)
    )
    found = ReportIndex(index.campaign, replace(index.verdict, doubts=doubts))
    assert [note.text for note in found.footnotes] == ["Fell by 9–1,200 % in all."]
    assert found.footnotes[0].where == "runs 3–4, 400"


def test_many_unlike_doubts_of_a_kind_are_counted(index: ReportIndex) -> None:
    doubts = tuple(
        Doubt("unsteady throughput", f"{word} fell", "wait", 3)
        for word in ("a", "b", "c", "d", "e")
    )
    found = ReportIndex(index.campaign, replace(index.verdict, doubts=doubts))
    assert [note.text for note in found.footnotes] == [
        "A fell. B fell. C fell. And 2 more like this, in verdict.json."
    ]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((4,), "4"), ((1, 2, 3, 7), "1–3, 7"), ((5, 3, 4), "3–5"), ((2, 11), "2, 11")],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers) == text


def test_a_sentence_does_not_put_a_capital_on_a_tier(index: ReportIndex) -> None:
    assert index.opening("premium-v2 is cheaper") == "premium-v2 is cheaper."
    assert index.opening("ultra: too dear.") == "ultra: too dear."
    assert index.opening("no tier has figures") == "No tier has figures."


# ------------------------------------------------------------------ wording


def test_spread_is_half_the_interval_relative_to_the_mean() -> None:
    cell = report_verdicts.summary("ultra", "insert", "throughput_per_s", "all", 200.0, 2)
    assert wording.spread(replace(cell, ci_low=190.0, ci_high=214.0)) == "± 6.0 %"
    assert wording.spread(replace(cell, ci_low=100.0, ci_high=350.0)) == "± 62 %"
    assert wording.spread(replace(cell, ci_low=199.99, ci_high=200.01)) == "± 0.1 %"
    assert wording.spread(replace(cell, n=1, ci_low=None, ci_high=None)) == ""


def test_interval_and_sides() -> None:
    delta = report_verdicts.verdict().deltas[6]
    assert wording.interval(delta) == "−2.1 to +4.9 %"
    assert wording.interval(replace(delta, ci_low_pct=None)) == ""
    assert wording.runs_on_each_side(delta) == "2"
    assert wording.runs_on_each_side(replace(delta, n_baseline=5)) == "2 (baseline 5)"


# ------------------------------------------------------------------ series and charts


def one_run(tier: str, **more: Any) -> ReportIndex:
    campaign = build_campaign(profiles=[tier], workloads=["insert"], repetitions=1, **more)
    return ReportIndex(campaign, report_verdicts.verdict())


def test_seconds_count_from_the_start_of_measuring() -> None:
    index = one_run("ultra", warmup_s=5.0, measure_s=20.0)
    rates = series.of_interval(index, "insert", "throughput_per_s")
    assert rates.bin_s == 1
    assert rates.table["seconds"].tolist() == [second + 0.5 for second in range(-5, 20)]
    intervals = index.campaign.runs[0].intervals
    assert intervals["time_s"].iloc[0] == START_S
    assert rates.table["value"].tolist() == intervals["throughput_per_s"].tolist()


def test_a_column_without_any_value_has_no_series() -> None:
    """Stock sysbench gives one percentile of each second, and not the others."""
    campaign = one_run("ultra", warmup_s=5.0, measure_s=20.0).campaign
    intervals = campaign.runs[0].intervals.assign(latency_p50_s=float("nan"))
    changed = replace(campaign, runs=(replace(campaign.runs[0], intervals=intervals),))
    index = ReportIndex(changed, report_verdicts.verdict())
    assert series.of_interval(index, "insert", "latency_p50_s").table.empty
    assert len(series.of_interval(index, "insert", "latency_p99_s").table)


def test_long_runs_are_thinned_to_means() -> None:
    index = one_run("ultra", warmup_s=20.0, measure_s=400.0)
    thinned = series.of_interval(index, "insert", "throughput_per_s")
    assert thinned.bin_s == 3
    rates = index.campaign.runs[0].intervals.set_index("time_s")["throughput_per_s"]
    start_s = START_S + 20.0
    first = thinned.table[thinned.table["seconds"] == 1.5]["value"].item()
    assert first == pytest.approx(rates.loc[start_s : start_s + 2.0].mean())


def test_disk_series_is_the_busiest_nodes() -> None:
    index = one_run("premium", nodes=2, measure_s=20.0)
    run = index.campaign.runs[0]
    busy = run.samples["node"].eq("node-2") & run.samples["metric"].str.startswith("disk_")
    samples = run.samples.assign(value=run.samples["value"].where(~busy, run.samples["value"] * 3))
    changed = replace(index.campaign, runs=(replace(run, samples=samples),))
    iops = series.of_disk(replace(index, campaign=changed), "insert", "disk_iops")
    # 20 reads and 690 writes a second, tripled on node-2
    assert iops.table["value"].mean() == pytest.approx(3 * 710, rel=0.02)
    assert iops.highest == {"premium": iops.table["value"].max()}


def test_a_run_without_samples_has_no_disk_series() -> None:
    assert series.of_disk(one_run("premium", frames=False), "insert", "disk_iops").table.empty


def test_caps_stand_where_their_tier_came_near() -> None:
    burst = Burst(iops=3500, bytes_per_s=None, duration_s=1800.0, start_pct=100.0)
    tiers = {name: build_tier(name) for name in ("premium", "premium-v2", "ultra")}
    tiers["premium"] = replace(tiers["premium"], burst=burst)
    highest = {"premium": 2500.0, "premium-v2": 5400.0, "ultra": 5100.0}
    assert [(cap.label, cap.value) for cap in charts.caps(tiers, "disk_iops", highest)] == [
        ("cap of premium: 1,100", 1100.0),
        ("cap of premium burst: 3,500", 3500.0),
        ("cap of premium-v2, ultra: 10,000", 10000.0),
    ]
    far = charts.caps(tiers, "disk_bytes_per_s", {"premium": 18e6, "ultra": 200e6})
    assert [cap.label for cap in far] == ["cap of ultra: 250 MB/s"]


def test_chart_draws_each_run_with_its_cap_and_warm_up() -> None:
    table = pd.DataFrame(
        {
            "seconds": [-1.5, -0.5, 0.5, 1.5] * 2,
            "value": [900.0, 1000.0, 1100.0, 1100.0] * 2,
            "tier": ["premium"] * 8,
            "run": ["a"] * 4 + ["b"] * 4,
        }
    )
    limits = (charts.Cap("cap of premium: 1,100", 1100.0),)
    svg = charts.over_time(series.Series(table, 1), ["premium"], "IOPS", "1/s", limits=limits)
    assert svg.count('aria-roledescription="line mark"') == 2
    assert svg.count(f'stroke="{charts.PALETTE[0]}"') == 3  # two runs and the legend
    assert "cap of premium: 1,100" in svg
    assert ">warm-up<" in svg
    assert "http" not in svg.replace("http://www.w3.org/", "")


def test_tiers_keep_their_colours_and_differ() -> None:
    seven = charts.colours([f"tier-{number}" for number in range(7)])
    assert len(set(seven.values())) == 7
    assert charts.colours(["a", "b"])["b"] == charts.colours(["a", "b", "c"])["b"]


def test_ids_are_a_charts_own() -> None:
    svg = '<svg><clipPath id="clip7"/><path clip-path="url(#clip7)"/><g id="other"/></svg>'
    assert charts.with_own_ids(svg, "iops") == (
        '<svg><clipPath id="iops-0"/><path clip-path="url(#iops-0)"/><g id="iops-1"/></svg>'
    )


# ------------------------------------------------------------------ drawing


def _hostile(index: ReportIndex) -> Document:
    document = arrange(index.campaign, index.verdict)
    row = (Cell("a|b <script>alert(1)</script> *x* `code`"),)
    return replace(document, verdicts=Table((Column("Tier"),), ((row[0],), row)), sections=())


def test_markdown_escapes_what_tools_said(index: ReportIndex) -> None:
    text = markdown.draw(_hostile(index))
    assert "a\\|b \\<script\\>alert(1)\\</script\\> \\*x\\* `code`" in text


def test_page_escapes_what_tools_said(index: ReportIndex) -> None:
    page = draw(_hostile(index))
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
