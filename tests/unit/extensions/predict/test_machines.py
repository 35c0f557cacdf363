"""On which machines disks are looked at, and what the search over both of them finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.extensions.predict import answer
from orchestrator.extensions.predict.machines import MachinesToBuy
from orchestrator.extensions.predict.offers import Offers, one_of_alike
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.model import Objective, Record
from orchestrator.planning import named_tiers, project_files
from orchestrator.powers import Progress
from orchestrator.tier import Price
from tests import ROOT
from tests.campaigns import build_campaign
from tests.fakes import QuietProgress

CATALOG = project_files.catalog(ROOT)
D8S = "azure/Standard_D8s_v5"
USUAL = {"azure": D8S, "aws": "aws/r5b.2xlarge", "gcp": "gcp/n2-standard-8"}


def test_machines_have_at_least_the_cpus_and_the_memory_of_the_runs_own() -> None:
    machines = MachinesToBuy(CATALOG, D8S, USUAL).for_disk("azure/P15")
    assert machines[0] == D8S
    assert {"azure/Standard_D16s_v5", "azure/Standard_L8s_v3"} <= set(machines)
    assert "azure/Standard_D4s_v5" not in machines
    # The catalog has no memory of machines of older generations.
    assert "azure/Standard_DS13_v2" not in machines
    on_aws = MachinesToBuy(CATALOG, D8S, USUAL).for_disk("aws/gp3")
    assert on_aws[0] == "aws/r5b.2xlarge" and "aws/m5.2xlarge" in on_aws
    assert "aws/m5.xlarge" not in on_aws and "aws/t3.large" not in on_aws


@pytest.mark.parametrize("own", [None, "azure/Standard_DS13_v2"])
def test_no_other_machine_stands_for_one_of_an_unknown_size(own: str | None) -> None:
    usual = {} if own is None else {"azure": own}
    machines = MachinesToBuy(CATALOG, own, usual).for_disk("azure/P15")
    assert list(machines) == list(usual.values())


def on_d8s(record: Record) -> Record:
    cluster = replace(record.profile.cluster, vm=D8S)
    return replace(record, profile=replace(record.profile, cluster=cluster))


def at_our_price(record: Record) -> Record:
    price = Price(1.0, "USD", "eastus", "2026-11-01", "our contract")
    cluster = replace(record.profile.cluster, vm=D8S, vm_price=price)
    return replace(record, profile=replace(record.profile, cluster=cluster))


def offers(
    change: Callable[[Record], Record],
    clauses: tuple[Objective, ...] = (),
    progress: Progress | None = None,
) -> Offers:
    campaign = build_campaign(
        profiles=["ultra"], workloads=["tpcc"], repetitions=1, nodes=1, change=change
    )
    predictor = Predictor(campaign, campaign.done[0])
    return Offers(ROOT, predictor, clauses, of_classes=False, progress=progress)


def test_whoever_waits_for_a_search_sees_how_many_layouts_are_done() -> None:
    progress = QuietProgress()
    predictions = offers(on_d8s, progress=progress).search(["azure/P60"])
    assert progress.steps[:2] == [
        "simulating layouts: 0 done",
        "simulating layouts: 1 done",
    ]
    assert len(progress.steps) >= len(predictions)


def test_a_disk_that_the_machine_holds_back_is_tried_on_the_next_one_that_does_not() -> (
    None
):
    """P60 has 16,000 IOPS and 500 MB/s."""
    predictions = offers(on_d8s).search(["azure/P60"])
    alone = [one for one in predictions if one.tier == "azure/P60"]
    assert [one.machine for one in alone] == [D8S, "azure/Standard_D16s_v5"]
    usual, larger = alone
    assert usual.monthly_cost is not None and larger.monthly_cost is not None
    # 0.384 USD more an hour, for 730 hours.
    assert larger.monthly_cost - usual.monthly_cost == pytest.approx(280.32, abs=0.1)


def test_a_disk_that_no_machine_holds_back_is_tried_on_the_cheapest() -> None:
    predictions = offers(on_d8s).search(["azure/P15"])
    assert {one.machine for one in predictions if one.tier == "azure/P15"} == {D8S}
    gp3 = "aws/gp3:size=256GiB"
    on_aws = [one for one in offers(on_d8s).search([gp3]) if one.tier == gp3]
    usual, cheaper = on_aws
    assert (usual.machine, cheaper.machine) == ("aws/r5b.2xlarge", "aws/m5.2xlarge")
    assert usual.figures == cheaper.figures, "it has the same CPUs"


def test_the_price_that_the_profile_has_of_its_machine_is_that_of_the_run() -> None:
    (prediction, *_) = offers(at_our_price).search(["azure/P15"])
    tier, _ = named_tiers.bought(ROOT, "azure/P15", D8S)
    assert tier.price is not None and prediction.monthly_cost is not None
    assert prediction.monthly_cost == pytest.approx(tier.price.monthly + 1.0, abs=0.01)


def test_without_a_machine_of_the_run_disks_alone_are_compared() -> None:
    predictions = offers(lambda record: record).search(["azure/P60"])
    assert {one.machine for one in predictions} == {""}


def test_the_first_line_names_a_machine_that_is_not_the_runs_own() -> None:
    clauses = (Objective("throughput_per_s", "all", 1.0),)
    found = offers(on_d8s, clauses).search(["azure/P60"])
    own, other = [one for one in found if one.tier == "azure/P60"]
    told = answer.prediction_answer("tpcc", ["throughput > 1/s"], [other], [], D8S)
    assert "azure/P60 with Standard_D16s_v5 for " in told.brief.what
    told = answer.prediction_answer("tpcc", ["throughput > 1/s"], [own], [], D8S)
    assert "azure/P60 for " in told.brief.what


def test_machines_of_one_price_on_which_a_disk_does_the_same_stand_in_one_row() -> None:
    """An m5 and an m6i cost the same. To 500 MiB/s they let through different amounts, which this
    load asks of neither."""
    row = "aws/gp3:size=250GiB,iops=12000,throughput=500MiB/s"
    found = [one for one in offers(on_d8s).search([row]) if one.tier == row]
    machines = {one.machine: one for one in found}
    assert len({one.monthly_cost for one in found}) == len(found)
    cheapest = machines["aws/m5.2xlarge"]
    assert cheapest.other_machines == ("aws/m6i.2xlarge",)
    assert cheapest.machines == "m5.2xlarge or m6i.2xlarge"
    chosen = replace(cheapest, chance=1.0)
    told = answer.prediction_answer("tpcc", ["p99 < 1 s"], [chosen], [], D8S)
    assert "with m5.2xlarge or m6i.2xlarge for " in told.brief.what


def test_machines_on_which_a_disk_does_more_stand_apart() -> None:
    (one, *_) = offers(on_d8s).search(["azure/P15"])
    faster = replace(one, machine="azure/x", limit="cpu_bound")
    dearer = replace(one, machine="azure/y", monthly_cost=1e6)
    alike = replace(one, machine="azure/z")
    joined = one_of_alike([one, faster, dearer, alike])
    assert [kept.machine for kept in joined] == [D8S, "azure/x", "azure/y"]
    assert joined[0].other_machines == ("azure/z",)
