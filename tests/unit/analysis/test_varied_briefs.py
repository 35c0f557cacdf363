"""The first lines where a factor was varied: which tier to buy at which values, and its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from orchestrator.model import Measurement, Run, Workload
from tests import loads

Points = tuple[tuple[float, float], ...]

_FLAT: Points = ((1000, 0.010),) * 3
_FALLS: Points = ((1000, 0.010), (300, 0.033), (250, 0.040))
_SLOW: Points = ((300, 0.033),) * 3

PREMIUM = "premium (Premium SSD P15, 1,100 IOPS, 125 MB/s)"
ULTRA = "ultra (Ultra Disk, 10,000 IOPS, 250 MB/s)"


def _answer(text: str, **tiers: Points) -> Answer:
    figures = loads.at_values(tiers, text)
    campaign = loads.build(loads.varied(text), figures, profiles=list(tiers))
    answer = judge(campaign).answer
    assert answer is not None
    return answer


def test_a_price_is_for_the_nodes_of_its_value() -> None:
    """Amounts are of the nodes at each value; "your 3 nodes" beside that of 9 would be wrong."""
    answer = _answer("nodes=3,6,9", premium=_SLOW, ultra=_FLAT)
    for part, nodes in zip(answer.parts, (3, 6, 9), strict=True):
        purchase = part.purchase
        assert purchase is not None
        assert purchase.price is not None
        assert purchase.price.amount == nodes * 260.0
        assert purchase.price.nodes == nodes
        assert purchase.nodes == nodes
        assert purchase.disks == nodes
    assert answer.brief.price == (
        f"A month for the disks: {ULTRA} 780.00 USD at 3 nodes, 1,560.00 USD at 6 nodes and "
        "2,340.00 USD at 9 nodes."
    )


def test_one_tier_that_is_enough_at_every_value_is_the_one_to_buy() -> None:
    answer = _answer("nodes=3,6,9", premium=_SLOW, ultra=_FLAT)
    assert answer.brief.what == "Buy ultra from 3 to 9 nodes"
    assert "premium is not enough even at 3 nodes" in answer.brief.why
    assert answer.brief.how_sure == (
        "Proven here, not on real disks, "
        "for each of the 3 values at 95 % confidence, by 3 repetitions."
    )


def test_what_is_counted_stands_once_if_there_is_only_one_of_it() -> None:
    answer = _answer("nodes=1,3,9", premium=_SLOW, ultra=_FLAT)
    assert answer.brief.what == "Buy ultra from 1 to 9 nodes"


def test_of_two_tiers_each_is_told_with_its_values() -> None:
    answer = _answer("data=10,20,30 tables", premium=_FALLS, ultra=_FLAT)
    # "Up to" would promise something of fewer tables, which were not measured.
    assert answer.brief.what == "Buy premium for 10 tables, ultra from 20 to 30 tables"
    assert answer.brief.why.startswith(
        "premium is enough up to 10 tables (6 GiB a node"
    )
    assert answer.brief.price == (
        f"{PREMIUM} 103.68 USD, {ULTRA} 780.00 USD a month for the disks of your 3 nodes "
        "(list price in westus2)."
    )


def test_a_tier_that_is_enough_at_more_is_not_told_as_never_enough() -> None:
    enough_at_more = (_SLOW[0], *_FLAT[1:])
    answer = _answer("nodes=3,6,9", premium=enough_at_more, ultra=_FLAT)
    assert answer.brief.what == "Buy ultra for 3 nodes, premium from 6 to 9 nodes"
    assert answer.brief.why.startswith("premium is not enough at 3 nodes")


def test_a_size_stands_once_in_a_sentence() -> None:
    answer = _answer("data=10,20,30 tables", premium=_FALLS, ultra=_FLAT)
    assert answer.brief.why.count("a node") == 1


def test_prices_of_tiers_for_unlike_nodes_stand_with_their_values() -> None:
    """103.68 USD of three nodes stood as the price of six, because the last tier's were named."""
    answer = _answer("nodes=3,6", premium=_FALLS[:2], ultra=_FLAT[:2])
    assert answer.brief.price == (
        f"A month for the disks: {PREMIUM} 103.68 USD at 3 nodes and {ULTRA} 1,560.00 USD at 6 "
        "nodes."
    )


def test_a_price_is_for_a_workload_that_is_not_varied() -> None:
    text = "nodes=3,6"
    workloads = (*loads.varied(text), loads.a_load("insert"))
    at_values = loads.at_values({"premium": _SLOW, "ultra": _FLAT}, text)

    def figures(run: Run, workload: Workload) -> Sequence[Measurement]:
        if workload.varied is not None:
            return at_values(run, workload)
        if run.profile == "ultra":
            return loads.closed(run, 1000, 0.010)
        return loads.closed(run, 300, 0.033)

    answer = judge(loads.build(workloads, figures)).answer
    assert answer is not None
    assert answer.brief.price == (
        f"A month for the disks: {ULTRA} 780.00 USD at 3 nodes, 1,560.00 USD at 6 nodes and "
        "780.00 USD for insert."
    )


def test_where_the_last_value_is_open_the_last_with_a_tier_is_named() -> None:
    """Nothing stood under Why, although a tier was proven enough at the values before."""
    text = "nodes=3,6,9"
    figures = loads.at_values({"premium": _SLOW, "ultra": _FLAT}, text)
    campaign = loads.build(loads.varied(text), figures)
    last = campaign.plan.workloads[-1].name
    runs = tuple(run for run in campaign.runs if run.record.run.workload != last)
    answer = judge(replace(campaign, runs=runs)).answer
    assert answer is not None
    assert answer.brief.what == "premium is not enough even at 3 nodes"
    assert answer.brief.why == "ultra is enough at 6 nodes."


def test_single_runs_say_first_that_no_tier_is_to_buy_yet() -> None:
    """Twelve changes that prove nothing stood there, in seven hundred characters."""
    text = "nodes=3,6,9"
    figures = loads.at_values({"premium": _SLOW, "ultra": _FLAT}, text)
    answer = judge(loads.build(loads.varied(text), figures, repetitions=1)).answer
    assert answer is not None
    assert answer.brief.what.startswith("No tier yet for point-select-at-3-nodes")
    assert "one run has no interval" in answer.brief.why


_NOISE = {1: 0.9, 2: 1.0, 3: 1.1}  # of the repetitions


def test_a_value_beside_which_a_cheaper_tier_is_open_is_not_among_the_proven() -> None:
    """ "Proven for each of the 3 values" stood there, and which tier was open only in the price."""

    def figures(run: Run, workload: Workload) -> Sequence[Measurement]:
        if run.profile == "ultra":
            return loads.closed(run, 1000, 0.010)
        if workload.varied is not None and workload.varied.number == 6:
            return loads.closed(run, 900, 0.012 * _NOISE[run.repetition])
        return loads.closed(run, 300, 0.033)

    clauses = slo.parse("p99 < 36 ms", "--slo")
    workloads = loads.varied("nodes=3,6,9", clauses)
    answer = judge(loads.build(workloads, figures)).answer
    assert answer is not None
    assert answer.brief.how_sure.startswith(
        "Proven here, not on real disks, "
        "for 2 of the 3 values at 95 % confidence, by 3 repetitions; for "
        "point-select-at-6-nodes ultra is proven enough, and whether premium would be is open; "
    )
