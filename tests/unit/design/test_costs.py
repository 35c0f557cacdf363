"""What a campaign itself costs, and the limit that it may be held to.

Goal: nobody rents for more than was allowed, and no price is guessed. Method: amounts by hand from
small plans: a disk of 73 a month costs 0.10 an hour.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.design import (
    cost_limit,
    costs,
    purchase_prices,
    rehearsal,
    varied_profiles,
)
from orchestrator.errors import UsageError
from orchestrator.facts import Varied
from orchestrator.model import Plan, Profile
from orchestrator.planning import durations
from orchestrator.planning.plan import fit_to_machines
from orchestrator.tier import ClassWanted, NodeDisks, Price, Snapshots
from orchestrator.tier_catalog.prices import HOURS_PER_MONTH
from tests.plans import a_plan, changed_plan
from tests.tiers import a_tier, changed

TEN_CENTS = Price(73.0, "USD", "eastus", "2026-09", "a list")
HOUR_S = 3600.0


def plan_of(
    change: dict[str, object],
    hours: float = 1.0,
    nodes: int = 3,
    names: tuple[str, ...] = ("p",),
) -> Plan:
    """A plan whose tiers are changed so, of so many hours."""

    def with_nodes(profile: Profile) -> Profile:
        tier = changed(profile.tier, **change)
        return replace(
            profile, tier=tier, cluster=replace(profile.cluster, nodes=nodes)
        )

    made = a_plan(names)
    profiles = tuple(with_nodes(one) for one in made.profiles)
    return replace(
        made, profiles=profiles, estimate_s=HOUR_S / 2, most_s=hours * HOUR_S
    )


MOUNTED = {
    "enforcement": "mounted",
    "price": TEN_CENTS,
    "disks": {f"node-{number}": NodeDisks(f"/mnt/{number}") for number in (1, 2, 3)},
}
UNPRICED = {**MOUNTED, "price": None, "catalog_type": "azure/premium"}
CLASS = {
    "enforcement": "storage-class",
    "price": TEN_CENTS,
    "storage_class": ClassWanted("fast", nodes=3),
}


def test_disks_times_hours() -> None:
    (one,) = costs.rented(plan_of(MOUNTED, hours=2.0))
    assert (one.count, one.hours) == (3, 2.0) and one.amount == pytest.approx(0.60)
    assert HOURS_PER_MONTH * 12 == 8760


def test_one_path_is_one_disk() -> None:
    at_path = {**MOUNTED, "disks": {}, "path": "/mnt/all"}
    assert [one.count for one in costs.rented(plan_of(at_path))] == [1]


def test_data_that_are_kept_are_volumes_of_their_own() -> None:
    assert [one.count for one in costs.rented(plan_of(CLASS))] == [6]
    none = {**CLASS, "snapshots": Snapshots("none")}
    assert [one.count for one in costs.rented(plan_of(none))] == [3]


def test_volumes_of_logs_are_rented_beside_those_of_data() -> None:
    log = a_tier("log", "Log", "storage-class", None, None, price=TEN_CENTS)
    log = changed(log, storage_class=ClassWanted("logs", nodes=3))
    data, logs = costs.rented(plan_of({**CLASS, "wal": log}))
    assert (data.what, data.count) == ("disk of p", 6)
    assert (logs.what, logs.count) == ("WAL's disk of p", 6)


def test_emulated_disks_cost_nothing_and_nothing_is_said() -> None:
    made = plan_of({"price": TEN_CENTS})
    assert costs.rented(made) == () and costs.notes(made) == ()
    cost_limit.check(made, "0 USD")


def test_a_disk_of_ones_own_is_not_rented() -> None:
    own = plan_of({**MOUNTED, "price": None})
    assert costs.rented(own) == ()
    assert len(costs.rented(plan_of(UNPRICED))) == 1


def test_repetitions_that_may_be_added_count() -> None:
    made = changed_plan(plan_of(MOUNTED), repetitions=2)
    (fixed,) = costs.rented(durations.timed(made))
    (grown,) = costs.rented(durations.timed(changed_plan(made, looks={2: 0.1, 4: 0.9})))
    assert fixed.hours < grown.hours < 2 * fixed.hours


def test_the_baseline_measured_twice_is_rented_once() -> None:
    made = replace(plan_of(MOUNTED, names=("p", "p-again")), twin="p-again")
    assert [one.what for one in costs.rented(made)] == ["disk of p"]


def test_machines_are_shared_by_tiers_and_counted_where_their_price_is_declared() -> (
    None
):
    made = plan_of(CLASS, names=("a", "b"))
    priced = [
        replace(one, cluster=replace(one.cluster, vm="azure/D8", vm_price=TEN_CENTS))
        for one in made.profiles
    ]
    machines = costs.rented(replace(made, profiles=tuple(priced)))[2:]
    assert [(one.what, one.count) for one in machines] == [("azure/D8", 3)]


def test_a_machine_with_all_disks_is_rented_once_however_many_nodes_it_has() -> None:
    made = plan_of(MOUNTED)
    (one,) = made.profiles
    cluster = replace(one.cluster, vm="azure/D8", vm_price=TEN_CENTS)
    made = replace(made, profiles=(replace(one, cluster=cluster),))
    (machine,) = costs.rented(made)[1:]
    assert (machine.what, machine.count) == ("azure/D8", 1)


def test_a_machine_without_a_price_is_said_and_cannot_be_held_under_a_limit() -> None:
    made = plan_of(CLASS)
    (one,) = made.profiles
    named = replace(one, cluster=replace(one.cluster, vm="azure/D8"))
    made = replace(made, profiles=(named,))
    assert costs.rented(made)[1:] == (costs.RentedItem("azure/D8", 3, 1.0, None),)
    (note,) = costs.notes(made)
    assert "0.60 USD; the price of 3 × azure/D8 is not known" in note.text
    with pytest.raises(
        UsageError, match="no price is known for 3 × azure/D8"
    ) as refused:
        cost_limit.check(made, "500 USD")
    assert "`vm_price`" in refused.value.advice


def test_each_cluster_that_others_run_has_its_own_machines() -> None:
    made = plan_of({"enforcement": "existing", "price": TEN_CENTS}, names=("a", "b"))
    profiles = tuple(
        replace(
            one, cluster=replace(one.cluster, database="existing", vm_price=TEN_CENTS)
        )
        for one in made.profiles
    )
    found = {
        one.what: one.count for one in costs.rented(replace(made, profiles=profiles))
    }
    assert found == {
        "disk of a": 3, "disk of b": 3, "machine of a": 3, "machine of b": 3,
    }  # fmt: skip


def test_the_note_says_amount_and_what_is_not_known() -> None:
    (note,) = costs.notes(plan_of(MOUNTED, hours=2.0))
    assert note.kind == "campaign cost"
    assert (
        "for at most 2 h the campaign itself costs, at list price for 3 × disk of p: 0.60 USD"
        in note.text
    )
    (note,) = costs.notes(plan_of(UNPRICED))
    assert "is not known: no price of 3 × disk of p" in note.text


def test_a_plan_within_the_limit_passes() -> None:
    cost_limit.check(plan_of(MOUNTED, hours=2.0), "0.61 usd")
    cost_limit.check(plan_of(MOUNTED, hours=200.0), None)


def test_a_plan_that_costs_the_limit_itself_passes() -> None:
    """A disk of 730 USD a month costs a dollar an hour."""
    dollar = replace(TEN_CENTS, monthly=730.0)
    cost_limit.check(plan_of({**MOUNTED, "price": dollar}, hours=2.0), "6 USD")


@pytest.mark.parametrize(
    ("change", "limit", "words"),
    [
        ({}, "0.59 USD", r"would cost 0\.60 USD, more than 0\.59"),
        ({}, "5 EUR", "prices in USD"),
        ({}, "5", "not an amount with a currency"),
        ({}, "USD 5", "not an amount with a currency"),
        (
            UNPRICED,
            "5 USD",
            "cannot be held under 5 USD, because no price is known for 3 × disk of p",
        ),
    ],
)
def test_a_limit_that_does_not_hold_or_cannot_be_told_is_refused(
    change: dict[str, object], limit: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        cost_limit.check(plan_of({**MOUNTED, **change}, hours=2.0), limit)


def test_a_rehearsal_rents_nothing() -> None:
    made = plan_of(MOUNTED)
    made = replace(made, notes=costs.notes(made))
    assert [note.kind for note in rehearsal.rehearsed(made).notes] == ["rehearsal"]


def test_a_tier_is_real_where_nothing_here_limits_it() -> None:
    assert a_tier("a", "a", "storage-class", None, None).disk.is_real
    assert not a_tier("a", "a", "emulated", 1, 1).disk.is_real


OTHER_REGION = Price(50.0, "USD", "westus", "2026-09", "a list")
IN_EUROS = Price(50.0, "EUR", "eastus", "2026-09", "a list")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (TEN_CENTS, TEN_CENTS, ""),
        (
            TEN_CENTS,
            None,
            "chosen by declared limits, not by price: no price is known for q.",
        ),
        (
            None,
            None,
            "chosen by declared limits, not by price: no price is known for p and q.",
        ),
        (TEN_CENTS, IN_EUROS, "not by price: prices are in USD and EUR."),
        (
            TEN_CENTS,
            OTHER_REGION,
            "Prices are not of one list (USD, eastus, 2026-09; USD, westus,",
        ),
    ],
)
def test_what_prices_do_to_the_answer_is_said_beforehand(
    first: Price | None, second: Price | None, said: str
) -> None:
    made = plan_of({}, names=("p", "q"))
    priced = zip(made.profiles, (first, second), strict=True)
    profiles = tuple(
        replace(one, tier=replace(one.tier, price=price)) for one, price in priced
    )
    notes = costs.notes(replace(made, profiles=profiles))
    assert [note.kind for note in notes] == ["prices"] * bool(said)
    for note in notes:
        assert said in note.text, note.text
        assert (
            "`price`" in note.text
            and "`region`" in note.text
            and "--prices" in note.text
        )


def test_one_tier_is_no_choice_by_price() -> None:
    assert costs.notes(plan_of({"price": None})) == ()


# ------------------------------------------------------------------ what buying costs


def of_three(change: dict[str, object]) -> Profile:
    (profile,) = plan_of(change).profiles
    return profile


def started(profile: Profile, nodes: int | None, cores: int = 2) -> Profile:
    """As a machine of so many cores starts it, or with as many nodes as asked for."""
    ((fitted,), _) = fit_to_machines([profile], nodes, [cores])
    return fitted


@pytest.mark.parametrize(
    ("nodes", "measured", "bought"), [(None, 1, 3), (1, 1, 3), (2, 2, 3), (5, 5, 5)]
)
def test_the_price_is_that_of_the_profiles_nodes_and_never_of_fewer(
    nodes: int | None, measured: int, bought: int
) -> None:
    fitted = started(of_three({"price": TEN_CENTS}), nodes)
    assert fitted.cluster.nodes == measured
    assert purchase_prices.bought_disks(fitted) == bought
    assert purchase_prices.monthly(fitted, with_vms=False) == 73.0 * bought
    on_machines = replace(fitted, cluster=replace(fitted.cluster, vm_price=TEN_CENTS))
    assert purchase_prices.monthly(on_machines, with_vms=True) == 2 * 73.0 * bought


def test_disks_for_the_log_are_bought_for_all_nodes_too() -> None:
    pairs = {
        f"node-{number}": NodeDisks(f"/mnt/{number}", f"/log/{number}")
        for number in (1, 2, 3)
    }
    fitted = started(of_three({**MOUNTED, "disks": pairs}), 1)
    assert purchase_prices.bought_disks(fitted) == 6
    assert purchase_prices.monthly(fitted, with_vms=False) == 6 * 73.0


def test_a_number_of_nodes_that_is_varied_costs_as_many_nodes() -> None:
    fitted = started(of_three({"price": TEN_CENTS}), 6)
    one = varied_profiles.on_cluster(fitted.cluster, Varied("tpcc", "nodes", "1", 1))
    assert purchase_prices.monthly(replace(fitted, cluster=one), with_vms=False) == 73.0


def test_currencies_are_never_added() -> None:
    """Disks in USD on unlike machines in EUR: no sum, and a comparison that is refused."""
    profiles = []
    for vm in ("azure/D8", "azure/D16"):
        profile = of_three({"price": TEN_CENTS})
        cluster = replace(profile.cluster, vm=vm, vm_price=IN_EUROS)
        profiles.append(replace(profile, name=vm, cluster=cluster))
    compared = purchase_prices.compare_prices(profiles)
    assert compared.obstacle == "prices are in USD and EUR" and not compared.with_vms
    assert purchase_prices.monthly(profiles[0], with_vms=True) is None
    assert purchase_prices.monthly(profiles[0], with_vms=False) == 3 * 73.0
