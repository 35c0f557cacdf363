"""Advice for Kubernetes: only disks that StorageClasses give.

Method: a stored campaign of emulated disks, and one whose disks were volumes of a class.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE
from orchestrator.extensions.predict import class_volumes, next_commands
from orchestrator.extensions.predict.offers import Offers
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.model import Record
from orchestrator.planning import project_files
from orchestrator.tier import ClassVolumes, ClassWanted
from tests import ROOT
from tests.campaigns import build_campaign, stored_with_tables

CATALOG = project_files.catalog(ROOT)
RUN = "01-ultra-tpcc-r1"
SLO = "throughput > 250"


@pytest.mark.parametrize(
    ("row", "is_given"),
    [
        ("azure/P30", True),
        ("azure/premium-v2:size=64GiB,iops=4000,throughput=125MB/s", True),
        ("azure/P15:count=2", False),
        ("azure/P15+wal=azure/P4", True),
        ("azure/P15+wal=aws/i4i.large-nvme", False),
        # An instance store is a part of its machine.
        ("aws/i4i.large-nvme", False),
    ],
)
def test_a_class_gives_volumes_of_a_type_that_a_driver_makes(
    row: str, is_given: bool
) -> None:
    assert class_volumes.gives(CATALOG, row) is is_given


def on_volumes(record: Record) -> Record:
    wanted = ClassWanted("managed-csi-premium", size_bytes=256 * 2**30)
    tier = replace(record.profile.tier, disk=ClassVolumes(storage_class=wanted))
    return replace(record, profile=replace(record.profile, tier=tier))


def as_it_was(record: Record) -> Record:
    return record


def stored(folder: Path, change: Callable[[Record], Record]) -> Path:
    made = build_campaign(
        profiles=["ultra"],
        workloads=["tpcc"],
        repetitions=1,
        nodes=1,
        change=change,
    )
    stored_with_tables(made, folder)
    return folder


@pytest.mark.parametrize(
    ("change", "words"),
    [(as_it_was, ["--enforcement", "storage-class"]), (on_volumes, [])],
    ids=["asked for", "as the run was"],
)
def test_advice_for_classes_names_what_they_give_and_how_it_is_measured(
    change: Callable[[Record], Record],
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """From the command to the profile of the advice, and to the manifest of its class."""
    results = stored(tmp_path / "results", change)
    app = CampaignApp(root=ROOT)
    advise = ["advise", RUN, "--slo", SLO, "--size", "250GiB", *words]
    advise += ["--results", str(results)]
    assert exit_code([*advise, "-o", "json"], app) == EXIT_DONE
    advice = json.loads(capfd.readouterr().out)
    rows = [named["tier"] for named in advice["tiers"]]
    assert rows and all(class_volumes.gives(CATALOG, row) for row in rows)
    *inits, compare = advice["commands"]
    assert "--platform kubernetes --enforcement storage-class" in compare
    assert exit_code([*advise, "-o", "md"], app) == EXIT_DONE
    assert "of StorageClasses" in capfd.readouterr().out
    monkeypatch.chdir(tmp_path)
    for folder in ("profiles", "workloads"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    here = CampaignApp(root=tmp_path)
    assert exit_code(shlex.split(inits[0])[1:], here) == EXIT_DONE
    capfd.readouterr()
    assert exit_code(["storage-class", "advised-1"], here) == EXIT_DONE
    assert "kind: StorageClass" in capfd.readouterr().out


def test_all_disks_are_looked_at_for_a_run_on_volumes_where_that_is_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results = stored(tmp_path, on_volumes)
    words = ["--tier", "azure/P15:count=2", "--results", str(results), "-o", "json"]
    advise = ["advise", RUN, "--slo", SLO, *words]
    app = CampaignApp(root=ROOT)
    assert exit_code(advise, app) == EXIT_USAGE
    assert "nothing is striped" in " ".join(capfd.readouterr().err.split())
    assert exit_code([*advise, "--enforcement", "emulated"], app) == EXIT_DONE


def test_the_size_of_a_volume_is_what_its_claim_asks_for() -> None:
    campaign = build_campaign(
        profiles=["ultra"],
        workloads=["tpcc"],
        repetitions=1,
        nodes=1,
        change=on_volumes,
    )
    predictor = Predictor(campaign, campaign.done[0])
    rows = Offers(ROOT, predictor, of_classes=True).rows(None)
    assert "azure/P15" in rows and "azure/P10" not in rows


def test_a_layout_with_a_volume_for_the_log_is_predicted_and_measured() -> None:
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], nodes=1)
    predictor = Predictor(campaign, campaign.done[0])
    offers = Offers(ROOT, predictor, of_classes=True)
    layout = "azure/P15+wal=azure/P4"
    predictions = list(offers.predictions([layout], may_skip=False))
    assert [prediction.tier for prediction in predictions] == [layout]
    init, compare = next_commands.commands_that_measure(
        campaign, "tpcc", predictions, of_classes=True
    )
    assert init.endswith(" wal=azure/P4")
    assert "--enforcement storage-class" in compare


def test_options_of_the_earlier_command_stand_once() -> None:
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], nodes=1)
    command = "tierbench compare -p ultra -w tpcc --platform kubernetes --repeats 2"
    facts = {"command": command, "directory": "/srv"}
    campaign = replace(campaign, fingerprint={**campaign.fingerprint, **facts})
    predictor = Predictor(campaign, campaign.done[0])
    offers = Offers(ROOT, predictor, of_classes=True)
    predictions = list(offers.predictions(["azure/P30"], may_skip=False))
    words = next_commands.commands_that_measure(
        campaign, "tpcc", predictions, of_classes=True
    )
    *_, compare = words
    assert compare.count("kubernetes") == 1
    assert compare.endswith("--enforcement storage-class --repeats 2")


def test_advice_for_emulated_disks_measures_no_volumes_of_classes() -> None:
    """A stripe was to be measured as a volume of a class, which is refused."""
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], nodes=1)
    command = (
        "tierbench compare -p ultra --platform kubernetes --enforcement storage-class"
    )
    facts = {"command": command, "directory": "/srv"}
    campaign = replace(campaign, fingerprint={**campaign.fingerprint, **facts})
    predictor = Predictor(campaign, campaign.done[0])
    offers = Offers(ROOT, predictor, of_classes=False)
    predictions = list(offers.predictions(["azure/P15:count=2"], may_skip=False))
    *_, compare = next_commands.commands_that_measure(
        campaign, "tpcc", predictions, of_classes=False
    )
    assert compare.endswith("--workloads tpcc --platform kubernetes")
