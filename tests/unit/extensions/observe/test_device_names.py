"""Which devices may lie on one disk, by their names."""

from __future__ import annotations

import pytest

from orchestrator.extensions.observe import device_names


@pytest.mark.parametrize(
    ("first", "second", "may_be"),
    [
        ("sdc1", "sdc", True),
        ("nvme0n1p1", "nvme0n1p2", True),
        ("nvme0n1", "nvme0n2", False),
        ("sdc1", "sdd1", False),
        ("dm-0", "sdc", True),
        ("md127p1", "sdd", True),
        ("mmcblk0p1", "mmcblk1p1", False),
    ],
)
def test_two_devices_may_be_one_disk(first: str, second: str, may_be: bool) -> None:
    assert device_names.may_be_one_disk(first, second) is may_be
    assert device_names.may_be_one_disk(second, first) is may_be
