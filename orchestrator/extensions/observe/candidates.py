"""The disks of the catalog that one could buy in the place of another.

Each fixed size that holds the data, types of which one chooses size or limits at some
points, and several small ones.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from orchestrator.errors import UsageError
from orchestrator.texts.prose import listed
from orchestrator.tier import Limits, Tier
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.choosing import choose
from orchestrator.tier_catalog.effective import striped, through
from orchestrator.tier_catalog.limits import whole_gib
from orchestrator.tier_catalog.listing import TierRow, tiers
from orchestrator.tier_catalog.price_rows import UNIT_BYTES
from orchestrator.tier_catalog.rows import DiskType, VmSize
from orchestrator.tier_catalog.rules import Provisioned

STEPS = (1, 4, 16)  # multiples of the least IOPS and throughput, or the size needed
COUNTS = (1, 2, 4)  # numbers of a node's disks, striped, where smaller ones are sold
_IOPS_STEP = 100  # needs are rounded to it
# An I/O of so many bytes counts as one where IOPS are provisioned and a unit is documented.
IO_BYTES = 256 * 2**10


@dataclass(frozen=True)
class Purchase:
    """Disks as they can be bought.

    `keys`: the profile's `tier`. `tier`: all of them as one. `vm`: what the VM lets
    through to them and others together. `unit_bytes`: how large an I/O counts as one, if
    documented. `lacks`: why nothing can be said of it, if so.
    """

    keys: Mapping[str, Any]
    tier: Tier
    vm: Limits
    unit_bytes: int | None
    lacks: str

    @property
    def name(self) -> str:
        return text(self.keys)

    @property
    def provider(self) -> str:
        return provider_of(self.name)


def purchases(
    catalog: Catalog,
    size_bytes: int,
    needs: Sequence[float],
    region: str | None,
    vm: str | None,
) -> list[Purchase]:
    """What can be bought, from cheap to dear, with unknown prices last.

    `needs`: IOPS and bytes/s. `vm`: the name of a VM size, so only disks of its provider count.
    UsageError if the catalog does not have this size or region.
    """
    host = _Host()
    if vm:
        host = _Host(vm, catalog.vm(vm, "--vm"))
    bought = _bought(catalog, size_bytes, needs, region, host)
    # A region without any price is a mistyped one, rather than one where nothing is sold.
    if region and not any(purchase.tier.price for purchase in bought):
        anywhere = _bought(catalog, size_bytes, needs, None, host)
        raise _no_price_in(region, anywhere)
    return sorted(bought, key=_monthly)


class _Host(NamedTuple):
    """The VM that disks are for; any, if it has no name."""

    name: str = ""
    size: VmSize | None = None


def _bought(
    catalog: Catalog,
    size_bytes: int,
    needs: Sequence[float],
    region: str | None,
    host: _Host,
) -> list[Purchase]:
    bought: list[Purchase] = []
    for keys in points(catalog, size_bytes, needs):
        full_name, kind, _ = catalog.find(keys["type"])
        # A machine takes only the disks of its own provider.
        if host.name and provider_of(host.name) != provider_of(full_name):
            continue
        with suppress(UsageError):  # disks may not be sold so
            bought.append(_purchase(catalog, keys, full_name, kind, region, host))
    return bought


def _purchase(
    catalog: Catalog,
    keys: Mapping[str, Any],
    full_name: str,
    kind: DiskType,
    region: str | None,
    host: _Host,
) -> Purchase:
    """UsageError if disks are not sold so."""
    asked = dict(keys)
    if region:
        asked["region"] = region
    count = keys.get("count", 1)
    # The row is only bought, never made: so it needs no latency and no directory.
    disk = {**asked, "enforcement": "existing"}
    disk.pop("count", None)
    chosen = choose(catalog, disk, text(keys))
    tier = striped(replace(chosen, tier=replace(chosen.tier, count=count)))
    passed = Limits()
    if host.size:
        passed = through(host.size, full_name, count)
    lacks = _lacks(tier, passed, host)
    return Purchase(
        keys=asked, tier=tier, vm=passed, unit_bytes=kind.io_unit_bytes, lacks=lacks
    )


def _lacks(tier: Tier, passed: Limits, host: _Host) -> str:
    # No cap at all means that the catalog has no figures, and not that nothing is limited.
    if host.size and passed == Limits():
        return f"how much of its load {host.name} lets through is not known"
    if not tier.limits.iops or not tier.limits.bytes_per_s:
        return "limits not known"
    return ""


def _no_price_in(region: str, anywhere: Sequence[Purchase]) -> UsageError:
    regions: set[str] = set()
    for purchase in anywhere:
        if purchase.tier.price:
            regions.add(purchase.tier.price.region)
    return UsageError(
        f"the catalog has no price of a disk in {region}",
        advice=f"--region takes {listed(sorted(regions))}",
    )


def _monthly(purchase: Purchase) -> float:
    # Nobody can say that it is cheap, so it stands behind all that have a price.
    if purchase.tier.price is None:
        return math.inf
    return purchase.tier.price.monthly


def text(keys: Mapping[str, Any]) -> str:
    """The row as an option names it: `azure/premium-v2:size=64GiB,iops=4200,throughput=125MB/s`."""
    parameters: list[str] = []
    for key, value in keys.items():
        if key not in ("type", "region"):
            parameters.append(f"{key}={value}")
    name = str(keys["type"])
    if not parameters:
        return name
    return f"{name}:{','.join(parameters)}"


# ------------------------------------------------------------------ what is looked at


def points(
    catalog: Catalog, needed_bytes: int, needs: Sequence[float] = ()
) -> Iterator[dict[str, Any]]:
    """The `tier` of profiles.

    Each size that holds the data, alone or as several disks; of other types `STEPS`,
    several where IOPS are included, and the least that they sell of what is needed.
    """
    for row in tiers(catalog):
        for parameters in _parameters(row, needed_bytes, needs):
            yield {"type": row.name, **parameters}


def _parameters(
    row: TierRow, needed_bytes: int, needs: Sequence[float]
) -> Iterator[dict[str, Any]]:
    least_bytes = row.size_bytes[0] or 0
    if row.kind.sizes:
        yield from _counts_of_fixed_size(least_bytes, needed_bytes)
    elif row.kind.provisioned is not None:
        rule = row.kind.provisioned
        yield from _provisioned(rule, needed_bytes, least_bytes, needs)
    else:
        # Limits follow from the size here, so more performance is had by a larger disk alone.
        gib = whole_gib(max(needed_bytes, least_bytes))
        for step in STEPS:
            yield {"size": f"{step * gib}GiB"}


def _counts_of_fixed_size(
    disk_bytes: int, needed_bytes: int
) -> Iterator[dict[str, Any]]:
    """Numbers of disks of a fixed size that hold the data."""
    counts: Sequence[int] = COUNTS
    if disk_bytes > STEPS[-1] * needed_bytes:
        # Nobody buys several disks that are each far larger than the data.
        counts = COUNTS[:1]
    for count in counts:
        if count * disk_bytes >= needed_bytes:
            yield _count(count)


def _count(disks: int) -> dict[str, Any]:
    """The key of several disks; that of one is left out."""
    if disks == 1:
        return {}
    return {"count": disks}


class _BuyablePoint(NamedTuple):
    """So many disks, each with so many IOPS, and with throughput in the rule's unit."""

    disks: int
    iops: float
    rate: float


