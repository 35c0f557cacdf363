"""Which tier to buy: literal throughputs and prices in, one tier or none out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.answers.to_buy import price_scope
from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.decisions.candidates import LATENCIES, THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.analysis.statistics import stats
from orchestrator.tier import NodeDisks, Price, RealDisks
from orchestrator.units import format_quantity
from tests.campaigns import build_campaign, build_profile

SLOW, FAST, FASTER = [1000.0, 1005, 995], [2000.0, 2010, 1990], [2400.0, 2412, 2388]
NOISY = [1900.0, 2300, 1700]


def candidate(
    name: str,
    values: Sequence[float],
    cause: str = "unattributed",
    *,
    priced: bool = True,
) -> Candidate:
    return Candidate(
        build_profile(name, priced=priced), {THROUGHPUT: tuple(values)}, cause
    )


def decide(*candidates: Candidate, tiers: Sequence[str] = ()) -> Decision:
    names = tuple(tiers) or tuple(one.name for one in candidates)
    return decision.decide(make_contest("insert", candidates, names, ContestRules(5.0)))


def test_the_cheapest_of_those_alike_wins() -> None:
    found = decide(
        candidate("ultra", FAST),
        candidate("premium-v2", FAST),
        candidate("premium", SLOW),
    )
    assert found.tier == "premium-v2"
    assert (found.monthly_cost, found.currency) == (255.0, "USD")  # 3 disks of 85
    assert found.criterion == "throughput"
    assert found.reason.startswith(
        "premium-v2 is the cheapest tier proven within 5 % of the best throughput: "
        "premium against premium-v2, throughput −50.0 %"
    )


def test_the_dearest_wins_where_it_is_proven_faster() -> None:
    found = decide(
        candidate("premium", SLOW),
        candidate("premium-v2", FAST),
        candidate("ultra", FASTER),
    )
    assert (found.tier, found.monthly_cost) == ("ultra", 780.0)
    assert "premium-v2 against ultra, throughput −16.7 %" in found.reason


def test_all_alike_gives_the_cheapest() -> None:
    names = ("premium", "premium-v2", "ultra")
    assert decide(*(candidate(name, FAST) for name in names)).tier == "premium"


def test_an_open_tier_leaves_it_undecided() -> None:
    found = decide(candidate("premium", NOISY), candidate("ultra", FAST))
    assert (found.tier, found.monthly_cost, found.currency) == (None, None, None)
    assert (
        "whether premium is within 5 % of the best throughput is not proven"
        in found.reason
    )
    assert "more than 50 repetitions would be needed at this noise" in found.reason
    dearer = decide(candidate("premium", FAST), candidate("ultra", NOISY))
    assert dearer.tier is None


NEAR = (1900.0, 1960.0, 1840.0)


@pytest.mark.parametrize("margin_pct", [1.0, 5.0, 12.0])
def test_for_each_tier_the_least_margin_is_told_at_which_it_is_enough(
    margin_pct: float,
) -> None:
    """What the decision says at that margin agrees, and just below it does not."""
    tiers = [candidate("premium", NEAR), candidate("ultra", FAST)]

    def decide_at(margin_pct: float) -> Decision:
        return decision.decide(
            make_contest(
                "insert", tiers, ("premium", "ultra"), ContestRules(margin_pct)
            )
        )

    found = decide_at(margin_pct)
    for offer in found.offers:
        assert offer.least_margin_pct is not None
        assert (offer.standing == "enough") is (offer.least_margin_pct <= margin_pct)
    least = found.offers[0].least_margin_pct or 0.0
    assert 9 < least < 14
    if margin_pct < 10:
        assert (
            f"premium is at most {format_quantity(least, '%')} worse than the best"
            in found.reason
        ), found.reason


def test_two_repetitions_are_enough_to_say_at_which_margin_a_tier_is() -> None:
    found = decide(
        candidate("premium", [1900.0, 1960.0]), candidate("ultra", [2000.0, 2010.0])
    )
    assert found.tier is None
    least = [offer.least_margin_pct for offer in found.offers]
    assert all(pct is not None and 0 <= pct < 60 for pct in least), least
    assert (
        "premium is at most " in found.reason
        and " % worse than the best and ultra " in found.reason
    ), found.reason


def test_of_two_repetitions_the_noise_is_that_of_all_tiers_where_there_are_more() -> (
    None
):
    """Two tiers have no others: their noise is their own."""
    cheap, dear = [1900.0, 1960.0], [2000.0, 2010.0]
    pair = [candidate("premium", cheap), candidate("ultra", dear)]
    (shown,) = decide(*pair).offers[0].worst
    alone = stats.ratio_of_means(dear, cheap, 0.90)
    assert alone.interval_pct is not None
    assert (shown.ci_low_pct, shown.ci_high_pct) == pytest.approx(alone.interval_pct)
    third = candidate("premium-v2", [1980.0, 1990.0])
    (beside,) = decide(*pair, third).offers[0].worst
    pooled = stats.ratio_of_two_blocks(dear, cheap, [[1980.0, 1990.0]], 0.90)
    assert pooled.interval_pct is not None
    assert (beside.ci_low_pct, beside.ci_high_pct) == pytest.approx(pooled.interval_pct)


def test_latency_more_than_twice_as_long_is_no_loss_to_be_offered() -> None:
    times = {"premium": (5.0, 4.9, 5.1), "ultra": (0.1, 0.0, 0.0)}
    tiers = [
        Candidate(
            build_profile(name), {LATENCIES[0]: tuple(0.1 + one for one in more)}, ""
        )
        for name, more in times.items()
    ]
    found = decision.decide(
        make_contest("insert", tiers, list(times), ContestRules(5.0, LATENCIES[:1]))
    )
    assert (found.offers[0].least_margin_pct or 0.0) > 100
    assert "premium is at most" not in found.reason, found.reason


def test_open_is_what_more_repetitions_may_change() -> None:
    assert decide(candidate("premium", NOISY), candidate("ultra", FAST)).is_open
    assert decide(candidate("premium", FAST[:1]), candidate("ultra", FAST[:1])).is_open
    assert not decide(candidate("premium", FAST), candidate("ultra", FAST)).is_open
    assert not decide(candidate("ultra", FAST)).is_open
    candidates = (
        candidate(name, NOISY, "machine_bound") for name in ("premium", "ultra")
    )
    assert not decide(*candidates).is_open


def test_levels_of_a_look_widen_every_interval_of_a_decision() -> None:
    tiers = (candidate("premium", SLOW), candidate("ultra", [2000.0, 2030, 1990]))
    names = ("premium", "ultra")
    of_one_look = make_contest("insert", tiers, names, ContestRules(5.0))
    of_many = make_contest("insert", tiers, names, ContestRules(5.0, share=0.1))
    once = decision.decide(of_one_look)
    early = decision.decide(of_many)
    assert (once.confidence_pct, early.confidence_pct) == (90.0, 99.0)
    (wide,), (narrow,) = early.offers[0].worst, once.offers[0].worst
    assert wide.ci_low_pct is not None and narrow.ci_low_pct is not None
    assert wide.ci_low_pct < narrow.ci_low_pct < wide.change_pct == narrow.change_pct


def test_repetitions_that_one_tier_lost_are_left_out_of_its_comparisons() -> None:
    whole = candidate("ultra", [2000.0, 1000, 2010, 1990])
    lost = replace(candidate("premium", [2000.0, 2010, 1990]), repetitions=(1, 3, 4))
    assert decide(lost, whole).tier == "premium"
    alone = replace(candidate("premium", [2000.0, 2010]), repetitions=(5, 6))
    found = decide(alone, whole)
    assert found.tier is None
    assert (
        "has no interval: fewer than two repetitions finished on both" in found.reason
    )


def test_what_is_open_is_not_enough_even_where_no_disk_is_the_limit() -> None:
    found = decide(
        candidate("premium", NOISY, "cpu_bound"), candidate("ultra", FAST, "cpu_bound")
    )
    assert found.tier is None
    assert (
        "whether premium is within 5 % of the best throughput is not proven"
        in found.reason
    )


def test_a_dearer_tier_that_is_proven_is_named_and_the_open_one_is_told() -> None:
    found = decide(
        candidate("premium", [1900.0, 1960.0, 1840.0]),
        candidate("premium-v2", FAST),
        candidate("ultra", FAST),
    )
    assert found.tier == "premium-v2", found.reason
    assert "Whether premium, which is cheaper, is enough is open" in found.reason
    assert [offer.standing for offer in found.offers] == ["open", "enough", "enough"]
    assert found.is_open  # premium may still turn out to be enough


def test_a_tier_proven_slower_is_not_taken_even_if_cpu_bound() -> None:
    found = decide(
        candidate("premium", SLOW, "cpu_bound"), candidate("ultra", FAST, "cpu_bound")
    )
    assert found.tier == "ultra"
    assert "limit throughput" not in found.reason  # it would contradict the figures


@pytest.mark.parametrize("cause", ["client_bound", "machine_bound"])
def test_where_the_harness_was_the_limit_nothing_is_decided(cause: str) -> None:
    found = decide(candidate("premium", FAST, cause), candidate("ultra", FAST, cause))
    assert found.tier is None
    assert "so no disk's limit was measured" in found.reason
    assert found.offers == ()  # what the machine gave proves nothing of tiers


def test_a_winner_held_back_by_the_machine_says_so() -> None:
    found = decide(
        candidate("premium", SLOW, "iops_cap"),
        candidate("ultra", FAST, "machine_bound"),
    )
    assert found.tier == "ultra"
    assert "on a larger one dearer tiers may do more" in found.reason


@pytest.mark.parametrize("cause", ["client_bound", "machine_bound"])
def test_a_rival_held_back_by_the_machine_leaves_it_open(cause: str) -> None:
    """What a tier could do that was not let through is not known, so nobody is near it."""
    found = decide(
        candidate("premium", SLOW, "iops_cap"),
        candidate("premium-v2", FAST, cause),
        candidate("ultra", FAST, cause),
    )
    assert (found.tier, found.is_open) == (
        None,
        False,
    )  # more repetitions here do not help
    assert "whether premium-v2 is enough cannot be told" in found.reason
    assert (
        f"what limited ultra ({cause.replace('_', ' ')}) was not the tier"
        in found.reason
    )
    assert [offer.standing for offer in found.offers] == ["not enough", "open", "open"]


def test_a_tier_that_only_some_declare_as_much_as_declares_the_least() -> None:
    alike = candidate("premium", FAST, priced=False)
    twin = replace(alike, profile=replace(alike.profile, name="twin"))
    larger = candidate("ultra", FAST, priced=False)
    found = decide(alike, twin, larger, tiers=["premium", "twin", "ultra"])
    assert "and declares the lowest limits of them" in found.reason


def test_one_repetition_decides_nothing() -> None:
    found = decide(candidate("premium", [1000.0]), candidate("ultra", FAST))
    assert found.tier is None
    assert "one repetition of premium gives no interval" in found.reason


def test_a_tier_of_which_one_figure_was_measured_once_has_no_interval() -> None:
    once = candidate("premium", SLOW)
    once = replace(once, values={**once.values, LATENCIES[1]: (0.01,)})
    found = decide(once, candidate("ultra", FAST))
    assert "one repetition of premium gives no interval" in found.reason


def test_a_lone_tier_is_no_choice() -> None:
    assert decide(candidate("ultra", FAST), tiers=["premium", "ultra"]).tier is None
    assert decide(tiers=["premium"]).reason == "no tier has figures"


def test_without_all_prices_performance_alone_decides_and_says_so() -> None:
    found = decide(
        candidate("ultra", FAST),
        candidate("premium-v2", FAST, priced=False),
        candidate("premium", SLOW),
    )
    assert (found.tier, found.monthly_cost, found.currency) == (
        "premium-v2",
        None,
        None,
    )
    assert "as is ultra, and declares the lowest limits of them" in found.reason
    assert "Chosen by declared limits: no price is known for premium-v2" in found.reason
    assert (
        found.without_prices
        == "chosen by declared limits: no price is known for premium-v2"
    )


def test_of_disks_that_declare_the_same_none_is_said_to_declare_less() -> None:
    alike = candidate("premium", FAST, priced=False)
    other = replace(alike, profile=replace(alike.profile, name="twin"))
    found = decide(alike, other, tiers=["premium", "twin"])
    assert found.tier is not None
    assert "declares the lowest limits" not in found.reason
    assert "and declares the same limits" in found.reason


def at_price(
    name: str, region: str, as_of: str, source: str = "a list", currency: str = "USD"
) -> Candidate:
    fast = candidate(name, FAST)
    tier = replace(fast.profile.tier, price=Price(1.0, currency, region, as_of, source))
    return replace(fast, profile=replace(fast.profile, tier=tier))


def on_vm(
    name: str, vm: str, monthly: float | None, values: Sequence[float] = FAST
) -> Candidate:
    """A tier whose nodes are other machines; their list is that of the disks."""
    made = candidate(name, values)
    price = made.profile.tier.price
    assert price is not None
    vm_price = None if monthly is None else replace(price, monthly=monthly)
    cluster = replace(made.profile.cluster, vm=vm, vm_price=vm_price)
    return replace(made, profile=replace(made.profile, cluster=cluster))


def test_machines_count_where_a_tier_needs_another() -> None:
    """The disk that is cheaper by 45 needs a machine that is dearer by 280, on each of three."""
    found = decide(
        on_vm("premium", "azure/D16s", 560.0), on_vm("premium-v2", "azure/D8s", 280.0)
    )
    assert (found.tier, found.monthly_cost, found.with_vms) == (
        "premium-v2",
        3 * 365.0,
        True,
    )
    assert price_scope(found) == "disks and machines"


def test_machines_of_one_kind_do_not_count() -> None:
    found = decide(
        on_vm("premium", "azure/D8s", 280.0), on_vm("premium-v2", "azure/D8s", 280.0)
    )
    assert (found.tier, found.with_vms, found.without_prices) == ("premium", False, "")
    assert (
        found.monthly_cost
        == decide(candidate("premium", FAST), candidate("ultra", FAST)).monthly_cost
    )


def test_without_the_price_of_an_unlike_machine_nothing_is_the_cheapest() -> None:
    found = decide(
        on_vm("premium", "azure/D16s", None), on_vm("premium-v2", "azure/D8s", 280.0)
    )
    assert not found.with_vms and "cheapest" not in found.reason
    assert (
        "tiers are on unlike machines, and no price is known for azure/D16s"
        in found.reason
    )


def test_the_disks_of_the_wal_are_paid_for_too() -> None:
    """P15 with a second P15 on each node costs twice as much, so the other tier is the cheaper."""
    own = candidate("premium", FAST)
    places = {f"node-{n}": NodeDisks(f"/mnt/{n}", f"/mnt/wal-{n}") for n in (1, 2, 3)}
    tier = replace(own.profile.tier, disk=RealDisks(disks=places))
    with_wal = replace(own, profile=replace(own.profile, tier=tier))
    assert own.monthly_cost == 103.68 and with_wal.monthly_cost == 2 * 103.68
    shared = {name: replace(one, wal="/mnt/wal") for name, one in places.items()}
    one_wal = replace(own.profile.tier, disk=RealDisks(disks=shared))
    beside = replace(own, profile=replace(own.profile, tier=one_wal))
    assert beside.monthly_cost == pytest.approx(103.68 * 4 / 3)
    log = replace(own.profile.tier, title="a log's disk")
    apart = replace(own, profile=replace(own.profile, tier=replace(tier, wal=log)))
    assert apart.monthly_cost == 207.36
    log = replace(log, price=None)
    unknown = replace(own, profile=replace(own.profile, tier=replace(tier, wal=log)))
    assert unknown.price is None and unknown.monthly_cost is None


def test_prices_in_two_currencies_cannot_be_compared() -> None:
    in_euros = at_price("premium", "westus2", "2026-01-01", currency="EUR")
    found = decide(in_euros, candidate("ultra", FAST))
    assert "cheapest" not in found.reason and found.dearer is not None
    assert "Chosen by declared limits: prices are in EUR and USD" in found.reason
    assert (
        found.without_prices == "chosen by declared limits: prices are in EUR and USD"
    )
    assert [(one.monthly_cost, one.currency) for one in found.offers] == [
        (3.0, "EUR"),
        (780.0, "USD"),
    ]
    assert found.dearer.cost_change is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (("eastus", "2024-07-01"), ("eastus", "2023-12"), True),
        (("eastus", "2024-07-01"), ("us-west-2", "2024-07-01"), False),
        (("US", "undated, old"), ("US", "2024-07-01"), False),
        (("US", "undated, old", "a page"), ("US", "undated, old", "a page"), True),
        (("US", "undated", "a page"), ("US", "undated", "another page"), False),
        (("not stated", "2024-07-01"), ("not stated", "2024-07-01"), False),
    ],
)
def test_prices_of_one_region_and_each_with_a_date_are_one_list(
    one: tuple[str, ...], other: tuple[str, ...], alike: bool
) -> None:
    """Others decide too, and the answer says so and how far they may be off."""
    dearer = at_price("ultra", *other)
    region, as_of, source = (*other, "a list")[:3]
    price = Price(2.0, "USD", region, as_of, source)
    tier = replace(dearer.profile.tier, price=price)
    dearer = replace(dearer, profile=replace(dearer.profile, tier=tier))
    found = decide(at_price("premium", *one), dearer)
    assert (found.tier, found.currency) == ("premium", "USD"), found.reason
    told = "this holds unless ultra costs less than the 3.00 USD a month of premium"
    assert ("Prices are not of one list" in found.reason) is not alike
    assert (told in found.reason) is not alike


def test_at_one_price_the_better_disk_is_named_and_nothing_is_cheaper() -> None:
    where = ("eastus", "2024-07-01")
    names = ("premium", "premium-v2", "ultra")
    found = decide(*(at_price(name, *where) for name in names))
    assert found.tier == "ultra"  # which declares most
    assert "as are premium-v2 and premium at the same price" in found.reason
    assert "cheap" not in found.reason
    noisy = replace(
        at_price("ultra", *where), values={THROUGHPUT: (1900.0, 1960.0, 1840.0)}
    )
    beside = decide(at_price("premium", *where), at_price("premium-v2", *where), noisy)
    assert (beside.tier, beside.cheaper_open) == ("premium-v2", ()), beside.reason
    assert "Whether ultra, which costs the same, is enough is open" in beside.reason


def test_a_known_price_is_shown_where_another_is_missing() -> None:
    found = decide(candidate("premium", FAST), candidate("ultra", FAST, priced=False))
    assert (found.tier, found.monthly_cost) == ("premium", 103.68)
    assert "Chosen by declared limits: no price is known for ultra" in found.reason


def test_no_tier_is_named_whose_price_is_known_to_be_above_anothers() -> None:
    """Though a third price is missing, and though it declares less than the cheaper one."""
    where = ("eastus", "2026-09-01")
    dear, cheap = at_price("premium", *where), at_price("premium-v2", *where)
    price = replace(dear.profile.tier.price, monthly=5.0)  # type: ignore[type-var]
    dear = replace(
        dear,
        profile=replace(dear.profile, tier=replace(dear.profile.tier, price=price)),
    )
    unknown = candidate("ultra", FAST, priced=False)
    found = decide(dear, cheap, unknown)
    assert (found.tier, found.monthly_cost) == ("premium-v2", 3.0)
    assert (
        "as are premium and ultra, and of those with a price costs least"
        in found.reason
    )
    assert "lowest" not in found.reason
    known = "chosen by the prices that are known: no price is known for ultra"
    assert found.without_prices == known
    # Disks alone do not tell the costs of tiers on unlike machines.
    large = replace(dear.profile.cluster, vm="azure/D16s")
    other = replace(dear, profile=replace(dear.profile, cluster=large))
    assert decide(other, cheap, unknown).tier == "premium"


def test_an_absent_tier_is_named_and_bars_no_other() -> None:
    """It may be enough: that runs fail on a tier is no evidence against it."""
    tiers = ["premium", "premium-v2", "ultra"]
    found = decide(candidate("premium-v2", FAST), candidate("ultra", FAST), tiers=tiers)
    assert (found.tier, found.cheaper_open) == ("premium-v2", ("premium",))
    assert "Left out, having no figures of every run: premium" in found.reason


def test_of_a_campaign_new_orders_are_what_counts() -> None:
    campaign = build_campaign(repetitions=3, noise_pct=0.3, frames=False)
    found = {d.workload: d.tier for d in decision.decide_all(campaign, ())[0]}
    assert found == {"point-select": "premium-v2", "insert": "premium", "tpcc": "ultra"}


def test_a_tier_with_a_run_of_no_figure_is_not_considered() -> None:
    campaign = build_campaign(workloads=["insert"], noise_pct=0.1, frames=False)
    first, *others = campaign.runs
    without = replace(first, record=replace(first.record, measurements=()))
    found = decision.decide_all(replace(campaign, runs=(without, *others)), ())[0][0]
    assert found.tier == "premium-v2"
    assert "Left out, having no figures of every run: premium" in found.reason


@pytest.mark.parametrize(
    ("premium", "words"),
    [
        (
            [1930.0, 2070, 1990],
            "it takes 1 to 17 more repetitions",
        ),
        ([1900.0, 2000, 2100], "it takes 2 to 42 more repetitions"),
        (
            [1300.0, 2900, 1900],
            "more than 50 repetitions would be needed at this noise",
        ),
    ],
)
def test_an_open_decision_says_how_many_repetitions_it_takes(
    premium: Sequence[float], words: str
) -> None:
    assert (
        words in decide(candidate("premium", premium), candidate("ultra", FAST)).reason
    )
