"""What a campaign itself costs at list price: what it rents, for the hours that are planned. Pure.

amount = things × monthly price / 730 × hours. It is meant as the most: each disk is
reckoned for as long as the campaign takes at most, and twice where loaded data are kept
beside the volumes of a run. Snapshots, network and a cloud's fee for the control plane are
no part of it.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator import units
from orchestrator.design import machines, node_disks
from orchestrator.design.factors import EXISTING
from orchestrator.errors import UsageError
from orchestrator.model import Note, Plan, Profile
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices

MAX_COST = "--max-cost"
_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]{3})")


@dataclass(frozen=True)
class RentedItem:
    """So many equal things that are rented for so many hours.

    `price`: of one of them, a month; None: not known.
    """

    what: str
    count: int
    hours: float
    price: Price | None

    @property
    def amount(self) -> float | None:
        """What they cost, in the currency of the price; None if that is not known."""
        if self.price is None:
            return None
        # Clouds bill by the hour; lists give the price of a month of 730 hours.
        return self.count * self.price.monthly / prices.HOURS_PER_MONTH * self.hours

    @property
    def title(self) -> str:
        return f"{self.count} × {self.what}"


def rented(plan: Plan) -> tuple[RentedItem, ...]:
    """The real disks of each profile, and machines that are named (`vm`) or priced.

    Machines of a cluster that others run are its own; all other tiers are measured in
    turn on the same ones.
    """
    real = [profile for profile in plan.tiers if is_rented(profile)]
    # At most: a limit on cost must hold also for the longest campaign.
    hours = most_s(plan) / 3600
    items: list[RentedItem] = []
    for profile in real:
        items += _rented_disks(profile, hours)
    return (*items, *_machines(real, hours))


def _rented_disks(profile: Profile, hours: float) -> Iterator[RentedItem]:
    tier = profile.tier
    disks = _disks(profile)
    name = f"disk of {profile.name}"
    if tier.wal is None:
        yield RentedItem(name, disks, hours, tier.price)
        return
    logs = len(node_disks.log_disks(tier))
    yield RentedItem(name, disks - logs, hours, tier.price)
    yield RentedItem(f"WAL's {name}", logs, hours, tier.wal.price)


def most_s(plan: Plan) -> float:
    """How long it takes at most; plans of earlier releases have one time."""
    if plan.most_s is None:
        return plan.estimate_s
    return plan.most_s


def is_rented(profile: Profile) -> bool:
    """A disk that names neither a provider's row nor a price is its owner's."""
    tier = profile.tier
    provider_type = tier.origin.catalog_type or tier.disk.storage_class
    return tier.disk.is_real and bool(tier.price or provider_type)


def bought_disks(profile: Profile) -> int:
    """One for each node of the profile, and those that nodes have for their WAL alone."""
    return profile.cluster.nodes_to_buy * profile.tier.count + log_disks_to_buy(profile)


def log_disks_to_buy(profile: Profile) -> int:
    """How many disks for WAL are bought: for each node as many as measured nodes have."""
    cluster = profile.cluster
    if node_disks.is_made_for_logs(profile.tier):
        return cluster.nodes_to_buy
    measured = len(node_disks.log_disks(profile.tier))
    # Fewer nodes may be measured than are bought.
    return math.ceil(measured * cluster.nodes_to_buy / max(1, cluster.nodes))


def disks_monthly(profile: Profile) -> float | None:
    """List price of all these disks; None if a part is not known, or in another currency."""
    tier = profile.tier
    price = tier.price
    # Without a tier of its own the disk of the WAL costs as another one of the data.
    log_price = (tier.wal or tier).price
    # A sum without one part would make the tier look cheaper than it is.
    if price is None or log_price is None or price.currency != log_price.currency:
        return None
    data_cost = price.monthly * profile.cluster.nodes_to_buy
    return data_cost + log_price.monthly * log_disks_to_buy(profile)


def monthly(profile: Profile, with_vms: bool) -> float | None:
    """What the profile costs a month: its disks, and the cluster's machines if these count.

    None if a price is not known. It is the cost of the profile's nodes (`nodes_to_buy`), however
    few of them were measured.
    """
    amount = disks_monthly(profile)
    if amount is None:
        return None
    if with_vms:
        vm = profile.cluster.vm_price
        price = profile.tier.price
        if vm is None or price is None or vm.currency != price.currency:
            return None
        amount += vm.monthly * profile.cluster.nodes_to_buy
    return round(amount, 2)


def _disks(profile: Profile) -> int:
    """Disks of a class are rented for each run, beside those with the loaded data."""
    disk = profile.tier.disk
    nodes = profile.cluster.nodes
    if profile.cluster.database == EXISTING:
        return nodes
    if disk.storage_class is None:
        return max(1, node_disks.count(profile.tier))
    if disk.snapshots and disk.snapshots.way == "none":
        return nodes
    # Volumes of a run stand beside those from which they were copied.
    return 2 * nodes


def _machines(profiles: Sequence[Profile], hours: float) -> Iterator[RentedItem]:
    shared: dict[_Machine, int] = {}
    for profile in profiles:
        cluster = profile.cluster
        if cluster.vm is None and cluster.vm_price is None:
            continue  # no machine is said to be rented
        machine = _Machine(cluster.vm or "machine", cluster.vm_price)
        if cluster.database == EXISTING:
            what = f"{machine.what} of {profile.name}"
            yield RentedItem(what, cluster.nodes, hours, machine.price)
            continue
        count = 1  # on which all disks are mounted
        if profile.tier.disk.storage_class or machines.named(profile):
            count = cluster.nodes
        # Tiers are measured in turn, so the one with most nodes says how many are rented.
        shared[machine] = max(shared.get(machine, 0), count)
    for machine, count in shared.items():
        yield RentedItem(machine.what, count, hours, machine.price)


class _Machine(NamedTuple):
    """A kind of machine and what it costs a month."""

    what: str
    price: Price | None


def total(things: Sequence[RentedItem]) -> dict[str, float]:
    """Currency → the sum of what is known."""
    sums: dict[str, float] = {}
    for item in things:
        if item.price is not None and item.amount is not None:
            currency = item.price.currency
            sums[currency] = sums.get(currency, 0.0) + item.amount
    return sums


def total_in_words(things: Sequence[RentedItem], share: float = 1.0) -> str:
    """A share of it; empty if nothing is known."""
    amounts: list[str] = []
    for currency, amount in total(things).items():
        amounts.append(f"{share * amount:,.2f} {currency}")
    return units.listed(amounts)


class PriceComparison(NamedTuple):
    """Whether and how tiers can be compared by price.

    `with_vms`: machines count. `obstacle`: why costs cannot be compared. `doubt`: why a
    comparison may be off. Both are empty texts where costs can be compared.
    """

    with_vms: bool
    obstacle: str
    doubt: str


def compare_prices(profiles: Sequence[Profile]) -> PriceComparison:
    """Machines of one kind cost the same for every tier, so disks alone are compared.

    Unlike machines count, such as larger ones whose caps let a tier through.
    """
    disks = _disk_prices(profiles)
    vms = _unlike_vm_prices(profiles)
    compared = [*_known(disks), *_known(vms)]
    unpriced_vms = _unpriced(vms)
    obstacle = _obstacle(compared, _unpriced(disks), unpriced_vms)
    doubt = ""
    if not obstacle:
        doubt = prices.unlike(compared)
    # Currencies are never added: machines are then told beside the disks.
    is_one_currency = len(_currencies(compared)) == 1
    with_vms = bool(vms) and not unpriced_vms and is_one_currency
    return PriceComparison(with_vms, obstacle, doubt)


def _unlike_vm_prices(profiles: Sequence[Profile]) -> dict[str, Price | None]:
    """Kind of machine → its price; empty if all tiers are on machines of one kind."""
    kinds = {profile.cluster.vm for profile in profiles}
    vms: dict[str, Price | None] = {}
    if len(kinds) > 1:
        for profile in profiles:
            vms[profile.cluster.vm or "machines"] = profile.cluster.vm_price
    return vms


def _disk_prices(profiles: Sequence[Profile]) -> dict[str, Price | None]:
    by_name = {profile.name: profile.tier.price for profile in profiles}
    for profile in profiles:
        if profile.tier.wal:
            by_name[f"{profile.name}'s WAL"] = profile.tier.wal.price
    return by_name


def _known(by_name: Mapping[str, Price | None]) -> list[Price]:
    return [price for price in by_name.values() if price]


def _unpriced(by_name: Mapping[str, Price | None]) -> list[str]:
    return [name for name, price in by_name.items() if price is None]


def _obstacle(
    compared: Sequence[Price],
    unpriced_disks: Sequence[str],
    unpriced_vms: Sequence[str],
) -> str:
    """Why costs cannot be compared: the most certain reason."""
    if unpriced_disks:
        return f"no price is known for {units.listed(unpriced_disks)}"
    if unpriced_vms:
        names = units.listed(unpriced_vms)
        return f"tiers are on unlike machines, and no price is known for {names}"
    currencies = _currencies(compared)
    # Rates of exchange change daily, and tierbench has none.
    if len(currencies) > 1:
        return f"prices are in {units.listed(currencies)}"
    return ""


def _currencies(compared: Sequence[Price]) -> list[str]:
    return list(dict.fromkeys(price.currency for price in compared))


def notes(plan: Plan) -> tuple[Note, ...]:
    """What prices do to the campaign's answer, and what it costs itself."""
    return (*_price_notes(plan), *_cost_notes(plan))


