"""The disks of the catalog that one could buy in the place of another: each fixed size that holds
the data, types of which one chooses size or limits at some points, and several small ones."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.tier import Limits, Tier
from orchestrator.tier_catalog.catalog import Catalog, provider_of, tiers
from orchestrator.tier_catalog.choosing import choose
from orchestrator.tier_catalog.effective import striped, through
from orchestrator.tier_catalog.rows import GIB, UNIT_BYTES, Provisioned
from orchestrator.units import listed

STEPS = (1, 4, 16)  # times the least IOPS and throughput, or the size needed
COUNTS = (1, 2, 4)  # of a node's disks, striped, where smaller ones are sold
_COUNTED = {count: {"count": count} if count > 1 else {} for count in COUNTS}
_IOPS_STEP = 100  # to which a need is rounded
IO_BYTES = (
    256 * 2**10
)  # that count as one I/O where IOPS are provisioned and a unit is documented


@dataclass(frozen=True)
class Purchase:
    """Disks as they can be bought. keys: the profile's `tier`; tier: all of them as one; vm: what
    the VM lets through to them and others together; unit_bytes: how large an I/O counts as one, if
    documented; lacks: why nothing can be said of it, if so."""

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
    """From cheap to dear, those of unknown price last. needs: IOPS and bytes/s; vm: a VM size: only
    disks of its provider. UsageError for one, or a region, that the catalog does not have."""
    vm_size = None
    if vm:
        vm_size = catalog.vm(vm, "--vm")
    bought = list[Purchase]()
    if region:
        placed = {"region": region}
    else:
        placed = {}
    for keys in points(catalog, size_bytes, needs):
        full, kind, _ = catalog.find(keys["type"])
        if vm and provider_of(vm) != provider_of(full):
            continue
        with suppress(UsageError):  # not sold so
            disk = {**keys, **placed, "enforcement": "existing"}
            count = disk.pop("count", 1)
            chosen = choose(catalog, disk, text(keys))
            tier = striped(replace(chosen, tier=replace(chosen.tier, count=count)))
            if vm_size:
                passed = through(vm_size, full, count)
            else:
                passed = Limits()
            lacks = "limits not known"
            if tier.limits.iops and tier.limits.bytes_per_s:
                lacks = ""
            if vm_size and passed == Limits():
                lacks = f"what {vm} lets through to it is not known"
            bought.append(
                Purchase(keys | placed, tier, passed, kind.io_unit_bytes, lacks)
            )
    if region and not any(each.tier.price for each in bought):
        every = purchases(catalog, size_bytes, needs, None, vm)
        known = sorted({each.tier.price.region for each in every if each.tier.price})
        raise UsageError(
            f"the catalog has no price of a disk in {region}",
            advice=f"--region takes {listed(known)}",
        )
    return sorted(
        bought, key=lambda each: getattr(each.tier.price, "monthly", math.inf)
    )


def text(keys: Mapping[str, Any]) -> str:
    """As an option names it: `azure/premium-v2:size=64GiB,iops=4200,throughput=125MB/s`."""
    given = [
        f"{key}={value}" for key, value in keys.items() if key not in ("type", "region")
    ]
    return ":".join(filter(None, [keys["type"], ",".join(given)]))


def points(
    catalog: Catalog, needed_bytes: int, needs: Sequence[float] = ()
) -> Iterator[dict[str, Any]]:
    """The `tier` of profiles: each size that holds the data, alone or as several disks; of other
    types STEPS, several where IOPS are included, and the least that they sell of what is needed."""
    for row in tiers(catalog):
        least = row.size_bytes[0] or 0
        rule = row.kind.provisioned
        own = {"type": row.name}
        gib = math.ceil(max(needed_bytes, least) / GIB)
        if row.kind.sizes:
            counts: tuple[int, ...] = COUNTS[:1]
            if least <= STEPS[-1] * needed_bytes:
                counts = COUNTS
            yield from (own | _COUNTED[n] for n in counts if n * least >= needed_bytes)
        elif rule is None:
            yield from (own | {"size": f"{step * gib}GiB"} for step in STEPS)
        else:
            yield from (
                own | keys for keys in _provisioned(rule, needed_bytes, least, needs)
            )


def _provisioned(
    rule: Provisioned, needed_bytes: int, least_bytes: int, needs: Sequence[float]
) -> list[dict[str, Any]]:
    """Throughput comes with the IOPS that it takes, and IOPS with the size."""
    sold = rule.iops
    given = rule.throughput
    bought = list[dict[str, Any]]()
    first = sold.included or sold.min, given.included or given.min or 0
    wanted: list[tuple[int, float, float]] = [
        (1, s * first[0], s * first[1]) for s in STEPS
    ]
    wanted += [(count, *first) for count in COUNTS[1:] if sold.included]
    if needs:
        least = max(needs[0], needs[1] / IO_BYTES if given.follows else 0.0)
        rounded = _IOPS_STEP * math.ceil(least / _IOPS_STEP)
        within = min(sold.max, max(sold.min, rounded))
        wanted.append((1, within, math.ceil(needs[1] / UNIT_BYTES[given.unit])))
    for count, iops, rate in wanted:
        gib = math.ceil(max(needed_bytes / count, least_bytes) / GIB)
        rate = min(given.max, max(given.min or 0, rate))
        iops = max(
            iops, (sold.min_per_gib or 0) * gib, rate / (given.max_per_iops or math.inf)
        )
        size = max(gib, math.ceil(iops / (sold.max_per_gib or math.inf)))
        keys = {"size": f"{size}GiB", **_COUNTED[count], "iops": math.ceil(iops)}
        keys |= {} if given.follows else {"throughput": f"{rate:g}{given.unit}"}
        if keys not in bought:
            bought += [keys]
    return bought
