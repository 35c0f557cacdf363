"""The data of every chart, and what is drawn of them: seconds, caps, nodes, percentiles, prices."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.model import Measurement, Objective, Record
from orchestrator.report.blocks import Chart, Charts, Measure
from orchestrator.report.charts import charts, series
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    latency,
    over_time,
    over_time_charts,
    price_charts,
)
from orchestrator.tier import Burst
from tests import report_verdicts
from tests.campaign_tables import held, sampled_in
from tests.campaigns import START_S, build_campaign, build_tier
from tests.judged import judged_index
from tests.tiers import changed

pytestmark = pytest.mark.draws

IOPS = Measure("disk_iops", "iops", "Disk IOPS", "IOPS")


def one_run(tier: str, **more: Any) -> ReportIndex:
    campaign = build_campaign(
        profiles=[tier], workloads=["insert"], repetitions=1, **more
    )
    return ReportIndex(campaign, report_verdicts.verdict())


def test_seconds_count_from_the_start_of_measuring() -> None:
    index = one_run("ultra", warmup_s=5.0, measure_s=20.0)
    rates = series.Runs(index, "insert").of_interval("throughput_per_s")
    assert rates.bin_s == 1
    assert rates.table["seconds"].tolist() == [second + 0.5 for second in range(-5, 20)]
    intervals = index.campaign.runs[0].intervals
    assert intervals["time_s"].iloc[0] == START_S
    assert rates.table["value"].tolist() == intervals["throughput_per_s"].tolist()


def test_a_column_without_any_value_has_no_series() -> None:
    """Stock sysbench gives one percentile of each second, and not the others."""
    campaign = one_run("ultra", warmup_s=5.0, measure_s=20.0).campaign
    intervals = campaign.runs[0].intervals.assign(latency_p50_s=float("nan"))
    changed = replace(
        campaign, runs=(replace(campaign.runs[0], read_intervals=lambda: intervals),)
    )
    index = ReportIndex(changed, report_verdicts.verdict())
    assert series.Runs(index, "insert").of_interval("latency_p50_s").table.empty
    assert len(series.Runs(index, "insert").of_interval("latency_p99_s").table)


def test_long_runs_are_thinned_to_means() -> None:
    index = one_run("ultra", warmup_s=20.0, measure_s=400.0)
    thinned = series.Runs(index, "insert").of_interval("throughput_per_s")
    assert thinned.bin_s == 3
    rates = index.campaign.runs[0].intervals.set_index("time_s")["throughput_per_s"]
    start_s = START_S + 20.0
    first = thinned.table[thinned.table["seconds"] == 1.5]["value"].item()
    assert first == pytest.approx(rates.loc[start_s : start_s + 2.0].mean())


def test_a_chart_of_many_workloads_has_fewer_points() -> None:
    """So that a page of many workloads is no larger than one of few."""
    bins: list[int] = []
    for workloads in (["insert"], ["insert", "tpcc", "point-select"]):
        campaign = build_campaign(
            profiles=["premium", "ultra"],
            workloads=workloads,
            repetitions=10,
            measure_s=150.0,
        )
        index = ReportIndex(campaign, report_verdicts.verdict())
        bins.append(series.Runs(index, "insert").of_interval("throughput_per_s").bin_s)
    assert bins == [2, 3]


@pytest.mark.parametrize(("repetitions", "are_many"), [(30, False), (31, True)])
def test_of_many_runs_a_tier_has_their_median_and_the_middle_80_pct(
    repetitions: int, are_many: bool
) -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=repetitions,
        measure_s=10.0,
    )
    index = ReportIndex(campaign, report_verdicts.verdict())
    runs = series.Runs(index, "insert")
    drawn = runs.of_interval("throughput_per_s")
    assert runs.are_many == are_many
    if not are_many:
        assert "low" not in drawn.table
        return
    assert set(drawn.table["run"]) == {"premium", "ultra"}
    assert drawn.bin_s == 1
    premium = drawn.table[drawn.table["tier"] == "premium"]
    first = premium[premium["seconds"] == 0.5]
    rates: list[float] = []
    for run in campaign.runs:
        if run.record.run.profile == "premium":
            first_second = run.intervals[run.intervals["phase"] == "measure"].iloc[0]
            rates.append(float(first_second["throughput_per_s"]))
    assert len(rates) == repetitions
    shown = first[["low", "value", "high"]].iloc[0].tolist()
    assert shown == pytest.approx(np.quantile(rates, [0.1, 0.5, 0.9]).tolist())
    of_cpu = runs.of_cpu()
    assert set(of_cpu.table["run"]) == {"premium", "ultra"}


def test_a_chart_of_many_runs_draws_their_band() -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=31,
        measure_s=10.0,
        nodes=2,
    )
    index = ReportIndex(campaign, report_verdicts.verdict())
    part = over_time.section(index).parts[0]
    block = part.blocks[0]
    assert isinstance(block, Charts)
    assert block.caption.startswith(
        "Lines are medians of a tier's runs, and the tint holds the middle 80 % of them,"
    )
    for chart in block.rows:
        assert isinstance(chart, Chart) and chart.live is not None
        bounds = chart.live["datasets"]["spread"]
        assert all(row["low"] <= row["high"] for row in bounds)
        assert {row["tier"] for row in bounds} == {"premium", "ultra"}
        moments = {(row["tier"], row["seconds"]) for row in bounds}
        assert len(moments) == len(bounds), "one band for each tier"
        assert 'fill-opacity="0.18"' in chart.svg or 'opacity="0.18"' in chart.svg


def test_disk_series_is_the_busiest_nodes() -> None:
    index = one_run("premium", nodes=2, measure_s=20.0)
    run = index.campaign.runs[0]
    table = sampled_in(run)
    busy = table["node"].eq("node-2") & table["metric"].str.startswith("disk_")
    samples = table.assign(value=table["value"].where(~busy, table["value"] * 3))
    changed = replace(index.campaign, runs=(replace(run, sampled=held(samples)),))
    iops = series.Runs(replace(index, campaign=changed), "insert").of_disk("disk_iops")
    # 20 reads and 690 writes a second, tripled on node-2
    assert iops.table["value"].mean() == pytest.approx(3 * 710, rel=0.02)
    assert iops.highest == {"premium": iops.table["value"].max()}


@pytest.mark.parametrize("repetitions", [0, 1, 31])
def test_runs_without_samples_have_no_series_of_nodes(repetitions: int) -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=repetitions,
        frames=False,
    )
    runs = series.Runs(ReportIndex(campaign, report_verdicts.verdict()), "insert")
    assert runs.of_interval("throughput_per_s").table.empty
    assert runs.of_disk("disk_iops").table.empty
    assert runs.of_cpu().table.empty
    assert runs.of_nodes("disk_iops").table.empty
    assert runs.of_limits(1).empty


def test_caps_stand_where_their_tier_came_near() -> None:
    burst = Burst(iops=3500, bytes_per_s=None, duration_s=1800.0, start_pct=100.0)
    tiers = {name: build_tier(name) for name in ("premium", "premium-v2", "ultra")}
    tiers["premium"] = changed(tiers["premium"], burst=burst)
    highest = {"premium": 2500.0, "premium-v2": 5400.0, "ultra": 5100.0}
    assert over_time.caps(tiers, "disk_iops", highest) == {
        1100.0: "cap of premium: 1,100",
        3500.0: "cap of premium burst: 3,500",
        10000.0: "cap of premium-v2, ultra: 10,000",
    }
    half = {"premium": 549.9, "ultra": 5000.0}
    assert list(over_time.caps(tiers, "disk_iops", half)) == [10000.0]
    far = over_time.caps(tiers, "disk_bytes_per_s", {"premium": 18e6, "ultra": 200e6})
    assert list(far.values()) == ["cap of ultra: 250 MB/s"]


def test_a_cap_of_iops_does_not_stand_over_cpu() -> None:
    """A disk of few IOPS has a cap that is a number as CPU in percent is."""
    index = one_run("premium", measure_s=20.0)
    near = series.Series(pd.DataFrame({"tier": ["premium"], "value": [900.0]}), 1)
    cpu = Measure("cpu_pct", "cpu", "CPU of the database nodes", "% of limit")
    assert list(over_time._limits(index, IOPS, near).values()) == [
        "cap of premium: 1,100"
    ]
    assert over_time._limits(index, cpu, near) == {}


def test_chart_draws_each_run_with_its_cap_and_warm_up() -> None:
    table = pd.DataFrame(
        {
            "seconds": [-1.5, -0.5, 0.5, 1.5] * 2,
            "value": [900.0, 1000.0, 1100.0, 1100.0] * 2,
            "tier": ["premium"] * 8,
            "run": ["a"] * 4 + ["b"] * 4,
        }
    )
    limits = {1100.0: "cap of premium: 1,100"}
    rates = series.Series(table, 1)
    svg = over_time_charts.over_time("insert", IOPS, rates, ["premium"], limits).svg
    assert svg.count('aria-roledescription="line mark"') == 2
    assert svg.count(f'stroke="{charts.PALETTE[0]}"') == 3  # two runs and the legend
    assert "cap of premium: 1,100" in svg
    assert ">warm-up<" in svg
    assert "http" not in svg.replace("http://www.w3.org/", "")


def test_a_band_for_each_tier_shows_what_was_at_its_limit_when() -> None:
    campaign = one_run("premium", warmup_s=0.0, measure_s=20.0).campaign
    (run,) = campaign.runs
    samples = sampled_in(run)
    seconds = samples["time_s"] - START_S
    of_disk = samples["metric"].str.startswith("disk_") & samples[
        "node"
    ].str.startswith("node-")
    idle = samples["metric"].isin(["disk_writes_total", "disk_read_bytes_total"])
    samples.loc[of_disk & idle, "value"] = 0.0
    reads = of_disk & (samples["metric"] == "disk_reads_total")
    grown = 1_100.0 * seconds.clip(upper=10.0) + 400.0 * (seconds - 10.0).clip(
        lower=0.0
    )
    samples.loc[reads, "value"] = grown[reads]
    campaign = replace(campaign, runs=(replace(run, sampled=held(samples)),))
    index = judged_index(campaign)
    strip = series.Runs(index, "insert").of_limits(1)
    assert strip.to_dict(
        "records"
    ) == [  # of a node whose CPU is nearly full all the time
        {"tier": "premium", "limit": "IOPS cap", "begin": 0.0, "end": 10.0},
        {"tier": "premium", "limit": "node CPU", "begin": 10.0, "end": 20.0},
    ]
    table = pd.DataFrame(
        {"seconds": [0.5, 1.5], "value": 1.0, "tier": "premium", "run": "a"}
    )
    chart = over_time_charts.over_time(
        "insert", IOPS, series.Series(table, 1), ["ultra", "premium"], {}, strip=strip
    )
    assert 'fill="#882255"' in chart.svg
    assert f'fill="{charts.PALETTE[1]}"' in chart.svg, (
        "the tier's own colour begins its band"
    )
    (part,) = over_time.section(index).parts
    (block, *_) = part.blocks
    assert isinstance(block, Charts) and list(block.bands) == ["IOPS cap", "node CPU"]
    assert "what was at its limit" in block.caption


def test_bands_lie_below_the_lines_and_apart() -> None:
    empty = pd.DataFrame({"limit": []})
    below = over_time_charts._HEIGHT
    for place in range(3):
        (drawn,) = over_time_charts._band(place, "#000000", empty, {})["layer"]
        top, bottom = (drawn["encoding"][edge]["value"] for edge in ("y", "y2"))
        assert below < top < bottom
        below = bottom


def test_tiers_keep_their_colours_and_differ() -> None:
    seven = charts.colours([f"tier-{number}" for number in range(7)])
    assert len(set(seven.values())) == 7
    assert charts.colours(["a", "b"])["b"] == charts.colours(["a", "b", "c"])["b"]


@pytest.mark.parametrize("kind", ["tiers", "changes"])
def test_labels_of_names_begin_right_of_the_charts_edge(kind: str) -> None:
    """A browser's letters are wider than those by which the static chart was laid out."""
    name = "gcp/hyperdisk-balanced, 60.00 USD"
    row = {"tier": name, "label": name, "workload": "w", "value": 2.0, "change": 2.0}
    values = {"value": "x", "labels": [name], "workloads": ["w"], "what": "x"}
    spec = charts.drawing(
        kind, [name], reach=[0, 3], across={}, below=-5, above=5, **values
    )
    tables = {kind: [{**row, "low": 1.0, "high": 3.0}], "enough": []}
    svg = charts.figure("chart", "x", spec, tables).svg
    places = re.findall(r'translate\((-?[\d.]+),[^"]*"[^>]*>' + name[:8], svg)
    # Where the plot begins, and how far left of it labels end.
    origin = float(re.findall(r"translate\(([\d.]+),", svg)[0])
    end = origin + float(places[0])
    measured_px = 197.0  # in DejaVu Sans of 11 px, by Chromium
    assert end >= measured_px


