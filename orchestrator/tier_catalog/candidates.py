"""Every disk of the catalog that one could buy in the place of one that is observed: each fixed
size that holds the data, types by size at that size, provisioned ones with what comes free and with
the least that is needed."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.tier import Limits
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog.catalog import Catalog, TierRow, provider_of, tiers
from orchestrator.tier_catalog.choosing import Chosen, choose
from orchestrator.tier_catalog.effective import through
from orchestrator.tier_catalog.rows import GIB, UNIT_BYTES, Provisioned

Need = tuple[float, float]  # IOPS and bytes/s
_IOPS_STEP, _RATE_STEP = 100, 1.0  # to which the least is rounded up; MB/s or MiB/s


@dataclass(frozen=True)
class Purchase:
    """A disk as it can be bought. keys: the profile's `tier`; vm: what the VM lets through to it
    and others together; unit_bytes: how large an I/O counts as one, if documented; lacks: why
    nothing can be said of it, if so."""

    name: str
    keys: Mapping[str, Any]
    chosen: Chosen
    vm: Limits | None
    unit_bytes: int | None
    lacks: str = ""

    @property
    def provider(self) -> str:
        return provider_of(self.name)

    @property
    def monthly(self) -> float:
        """For an order from cheap to dear; of unknown price last."""
        return self.chosen.tier.price.monthly if self.chosen.tier.price else math.inf


def purchases(
    catalog: Catalog,
    size_bytes: int,
    needs: Mapping[int | None, Need],
    region: str | None = None,
    vm: str | None = None,
) -> tuple[Purchase, ...]:
    """From cheap to dear. needs: I/O unit (None: not documented) → the least IOPS and bytes/s. vm:
    a VM size: only disks of its provider. UsageError for a region without any price."""
    vm_size = catalog.vm(vm, "--vm") if vm else None
    provider = provider_of(vm) if vm else None
    offered = []
    for row in tiers(catalog, provider):
        for keys in _bought(row, size_bytes, needs.get(row.kind.io_unit_bytes, (0.0, 0.0))):
            placed = {"region": region} if region and row.price else {}
            try:
                chosen = choose(catalog, {**keys, **placed, "enforcement": "existing"}, row.name)
            except UsageError:  # not sold so: too large, or not of these parameters
                continue
            limits = through(vm_size, chosen.type, 1) if vm_size else None
            lacks = "" if chosen.limits.iops and chosen.limits.bytes_per_s else "limits not known"
            if vm_size and limits == Limits():
                lacks = f"what {vm} lets through to it is not known"
            name, unit = _name(row, keys), row.kind.io_unit_bytes
            offered.append(Purchase(name, {**keys, **placed}, chosen, limits, unit, lacks))
    if region and not any(each.chosen.tier.price for each in offered):
        known = sorted({r.price.region for r in tiers(catalog, provider) if r.price})
        advice = f"the catalog has {', '.join(known)}; `tierbench prices update` asks for others"
        raise UsageError(f"no price of {region} in the catalog", advice=advice)
    return tuple(sorted(offered, key=lambda each: (each.monthly, each.name)))


def _bought(row: TierRow, size_bytes: int, need: Need) -> Iterator[dict[str, Any]]:
    """The `tier` of a profile, in each way in which the row is worth to be bought."""
    least, most = row.size_bytes
    if row.kind.sizes:
        if least is None or least >= size_bytes:
            yield {"type": row.name}
        return
    size = max(limits_of.whole_gib(size_bytes), limits_of.whole_gib(least or 0))
    if most is not None and size * GIB > most:
        return
    sized = {"type": row.name, "size": f"{size}GiB"}
    if row.kind.provisioned is None:
        yield sized
        return
    rule = row.kind.provisioned
    if rule.iops.included:
        yield sized
    if (least_of := _provisioned(rule, size, need)) != {} or not rule.iops.included:
        yield {**sized, **least_of}


def _provisioned(rule: Provisioned, gib: int, need: Need) -> dict[str, Any]:
    """The least that the rule sells and that is needed, or the most that it sells; empty if that is
    what comes with the disk."""
    unit, given = UNIT_BYTES[rule.throughput.unit], rule.throughput
    rate = math.ceil(need[1] / unit / _RATE_STEP) * _RATE_STEP
    rate = min(given.max, max(given.min or 0.0, rate))
    iops = max(rule.iops.min, math.ceil((rule.iops.min_per_gib or 0) * gib), need[0])
    if given.max_per_iops:  # throughput needs IOPS to be provisioned with
        iops = max(iops, rate / given.max_per_iops)
    elif given.follows:
        iops = max(iops, need[1] / (256 * 2**10))
    iops = math.ceil(iops / _IOPS_STEP) * _IOPS_STEP if iops > rule.iops.min else rule.iops.min
    most = min(rule.iops.max, max(rule.iops.min, (rule.iops.max_per_gib or math.inf) * gib))
    iops = int(min(most, iops))
    if given.max_per_iops:
        rate = min(rate, math.floor(given.max_per_iops * iops))
    if (iops, rate) == (rule.iops.included, given.included):
        return {}
    return {"iops": iops} | ({} if given.follows else {"throughput": f"{rate:g}{given.unit}"})


def _name(row: TierRow, keys: Mapping[str, Any]) -> str:
    """The row, with what it is bought with where that is chosen."""
    bought = [str(keys[key]) for key in ("size", "throughput") if key in keys]
    if "iops" in keys:
        bought.insert(1, f"{keys['iops']:,} IOPS")
    return ", ".join([row.name, *bought])
