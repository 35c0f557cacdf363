"""What a tier costs a month to buy, and whether tiers can be compared by price. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orchestrator.design import node_disks
from orchestrator.model import Profile
from orchestrator.texts import prose
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices


def bought_disks(profile: Profile) -> int:
    """One for each node of the profile, and those that nodes have for their WAL alone."""
    return profile.cluster.nodes_to_buy * profile.tier.count + log_disks_to_buy(profile)


def log_disks_to_buy(profile: Profile) -> int:
    """How many disks for WAL are bought: for each node as many as measured nodes have."""
    cluster = profile.cluster
    if node_disks.has_unnamed_logs(profile.tier):
        return cluster.nodes_to_buy
    measured = len(node_disks.log_disks(profile.tier))
    # Fewer nodes may be measured than are bought.
    return math.ceil(measured * cluster.nodes_to_buy / max(1, cluster.nodes))


def disks_monthly(profile: Profile) -> float | None:
    """List price of all these disks; None if a part is not known, or in another currency."""
    tier = profile.tier
    price = tier.price
    # The WAL's disk costs as another one of the data if the tier has none for it.
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
        # Amounts of two currencies cannot be added.
        if vm is None or price is None or vm.currency != price.currency:
            return None
        amount += vm.monthly * profile.cluster.nodes_to_buy
    return round(amount, 2)


class PriceComparison(NamedTuple):
    """Whether and how tiers can be compared by price."""

    # Machines count.
    with_vms: bool
    # Why costs cannot be compared, and why a comparison may be off; empty where nothing is.
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
        return f"no price is known for {prose.listed(unpriced_disks)}"
    if unpriced_vms:
        names = prose.listed(unpriced_vms)
        return f"tiers are on unlike machines, and no price is known for {names}"
    currencies = _currencies(compared)
    # Rates of exchange change daily, and tierbench has none.
    if len(currencies) > 1:
        return f"prices are in {prose.listed(currencies)}"
    return ""


def _currencies(compared: Sequence[Price]) -> list[str]:
    return list(dict.fromkeys(price.currency for price in compared))
