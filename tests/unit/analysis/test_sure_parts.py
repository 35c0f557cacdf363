"""What is unlike, unknown or not verified in a part is so in the whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis import differences
from orchestrator.analysis.answers.to_buy import stated_price
from orchestrator.model import Profile
from orchestrator.tier import Price
from orchestrator.yugabyte import server_facts
from tests.campaigns import build_profile
from tests.tiers import changed

GIB = 2**30


@pytest.mark.parametrize(
    ("left", "right", "are_unlike"),
    [
        ([16 * GIB], [16 * GIB], False),
        ([16 * GIB], [15.9 * GIB], False),  # a kernel keeps some
        ([16 * GIB], [15.8 * GIB], True),
        ([16 * GIB], [16 * GIB, 16 * GIB], True),
        ([], [16 * GIB], True),
    ],
)
def test_memory_is_unlike_by_more_than_a_hundredth_or_by_the_number_of_machines(
    left: list[float], right: list[float], are_unlike: bool
) -> None:
    assert differences.unlike_memory(left, right) is are_unlike
    assert differences.unlike_memory(right, left) is are_unlike


def priced(disk_verified: bool | None, machine_verified: bool | None) -> Profile:
    disk = Price(10.0, "USD", "eastus", "2026-11-01", "a list", disk_verified)
    machine = Price(90.0, "USD", "eastus", "2026-11-01", "a list", machine_verified)
    profile = build_profile("premium")
    cluster = replace(profile.cluster, vm="azure/D8", vm_price=machine)
    return replace(profile, tier=changed(profile.tier, price=disk), cluster=cluster)


@pytest.mark.parametrize(
    ("disk", "machine", "of_both", "of_disks"),
    [
        (True, True, True, True),
        (True, False, False, True),
        (False, True, False, False),
        (None, False, False, None),
        (None, True, None, None),
    ],
)
def test_a_sum_is_verified_if_each_part_of_it_is(
    disk: bool | None, machine: bool | None, of_both: bool | None, of_disks: bool | None
) -> None:
    profile = priced(disk, machine)
    both = stated_price(profile, 100.0, "USD", "disks and machines")
    alone = stated_price(profile, 10.0, "USD", "disks")
    assert (both.verified, alone.verified) == (of_both, of_disks)
    assert both.is_unverified is (of_both is False)
    assert alone.is_unverified is (of_disks is False)


def test_nothing_is_said_of_durability_where_no_server_was_asked() -> None:
    assert not server_facts.durability_as_released({})
