"""What a sum of a node's disks would count twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.commands import stripes
from orchestrator.extensions.observe.judging.demand import Demand
from tests.simulated_demand import in_seconds

LOAD = in_seconds(np.full(60, 100.0))


def disks(devices: Sequence[str]) -> list[Demand]:
    return [replace(LOAD, node="db-1", device=device) for device in devices]


@pytest.mark.parametrize(
    ("devices", "pattern", "counted_twice"),
    [
        (("sdb", "sdc", "dm-0"), "", "dm-0 of db-1 may be made of sdb and sdc"),
        (("sdb", "md127"), "", "md127 of db-1 may be made of sdb"),
        (("sdb", "sdb1"), "sd.*", "sdb1 of db-1 is part of sdb"),
        (("xvda", "xvda1"), "", "xvda1 of db-1 is part of xvda"),
        (("nvme1n1", "nvme1n1p2"), "", "nvme1n1p2 of db-1 is part of nvme1n1"),
        (("md0", "md0p1"), "md.*", "md0p1 of db-1 is part of md0"),
    ],
)
def test_a_device_beside_what_it_is_made_of_is_refused(
    devices: tuple[str, ...], pattern: str, counted_twice: str
) -> None:
    with pytest.raises(UsageError, match=counted_twice) as refused:
        stripes.summed(disks(devices), pattern)
    assert "--device" in (refused.value.advice or "")


@pytest.mark.parametrize(
    ("devices", "pattern"),
    [
        (("sdb", "sdc"), ""),
        (("dm-0", "dm-1"), ""),
        (("dm-0", "sdd"), "dm-0|sdd"),  # whoever names both knows what dm-0 is made of
        (("sda1", "sdb"), ""),
        (("nvme1n1", "nvme11n1", "nvme1n11"), ""),
        (("lun0", "lun01"), ""),
    ],
)
def test_devices_that_may_be_apart_are_summed(
    devices: tuple[str, ...], pattern: str
) -> None:
    (total,) = stripes.summed(disks(devices), pattern)
    assert total.devices == len(devices)


def test_disks_of_other_nodes_are_no_part_of_a_stripe() -> None:
    (disk, partition) = disks(("sdb", "sdb1"))
    elsewhere = replace(partition, node="db-2")
    assert len(stripes.summed([disk, elsewhere], "")) == 2
