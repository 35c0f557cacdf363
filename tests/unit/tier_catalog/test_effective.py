"""The limits of disks on a VM: the lower of both binds, IOPS and bytes/s each for itself."""

from __future__ import annotations

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from orchestrator.tier import Burst, Tier, VmCap
from orchestrator.tier_catalog.effective import Effective
from tests.catalog import CATALOG, MB, MIB, at, chosen
from tests.tiers import a_tier

D8S_V5, N2 = "azure/Standard_D8s_v5", "gcp/n2-standard-8"
ULTRA = at("azure/ultra", "250GiB", iops=20000, throughput="200MB/s")


def on(wanted: object, vm: str, disks: int = 1) -> Effective:
    choice = tier_catalog.own(wanted) if isinstance(wanted, Tier) else chosen(wanted)
    return tier_catalog.effective(choice, disks, CATALOG.vm(vm), vm)


@pytest.mark.parametrize(
    ("wanted", "vm", "disks", "iops", "bytes_per_s"),
    [
        # The disk binds if the VM takes nothing away.
        (
            at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s"),
            *(D8S_V5, 1, (10000, "disk"), (250 * MB, "disk")),
        ),
        # P40: 7,500 IOPS and 250 MB/s. D4s_v5: 6,400 and 145. D8s_v3: 12,800 and 192.
        ("azure/P40", "azure/Standard_D4s_v5", 1, (6400, "vm"), (145 * MB, "vm")),
        ("azure/P40", "azure/Standard_D8s_v3", 1, (7500, "disk"), (192 * MB, "vm")),
        # Disks add up until the VM binds.
        ("azure/P20", "azure/Standard_DS14_v2", 15, (34500, "disk"), (768 * MB, "vm")),
        # A VM with a cap per disk.
        ("azure/S10", "azure/Basic_A2", 4, (1200, "vm"), (240 * MB, "disk")),
        ("azure/S10", "azure/Standard_A2", 4, (2000, "disk"), None),
        # Persistent disks share their limits per VM.
        (at("gcp/pd-ssd", "500GiB"), N2, 1, (15000, "vm"), None),
        (at("gcp/pd-standard", "8TiB"), N2, 1, (5000, "vm"), (400 * MIB, "vm")),
        # Two of 500 GiB are one of 1,000 GiB: the baseline counts once.
        (at("gcp/pd-balanced", "500GiB"), N2, 2, (9000, "disk"), None),
        # A type that the VM has no figures for is not capped.
        (at("gcp/hyperdisk-balanced", "100GiB"), N2, 1, (3000, "disk"), None),
    ],
)
def test_what_binds(
    wanted: object,
    vm: str,
    disks: int,
    iops: tuple[int, str],
    bytes_per_s: tuple[int, str] | None,
) -> None:
    limits = on(wanted, vm, disks)
    assert (limits.iops.value, limits.iops.binds) == iops
    assert bytes_per_s in (None, (limits.bytes_per_s.value, limits.bytes_per_s.binds))


def test_limits_of_disks_and_vm_apart() -> None:
    assert on(at("gcp/pd-balanced", "500GiB"), N2, disks=2).iops.disks == 9000
    assert on(at("gcp/hyperdisk-balanced", "100GiB"), N2).iops.vm is None


def test_a_warning_names_the_vm_that_binds() -> None:
    v2 = at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s")
    assert list(on(v2, D8S_V5).vm_caps()) == []
    text = (
        "throughput: azure/Standard_D8s_v3 lets through 192 MB/s "
        "of the 250 MB/s that the disks could give"
    )
    limits = on("azure/P40", "azure/Standard_D8s_v3")
    assert list(limits.vm_caps()) == [VmCap("throughput", text)]


def test_more_disks_than_a_vm_takes_are_refused() -> None:
    with pytest.raises(UsageError, match="one mistake"):
        on("azure/P20", "azure/Standard_DS14_v2", disks=65)


def test_burst_of_disk_and_vm() -> None:
    """The VM's own bucket lets a fast disk through for half an hour: (20,000 − 12,800) × 1,800."""
    limits = on(ULTRA, D8S_V5)
    assert (limits.iops.value, limits.iops.binds) == (12800, "vm")
    assert (limits.burst_iops.value, limits.burst_iops.binds) == (20000, "disk")
    assert limits.burst_iops.duration_s == pytest.approx(1800)
    slower = on({**ULTRA, "iops": 16400}, D8S_V5)
    assert slower.burst_iops.duration_s == pytest.approx(3600)
    assert on({**ULTRA, "iops": 12800}, D8S_V5).burst_iops.duration_s is None
    assert limits.burst_bytes_per_s.value == 200 * MB
    assert limits.burst_bytes_per_s.duration_s is None


def test_the_vm_cuts_a_disks_burst() -> None:
    """Four P20 burst to 14,000 IOPS and 680 MB/s; D8s_v5 has 290 MB/s, and 1,200 in bursts."""
    limits = on("azure/P20", D8S_V5, disks=4)
    assert limits.burst_iops.value == 14000
    assert limits.burst_iops.duration_s == pytest.approx(1800)
    assert (limits.bytes_per_s.value, limits.bytes_per_s.binds) == (290 * MB, "vm")
    assert limits.burst_bytes_per_s.value == 680 * MB
    cut = on("azure/P20", "azure/Standard_DS11_v2", disks=4)
    assert (cut.burst_iops.value, cut.burst_iops.binds) == (6400, "vm")
    assert (cut.burst_bytes_per_s.value, cut.burst_bytes_per_s.binds) == (96 * MB, "vm")


def test_own_numbers_are_bound_like_a_row() -> None:
    tier = a_tier("own", "own", "emulated", 50000, 100 * MB, notes="by hand")
    assert tier_catalog.bound(tier, on(tier, "azure/Standard_DS14_v2")) == tier
    assert list(on(tier, "aws/m5.24xlarge").vm_caps()) == []


def test_a_real_disk_of_unknown_limits_is_not_declared_to_have_the_vms() -> None:
    tier = a_tier("real", "real", "mounted", None, 500 * MB, path="/mnt")
    bound = tier_catalog.bound(tier, on(tier, D8S_V5))
    assert (bound.limits.iops, bound.limits.bytes_per_s) == (None, 290 * MB)
    assert bound.limits.burst is not None and bound.limits.burst.iops is None


def test_a_bound_tier_has_the_effective_limits() -> None:
    tier = tier_catalog.bound(chosen(ULTRA).tier, on(ULTRA, D8S_V5))
    assert (tier.limits.iops, tier.limits.bytes_per_s) == (12800, 200 * MB)
    assert tier.limits.burst == Burst(20000, None, 1800.0, 0.0)
    text = (
        "IOPS: azure/Standard_D8s_v5 lets through 12,800 of the 20,000 "
        "that the disks could give"
    )
    assert tier.origin.vm_caps == (VmCap("IOPS", text),)


def test_of_two_buckets_the_one_that_is_empty_first_ends_the_burst() -> None:
    """The VM has 7,200 IOPS and 910 MB/s above its limits, each for half an hour. A disk that takes
    the half of these IOPS drains their bucket in an hour."""
    wanted = {**ULTRA, "iops": 16400, "throughput": "1200MB/s"}
    tier = tier_catalog.bound(chosen(wanted).tier, on(wanted, D8S_V5))
    assert tier.limits.burst == Burst(16400, 1200 * MB, 1800.0, 0.0)
