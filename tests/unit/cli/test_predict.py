"""`tierbench predict` and `advise`: which run is meant, which tiers, and what is printed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from orchestrator.analysis.prediction.prediction import FIGURES
from orchestrator.analysis.results import finished, whole
from orchestrator.cli import predictions
from orchestrator.cli.campaign_app import CampaignApp
from orchestrator.cli.main import exit_code
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UsageError
from orchestrator.planning import profiles, project_files
from orchestrator.planning.profiles import ANY_SCALE
from orchestrator.system import store
from orchestrator.tier_catalog import candidates
from tests import ROOT
from tests.campaigns import build_campaign

RUN = "02-ultra-tpcc-r1"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with one campaign of two tiers."""
    made = build_campaign(profiles=["premium", "ultra"], workloads=["tpcc"], repetitions=1, nodes=1)
    folder = tmp_path_factory.mktemp("results")
    campaign = store.create(folder, made.plan, made.fingerprint, 1_750_000_000.0)
    for run in made.runs:
        tables = (run.intervals, None, run.sampled.parts())
        store.save_run(store.run_folder(campaign, run.record.run), run.record, *tables)
    return folder


def predict(*words: str | Path, command: str = "predict") -> int:
    return exit_code([command, *map(str, words)], CampaignApp())


def test_tiers_by_their_rows_with_keys_as_in_a_profile(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gp3 = "aws/gp3:size=1TiB,iops=6000,throughput=250MiB/s"
    assert predict(RUN, "--tier", "azure/P15", "--tier", gp3, "--results", results) == EXIT_DONE
    out, _ = capfd.readouterr()
    assert "iops_cap" in out and "aws/gp3:size=1TiB" in out and "USD" in out


def test_json_has_each_figure_with_its_interval(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder,) = results.glob("2*/")
    asked = (folder / "runs" / RUN, "--tier", "azure/P15", "--json", "--results", results)
    assert predict(*asked) == EXIT_DONE
    (tier,) = json.loads(capfd.readouterr().out)
    figure = tier["figures"]["throughput_per_s"]
    assert figure["low"] < figure["value"] < figure["high"]
    assert (tier["tier"], tier["upwards"], tier["limit"]) == ("azure/P15", False, "iops_cap")


def test_a_tier_that_was_measured_too_stands_first_with_what_it_did(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert predict(RUN, "--json", "--results", results) == EXIT_DONE
    first, *others = json.loads(capfd.readouterr().out)
    (did,) = whole(finished(store.load(results / "latest"), "premium", "tpcc"), FIGURES[0])
    assert (first["tier"], first["measured"]["throughput_per_s"]) == ("premium", did)
    assert len(others) > 20 and not any(other["measured"] for other in others)
    assert predict(RUN, "--results", results) == EXIT_DONE
    assert f", measured {did:.0f}/s" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("99-none-r1",), "has no finished run '99-none-r1'"),
        (("01-premium-tpcc-r1",), "was at a cap of its disk"),
        ((RUN, "--tier", "azure/P15:iops=5000"), "azure/P15 has fixed limits"),
        ((RUN, "--tier", "azure/P14"), "azure/P14"),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    words: tuple[str, ...], said: str, results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert predict(*words, "--results", results) == EXIT_USAGE
    assert said in " ".join(capfd.readouterr().err.split())


@cache
def points(needed: int) -> list[str]:
    catalog = project_files.catalog(ROOT)
    return list(map(candidates.text, candidates.points(catalog, needed)))


def test_what_is_advised_holds_the_disks_at_which_init_reads_a_profile() -> None:
    """A size of its own, as `advise` prints it, and a row of a fixed one."""
    clusters, catalog = project_files.clusters(ROOT), project_files.catalog(ROOT)
    every = points(predictions.LEAST_BYTES)
    sized = next(point for point in every if point.startswith("azure/premium-v2:size="))
    fixed = next(point for point in every if point.startswith("azure/P"))
    for point in (sized, fixed):
        row, _, keys = point.partition(":")
        tier = f"{{type: {row}, {_yaml(keys)}}}" if keys else row
        text = f"question: Enough?\ncluster: azure-d8s-v5\ntier: {tier}\n"
        assert profiles.read_profile("advised", text, clusters, "laptop", catalog).name == "advised"


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


def test_most_points_can_be_bought() -> None:
    """Of the catalog's rows only those beyond a provider's rules are left out."""
    refused = []
    for point in points(250 * 2**30):
        row, _, keys = point.partition(":")
        try:
            project_files.tier(ROOT, row, [key for key in keys.split(",") if key], ANY_SCALE)
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


def test_advice_is_the_cheapest_that_is_likely_enough_and_what_is_less_likely_below(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run made 465 transactions a second; P10 has 500 IOPS, and each reads twice."""
    assert advise("throughput > 250", "--json", "--results", results) == EXIT_DONE
    told = json.loads(capfd.readouterr().out)
    assert told["measure"] == [SIMILAR]
    chances = {tier["tier"]: tier["chance"] for tier in told["tiers"]}
    assert list(chances) == [SIMILAR, DEAR], "by price, without what has no chance"
    assert chances[SIMILAR] > 0.9
    assert advise("throughput > 450", "--json", "--results", results) == EXIT_DONE
    even = json.loads(capfd.readouterr().out)
    assert 0.1 < even["tiers"][0]["chance"] < 0.9
    assert even["measure"][-1] == SIMILAR, "no more is known of the dearer"


def test_advice_ends_with_the_commands_that_measure_it(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert advise("average < 90 ms, throughput > 250", "--results", results) == EXIT_DONE
    out = capfd.readouterr().out.splitlines()
    keys = "size=250GiB iops=10000 throughput=250MB/s"
    assert out[-2] == f"tierbench init advised-1 --tier azure/premium-v2 {keys}"
    asked = "--profiles advised-1 --workloads tpcc --slo 'average < 90 ms, throughput > 250'"
    assert out[-1] == f"tierbench compare {asked}"
    assert CHEAP not in "".join(out), "of which there is no chance"


def test_nothing_is_advised_where_no_tier_has_a_chance(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert advise("throughput > 500000", "--results", results) == EXIT_DONE
    assert "no tier" in capfd.readouterr().out