def test_ids_are_a_charts_own() -> None:
    svg = '<svg><clipPath id="clip7"/><path clip-path="url(#clip7)"/><g id="other"/></svg>'
    assert charts.with_own_ids(svg, "iops") == (
        '<svg><clipPath id="iops-0"/><path clip-path="url(#iops-0)"/><g id="iops-1"/></svg>'
    )


# ------------------------------------------------------------------ nodes


def _with_cpu(index: ReportIndex, **factors: float) -> ReportIndex:
    """The campaign with the counters of some nodes scaled: `node_2=0.5`."""
    run = index.campaign.runs[0]
    names = {name.replace("_", "-"): factor for name, factor in factors.items()}
    scale = sampled_in(run)["node"].map(names).fillna(1.0)
    scaled = sampled_in(run).assign(value=sampled_in(run)["value"] * scale)
    return replace(
        index,
        campaign=replace(index.campaign, runs=(replace(run, sampled=held(scaled)),)),
    )


def test_cpu_is_the_mean_of_the_nodes_and_the_busiest() -> None:
    index = _with_cpu(one_run("ultra", measure_s=20.0), node_2=0.5, node_3=0.6)
    means = series.Runs(index, "insert").of_cpu().table.groupby("of")["value"].mean()
    # 92 % of the first node, half and six tenths of that on the others
    assert means[series.BUSIEST] == pytest.approx(92.0, rel=0.02)
    assert means[series.MEAN] == pytest.approx(92.0 * 2.1 / 3, rel=0.02)


