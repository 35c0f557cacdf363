"""What a campaign itself costs at list price: what it rents, for the hours that are planned. Pure.

amount = things × monthly price / 730 × hours. It is meant as the most: each disk is reckoned for as
long as the campaign takes at most, and twice where loaded data are kept beside the volumes of a
run. Snapshots, network and a cloud's fee for the control plane are no part of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator import units
from orchestrator.errors import UsageError
from orchestrator.model import Note, Plan, Profile
from orchestrator.planning import machines, node_disks
from orchestrator.planning.plan import EXISTING
from orchestrator.tier import Price
from orchestrator.tier_catalog import prices

MAX_COST = "--max-cost"
_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]{3})")


@dataclass(frozen=True)
class RentedItem:
    """So many equal things for so many hours. `price`: of one, a month; None: not known."""

    what: str
    count: int
    hours: float
    price: Price | None

    @property
    def amount(self) -> float | None:
        """In the currency of the price; None if that is not known."""
        if self.price is None:
            return None
        return self.count * self.price.monthly / prices.HOURS_PER_MONTH * self.hours

    @property
    def title(self) -> str:
        return f"{self.count} × {self.what}"


def rented(plan: Plan) -> tuple[RentedItem, ...]:
    """The real disks of each profile, and machines that are named (`vm`) or priced: those of a
    cluster that others run are its own, all other tiers are measured in turn on the same ones."""
    real = [profile for profile in plan.tiers if is_rented(profile)]
    hours = most_s(plan) / 3600
    items = list[RentedItem]()
    for profile in real:
        tier = profile.tier
        disks = _disks(profile)
        logs = 0
        if tier.wal:
            logs = len(node_disks.log_disks(tier))
        items.append(
            RentedItem(f"disk of {profile.name}", disks - logs, hours, tier.price)
        )
        if tier.wal:
            name = f"WAL's disk of {profile.name}"
            items.append(RentedItem(name, logs, hours, tier.wal.price))
    return (*items, *_machines(real, hours))


def most_s(plan: Plan) -> float:
    """How long it takes at most; plans of earlier releases have one time."""
    if plan.most_s is None:
        return plan.estimate_s
    return plan.most_s


def is_rented(profile: Profile) -> bool:
    """A disk that names neither a provider's row nor a price is its owner's."""
    tier = profile.tier
    named = tier.origin.catalog_type or tier.disk.storage_class
    return tier.disk.is_real and bool(tier.price or named)


def bought_disks(profile: Profile) -> int:
    """One for each node, and those that nodes have for their WAL alone."""
    logs = len(node_disks.log_disks(profile.tier))
    return profile.cluster.nodes * profile.tier.count + logs


def disks_monthly(profile: Profile) -> float | None:
    """List price of all these disks; None if a part is not known, or in another currency."""
    tier = profile.tier
    logs = len(node_disks.log_disks(profile.tier))
    price = tier.price
    of_log = (tier.wal or tier).price
    if price is None or of_log is None or price.currency != of_log.currency:
        return None
    return price.monthly * profile.cluster.nodes + of_log.monthly * logs


def monthly(profile: Profile, with_vms: bool) -> float | None:
    """That of the disks, and of the cluster's machines if these count; None as above."""
    disks = disks_monthly(profile)
    vm = profile.cluster.vm_price
    if disks is None or (with_vms and vm is None):
        return None
    return round(
        disks + (vm.monthly * profile.cluster.nodes if with_vms and vm else 0.0), 2
    )


def _disks(profile: Profile) -> int:
    disk = profile.tier.disk
    nodes = profile.cluster.nodes
    if profile.cluster.database == EXISTING:
        return nodes
    if disk.storage_class is None:
        return max(1, node_disks.count(profile.tier))
    if disk.snapshots and disk.snapshots.way == "none":
        return nodes
    return 2 * nodes


def _machines(profiles: Sequence[Profile], hours: float) -> Iterator[RentedItem]:
    shared: dict[tuple[str, Price | None], int] = {}
    for profile in profiles:
        cluster = profile.cluster
        if cluster.vm is None and cluster.vm_price is None:
            continue  # no machine is said to be rented
        what = cluster.vm or "machine"
        if cluster.database == EXISTING:
            yield RentedItem(
                f"{what} of {profile.name}", cluster.nodes, hours, cluster.vm_price
            )
        else:
            key = what, cluster.vm_price
            apart = profile.tier.disk.storage_class or machines.named(profile)
            # disks are mounted on one
            most = 1
            if apart:
                most = cluster.nodes
            shared[key] = max(shared.get(key, 0), most)
    for (what, price), count in shared.items():
        yield RentedItem(what, count, hours, price)


def total(things: Sequence[RentedItem]) -> dict[str, float]:
    """Currency → the sum of what is known."""
    sums: dict[str, float] = {}
    for item in things:
        if item.price is not None and item.amount is not None:
            sums[item.price.currency] = sums.get(item.price.currency, 0.0) + item.amount
    return sums


def total_in_words(things: Sequence[RentedItem], share: float = 1.0) -> str:
    """A share of it; empty if nothing is known."""
    return units.listed(
        [f"{share * amount:,.2f} {name}" for name, amount in total(things).items()]
    )