def _provisioned(
    rule: Provisioned, needed_bytes: int, least_bytes: int, needs: Sequence[float]
) -> list[dict[str, Any]]:
    bought: list[dict[str, Any]] = []
    for point in _wanted(rule, needs):
        keys = _sold(rule, point, needed_bytes, least_bytes)
        # The rules raise low points to the same least purchase, which is looked at once.
        if keys not in bought:
            bought.append(keys)
    return bought


def _wanted(rule: Provisioned, needs: Sequence[float]) -> Iterator[_BuyablePoint]:
    # The free rates are the cheapest start; without them, the least that is sold.
    iops = rule.iops.included or rule.iops.min
    rate = rule.throughput.included or rule.throughput.min or 0
    for step in STEPS:
        yield _BuyablePoint(1, step * iops, step * rate)
    # Each of several disks has its own free IOPS.
    if rule.iops.included:
        for count in COUNTS[1:]:
            yield _BuyablePoint(count, iops, rate)
    if needs:
        yield _needed(rule, needs)


def _needed(rule: Provisioned, needs: Sequence[float]) -> _BuyablePoint:
    needed_iops = needs[0]
    needed_bytes_per_s = needs[1]
    # Throughput cannot be bought by itself: more IOPS bring it. AWS tells of 0.256 MiB/s with each
    # of io2, but of 4,000 MiB/s from 16,000 IOPS on by I/Os of 256 KiB, which is less: it binds
    # (RDS user guide, storage).
    if rule.throughput.follows:
        needed_iops = max(needed_iops, needed_bytes_per_s / IO_BYTES)
    else:
        needed_iops = max(needed_iops, 0.0)
    rounded = _IOPS_STEP * math.ceil(needed_iops / _IOPS_STEP)
    iops = min(rule.iops.max, max(rule.iops.min, rounded))
    # Rounded up: a purchase just below the need would be found too slow.
    unit_bytes = UNIT_BYTES[rule.throughput.unit]
    return _BuyablePoint(1, iops, math.ceil(needed_bytes_per_s / unit_bytes))


def _sold(
    rule: Provisioned, point: _BuyablePoint, needed_bytes: int, least_bytes: int
) -> dict[str, Any]:
    """The least that is sold of a point."""
    gib = whole_gib(max(needed_bytes / point.disks, least_bytes))
    at_least = max(rule.throughput.min or 0, point.rate)
    rate = min(rule.throughput.max, at_least)
    # Throughput comes only with the IOPS that it takes, and IOPS only with the size.
    iops_of_size = (rule.iops.min_per_gib or 0) * gib
    iops_of_rate = rate / (rule.throughput.max_per_iops or math.inf)
    iops = max(point.iops, iops_of_size, iops_of_rate)
    gib_of_iops = math.ceil(iops / (rule.iops.max_per_gib or math.inf))
    size = max(gib, gib_of_iops)
    keys = {"size": f"{size}GiB", **_count(point.disks), "iops": math.ceil(iops)}
    if not rule.throughput.follows:
        keys["throughput"] = f"{rate:g}{rule.throughput.unit}"
    return keys
