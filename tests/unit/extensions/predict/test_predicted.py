"""Predictions in a report: measured tiers beside what they did, and a map of all by price."""

from __future__ import annotations

from dataclasses import replace
from operator import truediv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.analysis.predictions import Estimate, FigureKey, Prediction
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.extensions.predict import (
    first_answer,
    picture,
    section as predicted_section,
)
from orchestrator.extensions.predict.measured_cell import MeasuredCell
from orchestrator.extensions.predict.page import document
from orchestrator.extensions.predict.stored import without_slo
from orchestrator.keys.schema import DRY
from orchestrator.model import Objective
from orchestrator.registry.references import CORE
from orchestrator.report.blocks import Charts, Table
from orchestrator.report.charts import charts
from orchestrator.system import campaign_writing, store
from tests.campaigns import build_campaign
from tests.judged import judged_index

pytestmark = pytest.mark.draws

RUN = "02-ultra-tpcc-r1"


def a_prediction(
    tier: str, per_s: float, cost: float | None, **more: object
) -> Prediction:
    figures = {"throughput_per_s": Estimate(per_s, 0.8 * per_s, 1.2 * per_s)}
    known = Prediction(tier, False, "iops_cap", figures, cost, "USD", run=RUN)
    return replace(known, **more)  # type: ignore[arg-type]


def test_a_dearer_disk_is_worth_its_price_if_it_is_faster_by_more_than_the_margin() -> (
    None
):
    cell: Any = SimpleNamespace(
        speed=FigureKey("throughput_per_s"), margin_pct=5.0, times_as_fast=truediv
    )
    offered = [
        a_prediction("a", 100.0, 10.0),
        a_prediction("b", 105.0, 20.0),
        a_prediction("c", 106.0, 30.0),
    ]
    kept = first_answer.worth_the_price(cell, offered)
    assert [prediction.tier for prediction in kept] == ["a", "c"]


EVERY = (
    a_prediction("premium", 300.0, 38.0, measured={"throughput_per_s": 320.0}),
    a_prediction("azure/P30", 400.0, 135.0),
    a_prediction("aws/gp3:size=1TiB", 500.0, 82.0),
    a_prediction("gcp/pd-ssd:size=12GiB", 600.0, None),
)


@pytest.fixture(name="campaign", scope="module")
def predicted_campaign() -> Results:
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["tpcc"], repetitions=1, nodes=1
    )
    return replace(made, predictions=EVERY)


def test_measured_stands_beside_predicted_and_the_map_has_all_with_a_price(
    campaign: Results,
) -> None:
    (section,) = predicted_section.section(judged_index(campaign))
    table, maps = section.parts[0].blocks
    assert isinstance(table, Table) and isinstance(maps, Charts)
    texts = [[cell.text for cell in row] for row in table.rows]
    assert texts == [
        ["premium", "300 transactions/s (240 to 360)", "320 transactions/s"]
    ], "what is known alone"
    (chart,) = maps.rows
    assert chart.live is not None
    points = chart.live["datasets"]["points"]
    assert [point["name"] for point in points] == [p.tier for p in EVERY[:3]]
    assert [point["did"] for point in points] == [320.0, None, None]
    assert list(maps.bands) == ["aws", "azure", "gcp", "measured too"]
    assert ">premium</text>" in chart.svg and ">azure/P30</text>" not in chart.svg


def test_a_campaign_without_predictions_has_no_such_section(campaign: Results) -> None:
    bare = replace(campaign, predictions=())
    assert predicted_section.section(judged_index(bare)) == ()


def test_they_are_stored_with_the_campaign(campaign: Results, tmp_path: Path) -> None:
    folder = campaign_writing.create(
        tmp_path, campaign.plan, campaign.fingerprint, 1_750_000_000.0
    )
    campaign_writing.save_predictions(folder, EVERY, CORE)
    assert store.load(folder).predictions == EVERY
    (folder / "predictions.json").write_text('{"schema_version": 1, "predic')
    cut = store.load(folder)
    assert cut.predictions == ()
    assert any("predictions.json" in note.text for note in cut.plan.notes)


def test_a_disk_has_one_colour_in_the_picture_and_the_table(campaign: Results) -> None:
    """Of two sizes of a row at one price the picture has the first, and the table both."""
    alike = replace(EVERY[1], tier="azure/P30:count=2")
    known = (*EVERY[:2], alike, EVERY[2])
    (run, *_) = [run for run in campaign.done if run.record.run.slug == RUN]
    predicted = without_slo(campaign, run, "latest", known)
    page = document(replace(predicted, is_of_named=True))
    drawing = page.answers[0].picture
    assert drawing is not None and drawing.live is not None
    labels = [row["label"] for row in drawing.live["datasets"]["tiers"]]
    assert labels.count("azure/P30, 135.00 USD") == 1
    scale = drawing.live["layer"][1]["encoding"]["color"]["scale"]
    drawn = dict(zip(scale["domain"], scale["range"], strict=True))
    assert drawn == charts.colours(page.tiers)


