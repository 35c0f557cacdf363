"""What a campaign itself costs at list price: what it rents, for the hours that are planned. Pure.

amount = things × monthly price / 730 × hours. It is meant as the most: each disk is
reckoned for as long as the campaign takes at most, and twice where loaded data are kept
beside the volumes of a run. Snapshots, network and a cloud's fee for the control plane are
no part of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator import units
from orchestrator.design import machines, node_disks
from orchestrator.design.detailed_notes import detailed_note
from orchestrator.design.factors import EXISTING
from orchestrator.design.purchase_prices import compare_prices
from orchestrator.model import Note, Plan, Profile
from orchestrator.texts import prose
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices


@dataclass(frozen=True)
class RentedItem:
    """So many equal things that are rented for so many hours."""

    what: str
    count: int
    hours: float
    # Price of one of them, a month; None: not known.
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
    # The longest time counts: a limit on cost must hold also for the longest campaign.
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
    # The disk of the log may be a cheaper one, with a price of its own.
    logs = len(node_disks.log_disks(tier))
    if node_disks.has_unnamed_logs(tier):
        # Beside each disk of data is one of a log, which is not among those yet.
        logs = disks
        disks += logs
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


def _disks(profile: Profile) -> int:
    """Disks of a class are rented for each run, beside those with the loaded data."""
    disk = profile.tier.disk
    nodes = profile.cluster.nodes
    if profile.cluster.database == EXISTING:
        return nodes
    # A tier with one `path` names no disks to count, and all nodes share that one.
    if disk.storage_class is None:
        return max(1, node_disks.count(profile.tier))
    # Each run loads its own data, so nothing stands beside its volumes.
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
        count = 1  # all disks are mounted on one machine
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
        # Sums of unlike currencies are never added.
        if item.price is not None and item.amount is not None:
            currency = item.price.currency
            sums[currency] = sums.get(currency, 0.0) + item.amount
    return sums


def total_in_words(things: Sequence[RentedItem], share: float = 1.0) -> str:
    """A share of it; empty if nothing is known."""
    amounts: list[str] = []
    for currency, amount in total(things).items():
        amounts.append(f"{share * amount:,.2f} {currency}")
    return prose.listed(amounts)


def notes(plan: Plan) -> tuple[Note, ...]:
    """What prices do to the campaign's answer, and what it costs itself."""
    return (*_price_notes(plan), *_cost_notes(plan))


def _price_notes(plan: Plan) -> Iterator[Note]:
    # Nothing is decided where disks alone are measured.
    decides = any(load.database is None for load in plan.workloads)
    if not decides or len(plan.tiers) < 2:
        return
    comparison = compare_prices(plan.tiers)
    if comparison.obstacle or comparison.doubt:
        effect = _effect_of_prices(comparison.obstacle, comparison.doubt)
        yield detailed_note("prices", effect, _HOW_TO_GIVE_PRICES)


def _cost_notes(plan: Plan) -> Iterator[Note]:
    things = rented(plan)
    if things:
        yield Note("campaign cost", _cost_in_words(things, most_s(plan)))


_HOW_TO_GIVE_PRICES = (
    "Give `price` or `region` in the tier, or a list of one day "
    "(`tierbench prices update`, --prices)"
)


def _effect_of_prices(obstacle: str, doubt: str) -> str:
    """What prices do to the answer. `obstacle`: why costs cannot be compared; `doubt`: why a
    comparison may be off."""
    if obstacle:
        return f"a tier will be chosen by declared limits, not by price: {obstacle}"
    return f"{doubt}: they are compared, and the answer says so"


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
            f"no price of {prose.listed(unpriced)}"
        )
    amount = total_in_words(things)
    text = (
        f"for at most {units.format_seconds(longest_s)} the campaign itself "
        f"costs, at list price for {prose.listed(priced)}: {amount}"
    )
    if unpriced:
        text += f"; the price of {prose.listed(unpriced)} is not known"
    return text
