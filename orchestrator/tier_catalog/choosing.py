"""A row's name and parameters → the model's Tier: `tier: azure/P15`, or a mapping with `type`."""

from collections.abc import Iterator, Mapping

from orchestrator import errors
from orchestrator.keys import tier_keys
from orchestrator.keys.refusals import raise_all, refused
from orchestrator.keys.schema import KINDS, Kinds
from orchestrator.keys.strict_records import validate
from orchestrator.tier import Limits, Tier
from orchestrator.tier_catalog import limits as limits_of, prices
from orchestrator.tier_catalog.asked_rows import AskedRow, Reference
from orchestrator.tier_catalog.buying import Chosen, bought
from orchestrator.tier_catalog.catalog import Catalog
from orchestrator.tier_catalog.limits import Refusal

_NOT_EMULATED = "cannot be emulated: use `enforcement: mounted` with `disks`"
_PLUS_WITH_BURST = "its limits together with burst are not in the catalog"


def names_a_row(tier: object) -> bool:
    """Whether the `tier` of a profile names a catalog row (else it gives its own numbers)."""
    return isinstance(tier, str) or (isinstance(tier, dict) and "type" in tier)


_TIER = errors.KeyPlace("", ("tier",))


def own(tier: Tier) -> Chosen:
    """A tier with its own numbers, in the form that `effective` takes."""
    if tier.disk.storage_class is None:
        return Chosen(tier, tier.limits)
    return Chosen(tier, tier.limits, size_bytes=tier.disk.storage_class.size_bytes)


def choose(
    catalog: Catalog,
    tier: object,
    name: str,
    title: str = "",
    where: errors.KeyPlace = _TIER,
    mechanisms: Kinds = KINDS,
) -> Chosen:
    """`tier`: what the profile `name` has under its key `where`.

    Raises UsageError with every mistake: an unknown row or key, a parameter missing,
    beyond the type's rules or not settable.
    """
    given = tier
    place = where.below("type")
    # A name alone stands in the place of the whole mapping, so mistakes point there.
    if isinstance(tier, str):
        given = {"type": tier}
        place = where
    asked = validate(Reference, where, given, mechanisms)
    row = _row(catalog, asked, where, place)
    keys: Mapping[str, object] = {}
    if isinstance(given, dict):
        keys = given
    mistakes = _mistakes(row, keys)
    raise_all([errors.Mistake.at(where.below(key), what) for key, what in mistakes])
    return bought(row, name, title)


def _row(
    catalog: Catalog, asked: Reference, where: errors.KeyPlace, place: errors.KeyPlace
) -> AskedRow:
    """A size in bytes of a type with fixed ones is the smallest that holds it.

    `place`: where the type is named.
    """
    full_name, kind, size_name = catalog.find(asked.type, place)
    size_bytes = asked.size_bytes
    if kind.sizes and size_name is None and size_bytes is not None:
        size_name = limits_of.next_size(kind, size_bytes)
        # The fixed size says its own: what was asked for only chose it.
        size_bytes = None
        if size_name is None:
            what = f"no size of {full_name} is that large"
            raise refused([errors.Mistake.at(where.below("size"), what)])
    # A type with fixed sizes and none named has no size: a mistake that is told with all others.
    size = (kind.sizes or {}).get(size_name or "")
    return AskedRow(asked, full_name, kind, size_name, size, size_bytes)


# ------------------------------------------------------------------ what cannot be bought


def _mistakes(row: AskedRow, keys: Mapping[str, object]) -> list[Refusal]:
    asked = row.asked
    way = asked.enforcement
    mistakes = list(tier_keys.mistakes(keys, way.kind, way.name))
    # A type such as `azure/premium` stands for many disks, and none of them by itself.
    if row.kind.sizes and row.size is None:
        names = ", ".join(row.kind.sizes)
        what = f"is missing: give the size, or name one of {names}"
        mistakes.append(("size", what))
    wanted = Limits(asked.iops, asked.throughput)
    mistakes += limits_of.refusals(row.name, row.kind, row.size_bytes, wanted)
    mistakes += _burst_conflicts(row)
    mistakes += _way_conflicts(row)
    mistakes += prices.conflicts(
        row.price_rows, bool(asked.price), asked.region, asked.operations_per_month
    )
    return mistakes


def _burst_conflicts(row: AskedRow) -> Iterator[Refusal]:
    """A burst, or performance plus, that was asked for and the row does not offer."""
    asked = row.asked
    # Any other value says how full the bucket is, and so asks for one.
    wants_credit = asked.burst not in (None, "off", "on-demand")
    model = _burst_model(row)
    if asked.burst == "on-demand" and model != "on-demand":
        yield "burst", f"{asked.type} has no on-demand burst"
    if wants_credit and model != "credit":
        yield "burst", f"{asked.type} has no burst credit"
    if not asked.performance_plus:
        return
    if row.size is None or not row.size.performance_plus:
        yield "performance_plus", f"{asked.type} does not offer it"
    if asked.burst not in (None, "off"):
        yield "performance_plus", _PLUS_WITH_BURST


def _burst_model(row: AskedRow) -> str | None:
    if row.size:
        if row.size.burst:
            return row.size.burst.model
        return None
    if not row.kind.by_size:
        return None
    if row.asked.size_bytes is None:  # a missing size is a mistake already
        return "credit"
    gib = limits_of.whole_gib(row.asked.size_bytes)
    if limits_of.by_size(row.kind, gib).burst:
        return "credit"
    return None


def _way_conflicts(row: AskedRow) -> Iterator[Refusal]:
    """What the way in which the disk is made needs, and the row or the profile lacks."""
    asked = row.asked
    way = asked.enforcement.kind
    if way == "emulated" and not row.kind.emulate:
        yield "enforcement", f"{asked.type} {_NOT_EMULATED}"
    if way == "mounted" and not asked.on_real_disks:
        what = "is missing (or one `path`): the directories where the disks are mounted"
        yield "disks", what
    has_class = row.kind.volume_type or asked.storage_class
    if way == "storage-class" and not has_class:
        what = f"is missing: no Kubernetes driver makes volumes of {asked.type}"
        yield "storage_class", what
