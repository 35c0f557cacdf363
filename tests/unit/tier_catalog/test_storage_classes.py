"""A catalog row becomes the StorageClass whose volumes are such disks, and the size of its claims.

Goal: a parameter that a driver would not know, or that would make another disk, fails here. Method:
golden manifests of one choice per type that a driver makes, whose lines are held against the
drivers' documents when they change; the arithmetic of sizes and rates by literal values.
"""

from __future__ import annotations

import pytest

from orchestrator.extensions.kubernetes import class_manifests
from orchestrator.tier import ClassWanted
from orchestrator.tier_catalog import storage_classes
from tests import golden
from tests.catalog import CATALOG, GIB, at, chosen, mistakes

ROWS: dict[str, object] = {
    "azure-p15": "azure/P15",
    "azure-p40-on-demand": {"type": "azure/P40", "burst": "on-demand"},
    "azure-p40-plus": {"type": "azure/P40", "performance_plus": True},
    "azure-premium-v2": at(
        "azure/premium-v2", "250GB", iops=5000, throughput="200MB/s"
    ),
    "azure-ultra": at("azure/ultra", "250GiB", iops=10_000, throughput="250MB/s"),
    "azure-e20": "azure/E20",
    "azure-s20": "azure/S20",
    "aws-gp2": at("aws/gp2", "250GiB"),
    "aws-gp3": at("aws/gp3", "250GiB", iops=6000, throughput="250MiB/s"),
    "aws-io1": at("aws/io1", "250GiB", iops=6000),
    "aws-io2": at("aws/io2", "250GiB", iops=16_000),
    "aws-st1": at("aws/st1", "500GiB"),
    "aws-sc1": at("aws/sc1", "500GiB"),
    "gcp-pd-standard": at("gcp/pd-standard", "250GiB"),
    "gcp-pd-balanced": at("gcp/pd-balanced", "250GiB"),
    "gcp-pd-ssd": at("gcp/pd-ssd", "250GiB"),
    "gcp-hyperdisk-balanced": at(
        "gcp/hyperdisk-balanced", "250GiB", iops=5000, throughput="300MiB/s"
    ),
    "gcp-hyperdisk-extreme": at("gcp/hyperdisk-extreme", "250GiB", iops=20_000),
}


def made(wanted: object) -> ClassWanted:
    given = {"type": wanted} if isinstance(wanted, str) else dict(wanted)  # type: ignore[call-overload]
    found = chosen({**given, "enforcement": "storage-class"}).tier.disk.storage_class
    assert found is not None
    return found


@pytest.mark.parametrize("name", ROWS)
def test_each_row_has_its_manifest(name: str) -> None:
    wanted = made(ROWS[name])
    gib = (wanted.size_bytes or 0) // GIB
    text = class_manifests.manifest(wanted)
    golden.compare(f"storage-classes/{name}.yaml", f"# claims ask for {gib}Gi\n{text}")


def test_every_type_that_a_driver_makes_has_a_golden_manifest() -> None:
    types = {name for name, kind in CATALOG.types.items() if kind.volume_type}
    covered = {chosen(wanted).type for wanted in ROWS.values()}
    assert covered == types
    local = {"azure/L8s_v3-nvme", "aws/local-nvme", "gcp/local-ssd"}
    assert not types & local


def test_the_size_alone_makes_a_premium_disk() -> None:
    """Premium_LRS has no parameter for IOPS, and a claim of 200 GB would be the P15 of 256 GiB."""
    wanted = made({"type": "azure/premium", "size": "200GB"})
    assert wanted.size_bytes == 256 * GIB
    assert "DiskIOPSReadWrite" not in wanted.parameters


@pytest.mark.parametrize(
    ("size", "gib"), [("250GB", 233), ("250GiB", 250), ("1TB", 932), ("1.5GiB", 2)]
)
def test_a_claim_asks_for_whole_gib(size: str, gib: int) -> None:
    assert made(at("aws/gp3", size)).size_bytes == gib * GIB


@pytest.mark.parametrize(
    ("row", "key", "value"),
    [
        (
            at("aws/gp3", "9GiB", throughput="200MB/s"),
            "throughput",
            "191",
        ),  # 190.7 MiB/s
        (
            at("aws/gp3", "9GiB", iops=3001, throughput="750.2MiB/s"),
            "throughput",
            "750",
        ),
        (at("azure/premium-v2", "9GiB"), "DiskMBpsReadWrite", "125"),
        (at("azure/premium-v2", "9GiB"), "DiskIOPSReadWrite", "3000"),
        (
            at("gcp/hyperdisk-balanced", "9GiB"),
            "provisioned-throughput-on-create",
            "140Mi",
        ),
    ],
)
def test_rates_are_whole_numbers_in_the_drivers_unit(
    row: dict[str, object], key: str, value: str
) -> None:
    assert made(row).parameters[key] == value


@pytest.mark.parametrize(
    ("row", "key"),
    [
        (at("aws/io2", "2GiB", iops=1000), "tier.size"),
        (at("aws/gp3", "4GiB", iops=4000), "tier.iops"),
        (at("azure/ultra", "4GiB", iops=5000, throughput="100MB/s"), "tier.iops"),
        (at("gcp/hyperdisk-extreme", "64GiB", iops=100_000), "tier.iops"),
    ],
)
def test_what_the_provider_would_refuse_is_refused_before(
    row: dict[str, object], key: str
) -> None:
    assert key in mistakes({**row, "enforcement": "storage-class"})


def test_a_disk_of_a_machine_has_no_class() -> None:
    found = mistakes(at("gcp/local-ssd", "375GiB", enforcement="storage-class"))
    assert "no Kubernetes driver makes" in found["tier.storage_class"]


def test_a_class_that_exists_keeps_the_rows_size() -> None:
    row = {
        "type": "azure/P15",
        "enforcement": "storage-class",
        "storage_class": "premium-zrs",
    }
    assert chosen(row).tier.disk.storage_class == ClassWanted(
        "premium-zrs", size_bytes=256 * GIB
    )


def test_a_storage_class_needs_its_enforcement() -> None:
    found = mistakes({"type": "azure/P15", "storage_class": "premium-zrs"})
    assert "enforcement" in found["tier.storage_class"]


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("My_Ultra (2)", "my-ultra-2"), ("p15.v2", "p15.v2"), ("-a-", "a")],
)
def test_names_are_such_as_kubernetes_allows(name: str, allowed: str) -> None:
    assert storage_classes.object_name(name) == allowed
