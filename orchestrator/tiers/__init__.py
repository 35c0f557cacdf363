"""Tier mechanisms, the ways to make a disk tier true: each is one file, and one function here."""

from collections.abc import Mapping

from orchestrator.parts import Members, TierMechanism


def tier_mechanisms() -> Mapping[str, TierMechanism]:
    return Members(
        {
            "emulated": _emulated,
            "mounted": _mounted,
            "storage-class": _storage_class,
            "existing": _existing,
            "none": _unlimited,
            "dry": _dry,
        }
    )


def _emulated() -> TierMechanism:
    from orchestrator.tiers.emulated import EmulatedTier

    return EmulatedTier()


def _mounted() -> TierMechanism:
    from orchestrator.tiers.mounted import MountedTier

    return MountedTier()


def _storage_class() -> TierMechanism:
    from orchestrator.tiers.storage_class import StorageClassTier

    return StorageClassTier()


def _existing() -> TierMechanism:
    from orchestrator.tiers.existing import ExistingTier

    return ExistingTier()


def _unlimited() -> TierMechanism:
    from orchestrator.tiers.unlimited import UnlimitedTier

    return UnlimitedTier()


def _dry() -> TierMechanism:
    from orchestrator.tiers.dry import DryTier

    return DryTier()
