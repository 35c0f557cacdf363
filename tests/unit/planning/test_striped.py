"""Equal disks striped to one: limits and price of all, bounded by what the VM lets through."""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter

from orchestrator.design import purchase_prices
from orchestrator.errors import UsageError
from orchestrator.model import Profile
from orchestrator.planning import project_files
from orchestrator.planning.profiles import Nameable, read_profile, read_row
from orchestrator.tier import Tier, as_written
from orchestrator.units import format_bytes
from tests import ROOT
from tests.plans import CLUSTER, profile_text

CATALOG = project_files.catalog(ROOT)


def profile(tier: str, vm: str = "") -> Profile:
    cluster = CLUSTER + (f"vm: {vm}\n" if vm else "")
    return read_profile(
        "x", profile_text(tier), Nameable({"small": cluster}, CATALOG), "smoke"
    )


@pytest.mark.parametrize(
    ("tier", "vm", "iops", "bytes_per_s", "monthly"),
    [
        ("{type: azure/P30, count: 1}", "", 5_000, 200e6, 135.17),
        ("{type: azure/P30, count: 4}", "", 20_000, 800e6, 540.68),
        # The page of the Dsv5 sizes: 12,800 IOPS and 290 MB/s for all disks together.
        ("{type: azure/P30, count: 4}", "azure/Standard_D8s_v5", 12_800, 290e6, 540.68),
        ("{type: azure/P30, count: 2}", "azure/Standard_D8s_v5", 10_000, 290e6, 270.34),
        ("{iops: 900, throughput: 50MB/s, count: 3}", "", 2_700, 150e6, None),
    ],
)
def test_limits_and_price_are_those_of_all(
    tier: str, vm: str, iops: int, bytes_per_s: float, monthly: float | None
) -> None:
    striped = profile(tier, vm).tier
    assert (striped.limits.iops, striped.limits.bytes_per_s) == (iops, bytes_per_s)
    assert (striped.price.monthly if striped.price else None) == monthly
    assert striped.title.startswith(f"{striped.count} × ") == (striped.count > 1)


def test_a_price_of_several_disks_is_of_whole_cents() -> None:
    price = "price: {monthly: 1.1111, currency: USD, region: x, as_of: 2026-01-01, source: x}"
    tier = profile(f"{{iops: 900, throughput: 50MB/s, count: 3, {price}}}").tier
    assert tier.price is not None and tier.price.monthly == 3.33


def test_a_disk_is_ordered_with_its_limits_whatever_its_machine_lets_through() -> None:
    """The machine's 12,800 IOPS stood in the ticket as those of each disk."""
    asked = "type: azure/premium-v2, size: 250GiB, iops: 20000, throughput: 400MB/s"
    tier = profile(f"{{{asked}, count: 2}}", "azure/Standard_D8s_v5").tier
    assert tier.limits.iops == 12_800
    read = TypeAdapter(Tier).validate_python(as_written(tier)).origin
    assert read.product == "Azure Premium SSD v2"
    assert read.size_bytes == 250 * 2**30
    assert read.bought_iops == 20_000
    assert read.bought_bytes_per_s == 400_000_000


def test_numbers_of_a_profile_are_ordered_as_they_stand_in_it() -> None:
    origin = profile("{iops: 900, throughput: 50MB/s, count: 3}").tier.origin
    assert origin.product == ""
    assert origin.bought_iops == 900
    assert origin.bought_bytes_per_s == 50_000_000


def test_bursts_add_up() -> None:
    alone, four = (
        profile(f"{{type: azure/P15, burst: full, count: {count}}}").tier.limits.burst
        for count in (1, 4)
    )
    assert alone and four and alone.iops and alone.bytes_per_s
    assert (four.iops, four.bytes_per_s) == (4 * alone.iops, 4 * alone.bytes_per_s)
    assert four.duration_s == alone.duration_s


def test_a_disk_whose_limits_are_shared_gives_what_its_formula_gives_for_all() -> None:
    """GCP's persistent disks share their limits for a VM: by the sum of their sizes."""
    two = profile("{type: gcp/pd-ssd, size: 250GiB, count: 2}").tier.limits
    one = profile("{type: gcp/pd-ssd, size: 500GiB}").tier.limits
    assert (two.iops, two.bytes_per_s) == (one.iops, one.bytes_per_s)


def test_the_number_of_disks_is_told_and_paid() -> None:
    three_nodes = profile("{type: azure/P30, count: 4}")
    assert purchase_prices.bought_disks(three_nodes) == 12
    assert purchase_prices.disks_monthly(three_nodes) == pytest.approx(3 * 540.68)


def test_a_machine_takes_so_many_disks() -> None:
    with pytest.raises(UsageError) as refused:
        profile("{type: azure/P30, count: 17}", "azure/Standard_D8s_v5")
    assert "takes 16 disks, not 17" in str(refused.value.mistakes)


@pytest.mark.parametrize(("count", "room_gib"), [(1, 1_024), (4, 4_096)])
def test_what_a_node_needs_has_to_fit_on_all_disks_together(
    count: int, room_gib: int
) -> None:
    def sized(disk_gib: int) -> Profile:
        cluster = CLUSTER.replace("disk: 2GiB", f"disk: {disk_gib}GiB")
        tier = f"{{type: azure/P30, count: {count}}}"
        return read_profile(
            "x", profile_text(tier), Nameable({"small": cluster}, CATALOG), "smoke"
        )

    assert sized(room_gib).cluster.size.disk_bytes == room_gib * 2**30
    with pytest.raises(UsageError) as refused:
        sized(room_gib + 1)
    room = format_bytes(room_gib * 2**30)
    assert f"do not fit on the tier's disk of {room}:" in str(refused.value.mistakes)


@pytest.mark.parametrize("enforcement", ["storage-class", "none"])
def test_what_is_one_disk_is_not_striped(enforcement: str) -> None:
    with pytest.raises(UsageError) as refused:
        profile(f"{{type: azure/P30, enforcement: {enforcement}, count: 2}}")
    assert "count" in str(refused.value.mistakes)


def test_results_keep_it_and_older_ones_have_one() -> None:
    tier = profile("{type: azure/P30, count: 4}").tier
    kept = json.loads(json.dumps(as_written(tier)))
    assert TypeAdapter(Tier).validate_python(kept) == tier
    del kept["count"]
    assert TypeAdapter(Tier).validate_python(kept).count == 1


def test_a_disk_for_any_program_is_striped_too() -> None:
    assert read_row("azure/P30", {"count": 2}, CATALOG).tier.limits.iops == 10_000


def test_disks_that_others_have_striped_are_declared_together() -> None:
    """Their nodes have one device for it, against whose counters the limits are held."""
    theirs = "{hosts: db.example, user: bench, password_env: BENCH_PASSWORD}"
    cluster = f"{{database: existing, replication_factor: 1, existing: {theirs}}}"
    tier = "{type: azure/P30, enforcement: existing, count: 2}"
    text = f"question: q\ntitle: t\ntier: {tier}\ncluster: {cluster}\n"
    striped = read_profile("x", text, Nameable({}, CATALOG), "smoke").tier
    assert (striped.limits.iops, striped.limits.bytes_per_s) == (10_000, 400e6)
    assert striped.price and striped.price.monthly == 270.34