def _price_notes(plan: Plan) -> Iterator[Note]:
    # Where disks alone are measured, nothing is decided.
    decides = any(load.database is None for load in plan.workloads)
    if not decides or len(plan.tiers) < 2:
        return
    comparison = compare_prices(plan.tiers)
    if comparison.obstacle or comparison.doubt:
        text = _prices_in_words(comparison.obstacle, comparison.doubt)
        yield Note("prices", text)


def _cost_notes(plan: Plan) -> Iterator[Note]:
    things = rented(plan)
    if things:
        yield Note("campaign cost", _cost_in_words(things, most_s(plan)))


def _prices_in_words(obstacle: str, doubt: str) -> str:
    """Why costs cannot be compared (`obstacle`), or why a comparison may be off."""
    consequence = f"{doubt}: they are compared, and the answer says so"
    if obstacle:
        consequence = (
            f"a tier will be chosen by declared limits, not by price: {obstacle}"
        )
    return (
        f"{consequence}. Give `price` or `region` in the tier, or a list of "
        "one day (`tierbench prices update`, --prices)"
    )


def _cost_in_words(things: Sequence[RentedItem], longest_s: float) -> str:
    """What a campaign costs."""
    priced: list[str] = []
    unpriced: list[str] = []
    for item in things:
        if item.price is None:
            unpriced.append(item.title)
        else:
            priced.append(item.title)
    if not priced:
        return (
            "what the campaign itself costs is not known: "
            f"no price of {units.listed(unpriced)}"
        )
    amount = total_in_words(things)
    text = (
        f"for at most {units.format_seconds(longest_s)} the campaign itself "
        f"costs, at list price for {units.listed(priced)}: {amount}"
    )
    if unpriced:
        text += f"; the price of {units.listed(unpriced)} is not known"
    return text