def test_cpu_of_a_single_node_is_one_line() -> None:
    cpu = series.Runs(one_run("ultra", nodes=1, measure_s=20.0), "insert").of_cpu()
    assert set(cpu.table["of"]) == {series.MEAN}
    assert cpu.table["value"].mean() == pytest.approx(92.0, rel=0.02)


def test_a_mean_needs_every_node() -> None:
    index = one_run("ultra", measure_s=20.0)
    run = index.campaign.runs[0]
    samples = sampled_in(run)[sampled_in(run)["node"] != "node-2"]
    lacking = replace(index.campaign, runs=(replace(run, sampled=held(samples)),))
    assert set(
        series.Runs(replace(index, campaign=lacking), "insert").of_cpu().table["of"]
    ) == {series.BUSIEST}


def test_each_node_has_a_panel_with_its_own_values() -> None:
    index = _with_cpu(one_run("ultra", measure_s=20.0), node_2=0.5)
    iops = series.Runs(index, "insert").of_nodes("disk_iops")
    means = iops.table.groupby("node")["value"].mean()
    assert means.to_dict() == {
        "node-1": pytest.approx(725.0, rel=0.02),
        "node-2": pytest.approx(362.5, rel=0.02),
        "node-3": pytest.approx(725.0, rel=0.02),
    }
    svg = over_time_charts.by_node("insert", IOPS, iops, ["ultra"], {}).svg
    assert svg.count('aria-roledescription="line mark"') == 3
    assert [
        node for node in ("node-1", "node-2", "node-3") if f">{node}<" not in svg
    ] == []


