"""Doubts about the prices by which tiers of a campaign are compared. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import is_only_told
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import Results
from orchestrator.design import purchase_prices
from orchestrator.model import Doubt, Profile
from orchestrator.texts.prose import listed
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices

OLD_PRICE_DAYS = 365


@dataclass(frozen=True)
class _Priced:
    """What is bought, and its price if it has one."""

    what: str
    price: Price | None


def old_price(campaign: Results) -> Doubts:
    """A price of more than a year before the campaign began, or of no date."""
    began_s = results.began_s(campaign)
    if began_s is None:
        return
    # The day of the campaign, so that its verdict does not change as time passes.
    today = datetime.fromtimestamp(began_s, UTC).date()
    # The price of machines matters only where it takes part in the comparison.
    with_vms, _, _ = purchase_prices.compare_prices(campaign.plan.tiers)
    for profile in campaign.plan.tiers:
        for bought in _bought(profile, with_vms):
            if bought.price and _is_old(bought.price, today):
                yield _old_price(bought.what, bought.price.as_of, today)


def unverified_price(campaign: Results) -> Doubts:
    """Prices that were read in a copy, of all tiers together."""
    with_vms, _, _ = purchase_prices.compare_prices(campaign.plan.tiers)
    names: list[str] = []
    for profile in campaign.plan.tiers:
        for bought in _bought(profile, with_vms):
            if bought.price and bought.price.is_unverified:
                names.append(bought.what)
    if names:
        yield _unverified_price(names)


def _bought(profile: Profile, with_vms: bool) -> Iterator[_Priced]:
    yield _Priced(profile.name, profile.tier.price)
    if profile.tier.wal:
        yield _Priced(f"{profile.name}'s WAL", profile.tier.wal.price)
    if with_vms:
        yield _Priced(f"{profile.name}'s machines", profile.cluster.vm_price)


def _is_old(price: Price, today: date) -> bool:
    # A price without a date that can be read may be of any year.
    read = prices.read_on(price.as_of)
    return read is None or (today - read).days > OLD_PRICE_DAYS


# ------------------------------------------------------------------ in words


def _old_price(what: str, as_of: str, today: date) -> Doubt:
    return is_only_told(
        "old price",
        f"the price of {what} is as of {as_of}; the campaign began on {today}",
        advice="`tierbench prices update` asks the provider; or give `price` in the profile",
    )


def _unverified_price(names: Sequence[str]) -> Doubt:
    return is_only_told(
        "price not verified",
        f"the price of {listed(names)} was read in somebody's copy of the provider's list",
        advice="`tierbench prices update` asks the provider; or give `price` in the profile",
    )