def compare_prices(profiles: Sequence[Profile]) -> tuple[bool, str, str]:
    """Whether machines count, why costs cannot be compared, and why a comparison may be off; empty
    texts where they can. Machines of one kind cost the same for every tier, so disks alone are
    compared; of unlike ones, such as larger ones whose caps let a tier through, they count."""
    disks = {profile.name: profile.tier.price for profile in profiles}
    disks |= {f"{p.name}'s WAL": p.tier.wal.price for p in profiles if p.tier.wal}
    vms = {
        profile.cluster.vm or "machines": profile.cluster.vm_price
        for profile in profiles
    }
    unlike_vms = len({profile.cluster.vm for profile in profiles}) > 1
    unpriced = units.listed(
        [name for name, price in vms.items() if unlike_vms and price is None]
    )
    with_vms = unlike_vms and not unpriced
    known = [
        price
        for price in (*disks.values(), *(vms.values() if with_vms else ()))
        if price
    ]
    currencies = list(dict.fromkeys(price.currency for price in known))
    obstacle = ""
    if len(currencies) > 1:
        obstacle = f"prices are in {units.listed(currencies)}"
    if unpriced:
        obstacle = f"tiers are on unlike machines, and no price is known for {unpriced}"
    without = [name for name, price in disks.items() if price is None]
    if without:
        obstacle = f"no price is known for {units.listed(without)}"
    return with_vms, obstacle, "" if obstacle else prices.unlike(known)


def notes(plan: Plan) -> tuple[Note, ...]:
    """What prices do to the campaign's answer, and what it costs itself."""
    every = list[Note]()
    _, obstacle, doubt = compare_prices(plan.tiers)
    decides = any(
        load.database is None for load in plan.workloads
    )  # not of a disk alone
    if (obstacle or doubt) and decides and len(plan.tiers) > 1:
        every.append(Note("prices", _prices_in_words(obstacle, doubt)))
    things = rented(plan)
    if things:
        known = [item.title for item in things if item.price is not None]
        unknown = [item.title for item in things if item.price is None]
        text = _cost_in_words(known, unknown, total_in_words(things), most_s(plan))
        every.append(Note("campaign cost", text))
    return tuple(every)


def _prices_in_words(obstacle: str, doubt: str) -> str:
    """Why costs cannot be compared (`obstacle`), or why a comparison may be off."""
    consequence = f"{doubt}: they are compared, and the answer says so"
    if obstacle:
        consequence = (
            f"a tier will be chosen by declared limits, not by price: {obstacle}"
        )
    return (
        f"{consequence}; give `price` or `region` in the tier, or a list of one day "
        "(`tierbench prices update`, --prices)"
    )


def _cost_in_words(
    known: Sequence[str], unknown: Sequence[str], amount: str, longest_s: float
) -> str:
    """What a campaign costs. `known`, `unknown`: things with a price and without."""
    if not known:
        return (
            "what the campaign itself costs is not known: "
            f"no price of {units.listed(unknown)}"
        )
    text = (
        f"the campaign itself costs, for at most {units.format_seconds(longest_s)} "
        f"at list price, {units.listed(known)}: {amount}"
    )
    if unknown:
        text += f"; the price of {units.listed(unknown)} is not known"
    return text


def affordable_s(plan: Plan, limit: str | None) -> float | None:
    """How long the plan's things may be rented for `limit`, as `check` passed it; None: no end."""
    hourly = sum(
        item.amount / item.hours for item in rented(plan) if item.amount and item.hours
    )
    if limit is None or not hourly:
        return None
    return limit_in(limit)[0] / hourly * 3600


def check(plan: Plan, limit: str | None) -> None:
    """UsageError as of `limit_in`, if the plan would cost more, or if that cannot be told: without
    a price, or with one in another currency."""
    if limit is None:
        return
    most, currency = limit_in(limit)
    things = rented(plan)
    unknown = units.listed([item.title for item in things if item.price is None])
    if unknown:
        raise _cost_unknown(limit, unknown)
    sums = total(things)
    others = [name for name in sums if name.upper() != currency]
    if others:
        raise _other_currency(currency, others)
    amount = sum(sums.values())
    if amount > most:
        raise _too_expensive(amount, most, currency)


def _cost_unknown(limit: str, unknown: str) -> UsageError:
    return UsageError(
        f"what the campaign costs cannot be held under {limit}: no price of {unknown}",
        advice="give `price` in the profile's tier or a region, and `vm_price` in its "
        "cluster for its machines (docs/OPTIONS.md)",
    )


def _other_currency(currency: str, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"--max-cost is in {currency}, and there are prices in {units.listed(others)}",
        advice="tierbench converts no currencies: give the limit, or the prices, in the "
        "same",
    )


def _too_expensive(amount: float, most: float, currency: str) -> UsageError:
    return UsageError(
        f"the campaign would cost {amount:,.2f} {currency}, more than {most:,.2f}",
        advice="take fewer repetitions, tiers or nodes or a smaller scale; --dry-run "
        "shows what makes the cost",
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
