"""Tier mechanisms, the ways to make a disk tier true: each is one file, and one line here."""

from collections.abc import Mapping

from orchestrator.parts import Members, TierMechanism
from orchestrator.registry.installed import BroughtEntry, family
from orchestrator.registry.references import ObjectPlace

_BUILT_IN = {
    "emulated": "orchestrator.tiers.emulated:EmulatedTier",
    "mounted": "orchestrator.tiers.mounted:MountedTier",
    "existing": "orchestrator.tiers.existing:ExistingTier",
    "none": "orchestrator.tiers.unlimited:UnlimitedTier",
    "dry": "orchestrator.tiers.dry:DryTier",
}


def entries() -> Mapping[str, BroughtEntry[str]]:
    """The places of built-in mechanisms, and after them those of extensions."""
    return family("tiers", _BUILT_IN)


def tier_mechanisms() -> Mapping[str, TierMechanism]:
    makers = {}
    for name, owned in entries().items():
        makers[name] = ObjectPlace(owned.entry, owned.origin)
    return Members("tier mechanism", makers)