def test_a_node_without_a_known_limit_has_no_cpu_in_percent() -> None:
    index = one_run("ultra", measure_s=20.0)
    run = index.campaign.runs[0]
    nodes = tuple(replace(node, cpus=None) for node in run.record.nodes)
    unlimited = replace(run, record=replace(run.record, nodes=nodes))
    campaign = replace(index.campaign, runs=(unlimited,), fingerprint={})
    assert series.Runs(replace(index, campaign=campaign), "insert").of_cpu().table.empty
    known = replace(campaign, fingerprint={"host": {"cpus": 16}})
    cpu = series.Runs(replace(index, campaign=known), "insert").of_cpu().table["value"]
    assert cpu.mean() == pytest.approx(92.0 / 2, rel=0.02)  # 8 of 16 cores


def test_nodes_are_folded_and_only_where_there_are_several() -> None:
    folded = [
        (block.folded, len(block.rows))
        for nodes in (1, 3)
        for block in over_time.section(one_run("ultra", nodes=nodes)).parts[0].blocks
        if isinstance(block, Charts)
    ]
    assert folded == [("", 7), ("", 7), ("Node by node: CPU, IOPS and bandwidth", 3)]


# ------------------------------------------------------------------ latency by percentile


def _rows(chart: Chart, table: str) -> list[Mapping[str, Any]]:
    assert chart.live
    return list(chart.live["datasets"][table])


