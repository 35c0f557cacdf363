"""Tier mechanisms, the ways to make a disk tier true: each is one file, and one line here."""

from orchestrator.parts import TierMechanism
from orchestrator.tiers.cgroup import CgroupTier
from orchestrator.tiers.dry import DryTier
from orchestrator.tiers.emulated import EmulatedTier
from orchestrator.tiers.existing import ExistingTier
from orchestrator.tiers.mounted import MountedTier
from orchestrator.tiers.storage_class import StorageClassTier
from orchestrator.tiers.unlimited import UnlimitedTier


def tier_mechanisms() -> dict[str, TierMechanism]:
    return {
        "emulated": EmulatedTier(),
        "cgroup": CgroupTier(),
        "mounted": MountedTier(),
        "storage-class": StorageClassTier(),
        "existing": ExistingTier(),
        "none": UnlimitedTier(),
        "dry": DryTier(),
    }
