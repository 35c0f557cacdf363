"""`tierbench predict` and `advise`: which run is meant, which tiers, and what is printed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.answers.disk_words import specified
from orchestrator.analysis.metric_values import whole
from orchestrator.analysis.predictions import Prediction
from orchestrator.analysis.results import finished
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.cli.prepare.init import CLUSTERS
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UsageError
from orchestrator.extensions.observe import candidates
from orchestrator.extensions.predict import answer, next_commands, offers
from orchestrator.extensions.predict.offers import Offers
from orchestrator.extensions.predict.prediction import FIGURES, Predictor
from orchestrator.model import Objective, Record
from orchestrator.planning import named_tiers, profiles, project_files
from orchestrator.planning.profiles import ANY_SCALE
from orchestrator.system import parquet, store
from orchestrator.tier_catalog import prices
from tests import ROOT
from tests.campaigns import build_campaign, stored_with_tables

RUN = "02-ultra-tpcc-r1"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with one campaign of two tiers."""
    return stored(tmp_path_factory.mktemp("results"))


def stored(folder: Path, **given: Any) -> Path:
    tiers = ["premium", "ultra"]
    made = build_campaign(
        profiles=tiers, workloads=["tpcc"], repetitions=1, nodes=1, **given
    )
    stored_with_tables(made, folder)
    return folder


def a_prediction(tier: str) -> Prediction:
    return Prediction(
        tier,
        False,
        limit="latency_bound",
        figures={},
        monthly_cost=None,
        currency="USD",
        chance=0.5,
        run=RUN,
    )


def predict(*words: str | Path, command: str = "predict") -> int:
    return exit_code([command, *map(str, words)], CampaignApp())