def test_latency_is_drawn_for_new_orders_and_for_all_but_delivery() -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"], workloads=["tpcc"], repetitions=2, measure_s=20.0
    )
    index = judged_index(campaign)
    orders, every = latency.of_workload(index, "tpcc")
    assert [orders.name, every.name] == [
        "tpcc-latency-distribution-new-order",
        "tpcc-latency-distribution",
    ]
    rows = pd.DataFrame(_rows(orders, "curves"))
    assert set(rows["tier"]) == {"premium", "ultra"}
    # 24 threads / 310 a second × 1.4; the median of this lognormal is e^(−1/8) of its mean
    median = rows[(rows["tier"] == "premium") & (rows["nines"].round(4) == 0.301)][
        "value"
    ]
    assert median.item() == pytest.approx(24 / 310 * 1.4 * 0.8825 * 1e3, rel=0.05)
    assert orders.remark.startswith("New-Orders: premium 5,")
    assert every.remark.startswith("All transactions but Delivery: premium 11,")
    assert "in 2 runs" in every.remark
    assert (
        "ms (log scale)" in orders.svg and "percentile of transactions, %" in orders.svg
    )
    assert [mark for mark in (">50<", ">90<", ">99<") if mark not in orders.svg] == []


def test_a_run_that_kept_no_transactions_has_no_distribution() -> None:
    index = one_run("ultra", frames=False)
    assert latency.section(index) == ()


# ------------------------------------------------------------------ prices


def _priced(**more: Any) -> tuple[ReportIndex, list[Chart]]:
    campaign = build_campaign(workloads=["point-select"], frames=False, **more)
    index = judged_index(campaign)
    blocks = price_charts.price_charts(index, index.verdict.decisions[0])
    return index, [chart for block in blocks for chart in block.rows]