def affordable_s(plan: Plan, limit: str | None, elapsed_s: float = 0.0) -> float | None:
    """How long the plan's things may still be rented for `limit`, as `check` passed it, after they
    were for `elapsed_s`; None: no end."""
    hourly = _hourly(rented(plan))
    if not limit or not hourly:
        return None
    most, _ = limit_in(limit)
    return max(0.0, most / hourly * 3600 - elapsed_s)


def _hourly(things: Sequence[RentedItem]) -> float:
    """What all of them cost in an hour, as far as prices are known."""
    hourly = 0.0
    for item in things:
        if item.amount and item.hours:
            hourly += item.amount / item.hours
    return hourly


def check(plan: Plan, limit: str | None, elapsed_s: float = 0.0) -> None:
    """UsageError as of `limit_in`, if the plan would cost more than is left of the limit after
    `elapsed_s`, or if that cannot be told: without a price, or with one in another currency."""
    if not limit:
        return
    most, currency = limit_in(limit)
    things = rented(plan)
    unpriced = [item.title for item in things if item.price is None]
    if unpriced:
        raise _cost_unknown(limit, units.listed(unpriced))
    # Parts before this one cost what their time cost, whatever was estimated.
    spent = _hourly(things) * elapsed_s / 3600
    amount = spent + _total_in(currency, things)
    if amount > most:
        raise _too_expensive(amount, spent, most, currency)


def _total_in(currency: str, things: Sequence[RentedItem]) -> float:
    """UsageError if some of it has a price in another currency."""
    sums = total(things)
    others = [name for name in sums if name.upper() != currency]
    if others:
        raise _other_currency(currency, others)
    return sum(sums.values())


def _cost_unknown(limit: str, unpriced: str) -> UsageError:
    return UsageError(
        f"what the campaign costs cannot be held under {limit}, because no "
        f"price is known for {unpriced}",
        advice=(
            "give `price` or a region in the profile's tier, and `vm_price` in "
            "its cluster for its machines (docs/OPTIONS.md)"
        ),
    )


def _other_currency(currency: str, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"--max-cost is in {currency}, and there are prices in {units.listed(others)}",
        advice="tierbench converts no currencies: give the limit, or the prices, in the "
        "same",
    )


def _too_expensive(
    amount: float, spent: float, most: float, currency: str
) -> UsageError:
    what = f"the campaign would cost {amount:,.2f} {currency}, more than {most:,.2f}"
    if spent:
        return UsageError(
            f"{what}; {spent:,.2f} {currency} of it are spent",
            advice="go on with more: --max-cost holds for all parts of a campaign",
        )
    return UsageError(
        what,
        advice=(
            "take fewer repetitions, tiers or nodes, or a smaller scale. "
            "--dry-run shows what makes the cost"
        ),
    )


def limit_in(limit: str) -> tuple[float, str]:
    """`5 USD` → amount and currency. UsageError for another text."""
    match = _LIMIT.fullmatch(limit.strip())
    if match is None:
        raise UsageError(
            f"--max-cost {limit!r} is no amount with its currency",
            advice='write it as in --max-cost "5 USD"',
        )
    return float(match[1]), match[2].upper()
