"""Tier mechanisms, the ways to make a disk tier true: each is one file, and one line here."""

from orchestrator.parts import TierMechanism
from orchestrator.tiers import cgroup, dry, emulated, existing, mounted, storage_class, unlimited


def tier_mechanisms() -> dict[str, TierMechanism]:
    return {
        "emulated": emulated.EmulatedTier(),
        "cgroup": cgroup.CgroupTier(),
        "mounted": mounted.MountedTier(),
        "storage-class": storage_class.StorageClassTier(),
        "existing": existing.ExistingTier(),
        "none": unlimited.UnlimitedTier(),
        "dry": dry.DryTier(),
    }