def test_price_against_throughput_and_tail() -> None:
    index, drawn = _priced()
    assert [chart.name for chart in drawn] == [
        "point-select-price-throughput",
        "point-select-price-p99",
    ]
    rows = {row["tier"]: row for row in _rows(drawn[0], "offers")}
    assert {tier: row["cost"] for tier, row in rows.items()} == {
        "premium": 103.68,  # three disks at 34.56
        "premium-v2": 255.0,
        "ultra": 780.0,
    }
    cell = index.figures.cell("ultra", "point-select", "throughput_per_s")
    assert cell and cell.ci_low and cell.ci_high
    assert [rows["ultra"][key] for key in ("value", "low", "high")] == pytest.approx(
        [cell.mean, cell.ci_low, cell.ci_high], rel=1e-5
    )
    fronts = {offer.tier: offer.on_front for offer in index.verdict.decisions[0].offers}
    assert {
        tier: row["front"] == "best at its price" for tier, row in rows.items()
    } == fronts
    assert "cost of 3 nodes, USD a month" in drawn[0].svg
    assert ">p99 latency, ms<" in drawn[1].svg


@pytest.mark.parametrize("workload", ["point-select", "tpcc"])
@pytest.mark.parametrize("metric", ["latency_p99_s", "latency_avg_s"])
def test_latency_is_held_against_price_in_milliseconds(
    workload: str, metric: str
) -> None:
    def change(record: Record) -> Record:
        kept: list[Measurement] = []
        for figure in record.measurements:
            if metric == "latency_p99_s" or figure.metric != "latency_p99_s":
                kept.append(figure)
        return replace(record, measurements=tuple(kept))

    campaign = build_campaign(workloads=[workload], frames=False, change=change)
    index = judged_index(campaign)
    (block,) = price_charts.price_charts(index, index.verdict.decisions[0])
    scope = index.figures.latency_scope(workload)
    for row in _rows(block.rows[-1], "offers"):
        cell = index.figures.cell(row["tier"], workload, metric, scope)
        assert cell is not None
        assert row["value"] == pytest.approx(1000 * cell.mean, rel=1e-3)


def test_where_a_tier_has_no_tail_its_average_is_held_against_price() -> None:
    def without(record: Record) -> Record:
        kept = tuple(
            one for one in record.measurements if one.metric != "latency_p99_s"
        )
        return (
            replace(record, measurements=kept)
            if record.profile.name == "premium"
            else record
        )

    drawn = _priced(change=without)[1]
    assert (
        drawn[1].name == "point-select-price-latency"
        and ">average latency, ms<" in drawn[1].svg
    )
    assert {row["tier"] for row in _rows(drawn[1], "offers")} == {
        "premium",
        "premium-v2",
        "ultra",
    }


def test_an_slo_is_a_line_in_the_charts_that_it_limits() -> None:
    slo = (
        Objective("latency_avg_s", "all", 0.05),
        Objective("throughput_per_s", "all", 2000.0),
    )
    made = build_campaign(workloads=["point-select"], frames=False)
    (load,) = made.plan.workloads
    made = replace(made, plan=replace(made.plan, workloads=(replace(load, slo=slo),)))
    index = judged_index(made)
    (block,) = price_charts.price_charts(index, index.verdict.decisions[0])
    assert block.caption.endswith(" Dashed: the SLO.")
    for chart, value, words in zip(
        block.rows,
        (2000.0, 50.0),
        ("throughput > 2000/s", "average < 50 ms"),
        strict=True,
    ):
        assert chart.live and chart.live["datasets"]["slo"] == [
            {"value": value, "slo": words}
        ]
        assert f">{escape(words)}<" in chart.svg
        assert chart.svg.count("stroke-dasharray") == 1


def test_without_prices_of_one_list_there_is_no_chart() -> None:
    assert _priced(priced=False)[1] == []


# ------------------------------------------------------------------ the page's drawing


def test_a_name_cannot_leave_its_expression() -> None:
    name = 'a\'] || "b" </script>'
    table = pd.DataFrame(
        {"seconds": [0.5, 1.5], "value": [1.0, 2.0], "tier": name, "run": "r"}
    )
    drawn = over_time_charts.over_time(
        "w", Measure("m", "f", "T", "u"), series.Series(table, 1), [name], {}
    )
    assert drawn.live
    reading = drawn.live["layer"][-1]["transform"][0]["calculate"]
    assert reading == f"'l' + indexof({json.dumps([name])}, datum.tier)"