def test_tiers_by_their_rows_with_keys_as_in_a_profile(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gp3 = "aws/gp3:size=1TiB,iops=6000,throughput=250MiB/s"
    assert (
        predict(RUN, "--tier", "azure/P15", "--tier", gp3, "--results", results)
        == EXIT_DONE
    )
    out, _ = capfd.readouterr()
    assert "IOPS cap" in out and "aws/gp3 (1 TiB, 6,000 IOPS" in out and "USD" in out


def test_a_second_disk_for_the_log_is_named_behind_the_row(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    layout = "azure/P15+wal=azure/premium-v2:size=32GiB,iops=3000"
    words = (RUN, "--tier", "azure/P15", "--tier", layout, "--results", results)
    assert predict(*words, "-o", "json") == EXIT_DONE
    out, _ = capfd.readouterr()
    alone, with_log = json.loads(out)["predictions"]
    assert with_log["tier"] == layout
    # The price of both disks, by the catalog's list.
    assert with_log["monthly_cost"] - alone["monthly_cost"] == pytest.approx(2.57)
    # Predictions of such layouts were held against measurements: nothing limits them more.
    assert with_log["doubts"] == alone["doubts"]
    # Syncs are a part of what the one disk at its cap of 1,100 IOPS does.
    throughput = "throughput_per_s"
    gain = (
        with_log["figures"][throughput]["value"] / alone["figures"][throughput]["value"]
    )
    assert 1.02 < gain < 1.2
    assert predict(*words) == EXIT_DONE
    out, _ = capfd.readouterr()
    said = " ".join(out.split())
    assert "azure/P15, log on azure/premium-v2 (32 GiB, 3,000 IOPS)" in said


@pytest.mark.parametrize(
    ("tier", "key"),
    [
        ("azure/P15+wal=azure/P4", "wal=azure/P4"),
        (
            "azure/P15:count=2+wal=azure/premium-v2:size=32GiB,iops=3000",
            "wal={type: azure/premium-v2, size: 32GiB, iops: 3000}",
        ),
    ],
)
def test_the_command_that_measures_a_layout_writes_a_profile_of_it(
    tier: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = next_commands.init_command("advised-1", a_prediction(tier))
    words = shlex.split(command)
    assert words[-1] == key
    for folder in ("profiles", "workloads"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    app = CampaignApp(root=tmp_path)
    assert exit_code(words[1:], app) == EXIT_DONE
    # A script gets the layout as `-o name` has it.
    assert exit_code(["init", "by-name", "--tier", tier], app) == EXIT_DONE
    text = Path("profiles/advised-1.yaml").read_text()
    by_name = Path("profiles/by-name.yaml").read_text()
    assert by_name == text.replace("advised-1", "by-name")
    read, _ = project_files.read(tmp_path, ["advised-1"], [], "laptop")
    expected, _ = named_tiers.bought(tmp_path, tier, read[0].cluster.vm)
    assert read[0].tier.wal is not None and expected.wal is not None
    assert read[0].tier.wal.limits == expected.wal.limits
    assert read[0].tier.price == expected.price


def test_advice_looks_at_logs_of_their_own_where_commits_wait_for_one(
    results: Path,
) -> None:
    (folder,) = results.glob("2*/")
    campaign = store.load(folder)
    (run,) = [run for run in campaign.done if run.record.run.slug == RUN]
    predictor = Predictor(campaign, run)
    (alone,) = Offers(ROOT, predictor, of_classes=False).predictions(
        ["azure/P15"], may_skip=False
    )
    # More than the one disk is likely to do, and less than it may do with a log elsewhere.
    more_per_s = 1.04 * alone.figures["throughput_per_s"].value
    clauses = [Objective("throughput_per_s", "all", more_per_s)]
    found = Offers(ROOT, predictor, clauses, of_classes=False).search(["azure/P15"])
    single, *layouts = found
    assert single.tier == "azure/P15"
    assert layouts, "a layout with a log's disk may meet it"
    for prediction in layouts:
        assert prediction.tier.startswith("azure/P15+wal=azure/")
        assert (prediction.chance or 0.0) > (single.chance or 0.0)


def test_a_campaign_outside_of_the_results_folder_keeps_its_predictions(
    results: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the folder that was given: its name alone is none of a campaign there."""
    (folder,) = results.glob("2*/")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(folder, elsewhere)
    asked = (elsewhere / "runs" / RUN, "--size", "250GiB", "--results", tmp_path / "no")
    assert predict(*asked) == EXIT_DONE, capfd.readouterr().err
    assert store.load(elsewhere).predictions
    assert "Worth measuring first" in (elsewhere / "prediction.md").read_text()
    assert (elsewhere / "prediction.html").stat().st_size < 2**20


def test_json_has_each_figure_with_its_interval(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder,) = results.glob("2*/")
    asked = (
        folder / "runs" / RUN,
        "--tier",
        "azure/P15",
        "--output=json",
        "--results",
        results,
    )
    assert predict(*asked) == EXIT_DONE
    (tier,) = json.loads(capfd.readouterr().out)["predictions"]
    figure = tier["figures"]["throughput_per_s"]
    assert figure["low"] < figure["value"] < figure["high"]
    assert (tier["tier"], tier["upwards"], tier["limit"]) == (
        "azure/P15",
        False,
        "iops_cap",
    )


def test_a_tier_that_was_measured_too_stands_first_with_what_it_did(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = (RUN, "--size", "250GiB", "--results", results)
    assert predict(*asked, "--output=json") == EXIT_DONE
    first, *others = json.loads(capfd.readouterr().out)["predictions"]
    (did,) = whole(
        finished(store.load(results / "latest"), "premium", "tpcc"), FIGURES[0]
    )
    assert (first["tier"], first["measured"]["throughput_per_s"]) == ("premium", did)
    assert len(others) > 20 and not any(other["measured"] for other in others)
    costs = [tier["monthly_cost"] for tier in others if tier["monthly_cost"]]
    assert costs == sorted(costs), "from cheap to dear"
    assert predict(*asked) == EXIT_DONE
    assert f"did {did:.0f}" in capfd.readouterr().out


def test_without_an_slo_the_cheapest_of_the_fast_is_to_be_measured_first(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The order is answer, why, how sure, what next; nothing that was not measured is to buy."""
    asked = (RUN, "--size", "250GiB", "--results", results)
    assert predict(*asked, "--output=json") == EXIT_DONE
    told = json.loads(capfd.readouterr().out)
    brief = told["brief"]
    assert brief["what"].startswith("Worth measuring first: ")
    speeds = {}
    for tier in told["predictions"]:
        if tier["monthly_cost"] and not tier["measured"]:
            figure = tier["figures"]["throughput_per_s"]["value"]
            speeds[tier["tier"]] = (tier["monthly_cost"], figure)
    fastest = max(figure for _, figure in speeds.values())
    near = [cost for cost, figure in speeds.values() if figure >= 0.95 * fastest]
    assert f"for {min(near):,.2f} USD a month" in brief["what"]
    assert "predicted within 5 % of the fastest" in brief["why"]
    assert brief["how_sure"].startswith("Predicted, not measured.")
    assert "For premium the prediction is " in brief["how_sure"], (
        "how far off it is, where known"
    )
    assert brief["not_tested"] == "All of these disks but premium."
    assert f"tierbench advise latest/{RUN} --slo" in brief["next_step"]
    assert told["commands"][-1].startswith("tierbench compare --profiles advised-1")


def test_each_disk_on_the_first_screen_is_faster_than_all_that_cost_less(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = (RUN, "--size", "250GiB", "--results", results)
    assert predict(*asked) == EXIT_DONE
    out = capfd.readouterr().out
    lines = out.splitlines()
    (head,) = [number for number, line in enumerate(lines) if "A month" in line[:80]][
        :1
    ]
    rates = []
    for line in lines[head + 2 :]:
        rate = re.search(r" USD(?: not verified)? +([\d.,]+) ", line)
        if rate is None:
            break
        rates.append(float(rate[1].replace(",", "")))
    assert len(rates) >= 2 and rates == sorted(rates)
    assert re.search(r"\d+ more are in `-o json`", out)


@pytest.mark.parametrize("form", ["md", "summary", "html", "name"])
def test_a_prediction_has_the_forms_of_a_report(
    form: str, results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`predict` gives them, and `report` of what it has kept gives the same."""
    asked = ("--results", results, "-o", form)
    assert predict(RUN, "--size", "250GiB", *asked) == EXIT_DONE
    first = capfd.readouterr().out
    if form == "name":
        assert re.fullmatch(r"(?:[a-z]+/[^ ]+\n)+", first)
    else:
        assert "Worth measuring first" in first and "Predicted, not measured" in first
    assert predict(f"latest/{RUN}", *asked, command="report") == EXIT_DONE
    assert capfd.readouterr().out == first


def test_the_list_names_a_prediction_with_its_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results = stored(tmp_path)
    words = ("--size", "250GiB", "--results", results, "-o", "json")
    assert predict(RUN, *words) == EXIT_DONE
    what = json.loads(capfd.readouterr().out)["brief"]["what"]
    assert predict("--results", results, "-o", "json", command="history") == EXIT_DONE
    entries = json.loads(capfd.readouterr().out)
    (listed,) = [entry for entry in entries if entry["kind"] == "prediction"]
    assert listed["answer"] == what and listed["folder"].endswith(f"/{RUN}")
    asked = (listed["folder"], "--results", results)
    assert predict(*asked, command="report") == EXIT_DONE, "by the name in the list"
    assert what in " ".join(capfd.readouterr().out.split())


def test_a_run_of_which_nothing_was_predicted_has_no_page(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("latest/01-premium-tpcc-r1", "--results", results)
    assert predict(*words, command="report") == EXIT_USAGE
    err = " ".join(capfd.readouterr().err.split())
    assert "nothing was predicted from latest/01-premium-tpcc-r1" in err
    assert "`tierbench predict latest/01-premium-tpcc-r1` predicts" in err
    assert predict("nowhere/at-all", "--results", results, command="report") != 0
    err = " ".join(capfd.readouterr().err.split())
    assert "'nowhere/at-all' is not a campaign" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("99-none-r1",), "has no finished run '99-none-r1'"),
        ((), "Missing argument 'run'."),
        (("01-premium-tpcc-r1",), "was at a cap of its disk"),
        ((RUN, "--tier", "azure/P15:iops=5000"), "azure/P15 has fixed limits"),
        ((RUN, "--tier", "azure/P14"), "azure/P14"),
        (
            (RUN, "--tier", "azure/P15+wal=aws/gp3:size=32GiB"),
            "no machine has a disk of aws/gp3 beside one of azure/premium",
        ),
        ((RUN, "--tier", "azure/P15+wal="), "'azure/P15+wal=' names no disk"),
        ((RUN, "--tier", "+wal=azure/P15"), "'+wal=azure/P15' names no disk"),
        ((RUN, "--tier", ""), "'' names no disk"),
        # What other memory and other data do is measured by a factor.
        ((RUN, "--memory", "2GiB"), "No such option: --memory"),
        ((RUN, "--data", "12 tables"), "No such option: --data"),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    words: tuple[str, ...], said: str, results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert predict(*words, "--results", results) == EXIT_USAGE
    err = " ".join(capfd.readouterr().err.split())
    assert said in err and "Missing parameter" not in err


@pytest.mark.parametrize("clause", ["p99.9 < 50 ms", "failures < 1 %"])
def test_an_slo_of_which_no_tier_can_be_told_is_refused(
    clause: str, results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing would be predicted to meet it, which is no verdict on the tiers."""
    slo = f"throughput > 10, {clause}"
    words = (RUN, "--slo", slo, "--tier", "azure/P30", "--results", results)
    assert predict(*words, command="advise") == EXIT_USAGE
    err = " ".join(capfd.readouterr().err.split())
    assert f"'{clause}': it cannot be predicted from ultra and tpcc" in err
    assert "of which these can: average" in err and "'throughput" not in err


def test_a_campaign_in_place_of_a_run_is_refused_with_its_runs(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = (results / "latest").resolve()
    for word in (str(folder), f"{folder}/"):
        assert predict(word, "--results", results) == EXIT_USAGE
        said = " ".join(capfd.readouterr().err.split())
        assert "is a campaign: name one of its runs" in said and RUN in said


@cache
def points(needed: int) -> list[str]:
    catalog = project_files.catalog(ROOT)
    return list(map(candidates.text, candidates.points(catalog, needed)))


def test_what_is_advised_holds_the_disks_at_which_init_reads_a_profile() -> None:
    """A size of its own, as `advise` prints it, and a row of a fixed one."""
    clusters, catalog = project_files.clusters(ROOT), project_files.catalog(ROOT)
    every = points(12 * 2**30)
    sized = next(point for point in every if point.startswith("azure/premium-v2:size="))
    fixed = next(point for point in every if point.startswith("azure/P"))
    several = next(
        point for point in every if point.startswith("aws/gp3") and "count=4" in point
    )
    assert fixed == "azure/P1:count=4", "none but several of the smallest"
    for point in (sized, fixed, several):
        row, _, keys = point.partition(":")
        tier = f"{{type: {row}, {_yaml(keys)}}}" if keys else row
        cluster = CLUSTERS[row.partition("/")[0]]
        text = f"question: Enough?\ncluster: {cluster}\ntier: {tier}\n"
        assert (
            profiles.read_profile(
                "advised", text, profiles.Nameable(clusters, catalog), "laptop"
            ).name
            == "advised"
        )


def _yaml(keys: str) -> str:
    return ", ".join(key.replace("=", ": ", 1) for key in keys.split(","))


def test_the_catalog_is_predicted_at_sizes_that_hold_the_data() -> None:
    """Fixed sizes as they are; a provisioned type at three points within its rules."""
    assert "azure/P15" in points(250 * 2**30) and "azure/P10" not in points(250 * 2**30)
    gp3 = [point for point in points(250 * 2**30) if point.startswith("aws/gp3:")]
    assert gp3[:2] == [
        "aws/gp3:size=250GiB,iops=3000,throughput=125MiB/s",
        "aws/gp3:size=250GiB,iops=12000,throughput=500MiB/s",
    ]


def test_several_small_disks_stand_beside_one_large() -> None:
    """Where each can be bought so: fixed sizes, and types whose price includes IOPS."""
    every = points(250 * 2**30)
    assert "azure/P10:count=2" in every and "azure/P10:count=4" in every
    assert "aws/gp3:size=63GiB,count=4,iops=3000,throughput=125MiB/s" in every
    assert "azure/P50" in every and "azure/P50:count=2" not in every, (
        "sixteen times the data"
    )
    assert not [
        point for point in every if point.startswith("gcp/pd-") and "count" in point
    ]


def on_d8s(record: Record) -> Record:
    cluster = replace(record.profile.cluster, vm="azure/Standard_D8s_v5")
    return replace(record, profile=replace(record.profile, cluster=cluster))


def test_the_price_holds_the_machine_that_the_catalog_has(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """P15 on the run's own machine, gp3 on that of the cluster which `init` takes; and `advise`
    prints the machine."""
    results = stored(tmp_path, change=on_d8s)
    gp3 = "aws/gp3:size=6GiB,iops=3000,throughput=125MiB/s,count=2"
    tiers = ("--tier", "azure/P15", "--tier", "azure/P15:count=2", "--tier", gp3)
    assert predict(RUN, *tiers, "--output=json", "--results", results) == EXIT_DONE
    alone, two, other = json.loads(capfd.readouterr().out)["predictions"]
    catalog = project_files.catalog(ROOT)
    (row,) = catalog.vm("azure/Standard_D8s_v5").prices
    tier, _ = named_tiers.tier(ROOT, "azure/P15", [], ANY_SCALE)
    assert tier.price is not None
    machine, disk = prices.monthly(row) or 0.0, tier.price.monthly
    assert alone["machine"] == two["machine"] == "azure/Standard_D8s_v5"
    assert alone["monthly_cost"] == pytest.approx(machine + disk, abs=0.1)
    assert two["monthly_cost"] == pytest.approx(machine + 2 * disk, abs=0.1)
    assert other["machine"] == "aws/r5b.2xlarge" and other["monthly_cost"] > 2 * disk
    assert advise("throughput > 250", "--results", results) == EXIT_DONE
    said = " ".join(capfd.readouterr().out.split())
    assert (
        "init advised-1 --tier azure/premium-v2 --vm azure/Standard_D8s_v5 size=250GiB"
        in said
    )


def test_most_points_can_be_bought() -> None:
    """Of the catalog's rows only those beyond a provider's rules are left out."""
    refused = []
    for point in points(250 * 2**30):
        row, _, keys = point.partition(":")
        try:
            named_tiers.tier(
                ROOT, row, [key for key in keys.split(",") if key], ANY_SCALE
            )
        except UsageError:
            refused.append(point)
    assert len(refused) < len(points(250 * 2**30)) / 5, refused


CHEAP, SIMILAR, DEAR = (
    "azure/P10",
    "azure/premium-v2:size=250GiB,iops=10000,throughput=250MB/s",
    "azure/ultra:size=250GiB,iops=10000,throughput=250MB/s",
)


def advise(slo: str, *words: str | Path) -> int:
    tiers = (word for tier in (DEAR, CHEAP, SIMILAR) for word in ("--tier", tier))
    return predict(RUN, *tiers, "--slo", slo, *words, command="advise")


@pytest.mark.parametrize("simulated_events", [20_000])
def test_advice_is_the_cheapest_that_is_likely_enough_and_what_is_less_likely_below(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run made 465 transactions a second; P10 has 500 IOPS, and each reads twice."""
    assert (
        advise("throughput > 250", "--output=json", "--results", results) == EXIT_DONE
    )
    told = json.loads(capfd.readouterr().out)
    assert told["measure"] == [SIMILAR]
    chances = {tier["tier"]: tier["chance"] for tier in told["tiers"]}
    assert list(chances) == [SIMILAR, DEAR], "by price, without what has no chance"
    assert chances[SIMILAR] == 0.9, "of one repetition no more is said"
    assert told["doubts"][0] == "n = 1"
    assert (
        advise("throughput > 450", "--output=json", "--results", results) == EXIT_DONE
    )
    even = json.loads(capfd.readouterr().out)
    rate = even["tiers"][0]["figures"]["throughput_per_s"]["value"]
    assert (
        f"throughput > 450/s, with {rate:.0f} transactions/s predicted: "
        in even["brief"]["why"]
    )
    assert 0.1 < even["tiers"][0]["chance"] < 0.9
    assert even["measure"][-1] == SIMILAR, "no more is known of the dearer"


def test_advice_ends_with_the_commands_that_measure_it(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        advise("average < 90 ms, throughput > 250", "--results", results) == EXIT_DONE
    )
    out = capfd.readouterr().out.splitlines()
    keys = "size=250GiB iops=10000 throughput=250MB/s"
    assert out[-2] == f"tierbench init advised-1 --tier azure/premium-v2 {keys}"
    asked = "--profiles advised-1 --workloads tpcc --slo 'average < 90 ms, throughput > 250'"
    assert out[-1] == f"tierbench compare {asked}"
    assert CHEAP not in "".join(out), "of which there is no chance"


def test_how_far_a_layout_may_be_off_stands_on_the_first_screen_where_one_is_named() -> (
    None
):
    alone = a_prediction("azure/P10")
    layout = a_prediction("azure/P15+wal=azure/P4")
    with_layout = answer.doubts_in_words([alone, layout])
    assert list(with_layout) == [answer.LOGS_DID_BETTER]
    assert list(answer.doubts_in_words([alone])) == []


def test_nothing_is_advised_where_no_tier_has_a_chance(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert advise("throughput > 500000", "--results", results) == EXIT_DONE
    said = " ".join(capfd.readouterr().out.split())
    assert said.startswith("No disk is predicted to meet throughput > 500000/s Why ")
    # A row's parameters are one long word, which no telephone has room for.
    assert f"{specified(DEAR)}, for " in said
    assert " USD a month, comes nearest: " in said
    assert "it is predicted to keep throughput > " in said
    assert "Every disk has less than a 10 % chance to meet it." in said


def test_the_size_of_the_disk_is_asked_for_where_nobody_said_it(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = (RUN, "--slo", "throughput > 250", "--results", results)
    assert predict(*words, command="advise") == EXIT_USAGE
    assert "--size 250GiB" in capfd.readouterr().err


def test_candidates_hold_the_profiles_disk_and_never_the_data_of_a_small_scale() -> (
    None
):
    tier, _ = named_tiers.tier(ROOT, "azure/P15", [], ANY_SCALE)
    assert tier.origin.size_bytes == 256 * 2**30
    of_two = replace(tier, count=2)
    assert offers._bytes_of_its_disk(of_two) == 512 * 2**30
    own = replace(tier, origin=replace(tier.origin, size_bytes=None))
    assert offers._bytes_of_its_disk(own) == 0


def test_doubts_stand_above_the_table(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert advise("throughput > 250", "--results", results) == EXIT_DONE
    said = " ".join(capfd.readouterr().out.split())
    assert "What limits these predictions: n = 1" in said
    assert "at most 90 %" in said


# ------------------------------------------------------------------ an observed load


def observation(folder: Path, writes_per_s: float, **other: float) -> Path:
    """The folder of one, as far as `advise` reads it: an hour of minutes."""
    per_s = {"reads": 2.0 * writes_per_s, "writes": writes_per_s}
    per_s |= {"read_bytes": 16_384.0 * writes_per_s, "written_bytes": 1e6, **other}
    begin_s = 1.8e9 + 60 * np.arange(60)
    rows = pd.DataFrame(
        {name: np.full(60, 60.0 * value) for name, value in per_s.items()}
    )
    folder.mkdir(exist_ok=True)
    rows = rows.assign(node="db-1", device="sdc", begin_s=begin_s, end_s=begin_s + 60)
    parquet.write(folder / "demand.parquet", [rows])
    return folder


def throughputs(
    results: Path, folder: Path, capfd: pytest.CaptureFixture[str], *words: str | Path
) -> dict[str, float]:
    asked = (
        "throughput > 1",
        "--tier",
        "azure/P15",
        "--tier",
        "azure/P50",
        "--output=json",
    )
    assert advise(*asked, *words, "--results", results) == EXIT_DONE
    tiers = json.loads(capfd.readouterr().out)["tiers"]
    return {
        tier["tier"]: tier["figures"]["throughput_per_s"]["value"] for tier in tiers
    }


def test_an_observed_hour_is_the_load(
    results: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A tier that carries it does as many transactions as that hour asks for; twice the writes are
    twice the transactions; and one whose cap the hour's I/Os are above does fewer."""
    calm, busier, beyond = (
        throughputs(
            results, tmp_path, capfd, "--observed", observation(tmp_path, per_s)
        )
        for per_s in (100.0, 200.0, 2000.0)
    )
    assert busier["azure/P50"] == pytest.approx(2 * calm["azure/P50"], rel=0.1)
    assert calm["azure/P15"] == pytest.approx(calm["azure/P50"], rel=0.05)
    assert beyond["azure/P15"] < 0.5 * beyond["azure/P50"]


@pytest.mark.parametrize(
    ("folder", "said"),
    [("none", "none cannot be read"), ("sar", "does not tell reads and writes apart")],
)
def test_what_is_no_load_is_refused(
    folder: str,
    said: str,
    results: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    observation(tmp_path / "sar", 100.0, reads=np.nan)
    words = ("throughput > 1", "--observed", tmp_path / folder, "--results", results)
    assert advise(*words) == EXIT_USAGE
    assert said in " ".join(capfd.readouterr().err.split())