def test_a_disk_with_another_one_for_its_log_is_drawn_under_both_names(
    campaign: Results,
) -> None:
    layout = replace(EVERY[1], tier="azure/P30:count=2+wal=azure/P4")
    (run, *_) = [run for run in campaign.done if run.record.run.slug == RUN]
    predicted = without_slo(campaign, run, "latest", (EVERY[0], EVERY[1], layout))
    drawing = document(replace(predicted, is_of_named=True)).answers[0].picture
    assert drawing is not None and drawing.live is not None
    labels = [row["label"] for row in drawing.live["datasets"]["tiers"]]
    assert "azure/P30, 135.00 USD" in labels
    assert "azure/P30, log on azure/P4, 135.00 USD" in labels


def test_a_figure_of_one_type_of_transactions_is_shown_by_its_key(
    campaign: Results,
) -> None:
    new_order_p99 = FigureKey("latency_p99_s", "new_order")
    figures = {new_order_p99.stored_name: Estimate(0.012, 0.009, 0.02)}
    known = [replace(prediction, figures=figures, chance=0.9) for prediction in EVERY]
    (run, *_) = [run for run in campaign.done if run.record.run.slug == RUN]
    predicted = without_slo(campaign, run, "latest", known)
    clause = Objective(new_order_p99.metric, new_order_p99.scope, 0.015)
    page = document(replace(predicted, clauses=(clause,)))
    titles = [column.title for column in page.verdicts.columns]
    assert "New_order p99 latency" in titles
    drawing = page.answers[0].picture
    assert drawing is not None and drawing.live is not None
    drawn = [row["value"] for row in drawing.live["datasets"]["tiers"]]
    assert drawn == pytest.approx([12.0] * len(drawn))


@pytest.mark.parametrize(
    ("key", "stored_name"),
    [
        (FigureKey("nopm"), "nopm"),
        (FigureKey("latency_p99_s", "new_order"), "new_order latency_p99_s"),
    ],
)
def test_files_of_earlier_releases_name_figures_so(
    key: FigureKey, stored_name: str
) -> None:
    assert key.stored_name == stored_name
    assert FigureKey.of_stored(stored_name) == key


@pytest.mark.parametrize(
    ("paced", "slo", "shaded", "words"),
    [
        (
            False,
            None,
            (380.0, 400.0),
            "Shaded: within 5 % of the fastest. Lines: nine results in ten lie within.",
        ),
        # Milliseconds, of which the least are the fastest.
        (
            True,
            None,
            (200.0, 210.0),
            "Shaded: within 5 % of the fastest. Lines: nine results in ten lie within.",
        ),
        (
            False,
            Objective("throughput_per_s", "all", 350.0),
            # To the end of the axis, behind the interval of the fastest.
            (350.0, 1.08 * 480.0),
            "Shaded: throughput > 350/s. Lines: nine results in ten lie within.",
        ),
    ],
)
def test_what_is_enough_is_shaded(
    paced: bool,
    slo: Objective | None,
    shaded: tuple[float, float],
    words: str,
) -> None:
    means = {FigureKey("throughput_per_s"): 320.0}
    cell = MeasuredCell(
        "x/1", "premium", "tpcc", means, paced, 5.0, "postgresql", 3, is_rehearsed=False
    )
    predictions: list[Prediction] = []
    for prediction in EVERY[:2]:
        latency = Estimate(0.4, 0.35, 0.45)
        if prediction.tier == "azure/P30":
            latency = Estimate(0.2, 0.15, 0.25)
        figures = {**prediction.figures, cell.speed.stored_name: latency}
        if not paced:
            figures = dict(prediction.figures)
        predictions.append(replace(prediction, figures=figures))
    clauses = [slo] if slo else []
    chart = picture.picture(cell, predictions, clauses)
    assert chart is not None and chart.live is not None
    (stretch,) = chart.live["datasets"]["enough"]
    assert (stretch["from"], stretch["to"]) == pytest.approx(shaded)
    assert chart.remark == words


def test_a_script_is_given_no_disk_by_figures_that_a_model_made_up(
    campaign: Results,
) -> None:
    """It was known by a word among what limits the run."""
    (run, *_) = [run for run in campaign.done if run.record.run.slug == RUN]
    known = [replace(prediction, doubts=("made up",)) for prediction in EVERY]
    measured = document(without_slo(campaign, run, "latest", known))
    assert measured.named_disks and not measured.is_example
    workload = replace(run.record.workload, generator=DRY)
    record = replace(run.record, workload=workload)
    rehearsed = without_slo(campaign, replace(run, record=record), "latest", known)
    shown = document(rehearsed)
    assert shown.named_disks == () and shown.is_example


def test_the_page_has_them(campaign: Results, tmp_path: Path) -> None:
    made = concluding.write_report(campaign, judge(campaign), tmp_path)
    assert "## Predicted of other tiers" in made.markdown.read_text()
    assert "charts/predicted-throughput.svg" in {
        str(f.relative_to(tmp_path)) for f in made.charts
    }
