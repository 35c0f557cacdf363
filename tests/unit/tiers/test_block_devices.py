"""What the kernel says of disks, volumes and arrays, on trees laid out as it lays them out.

This machine has neither md nor LVM. Their files are as the kernel documents them: md/level and
md/chunk_size in Documentation/admin-guide/md.rst (bytes), dm/name and dm/uuid in
Documentation/ABI/testing/sysfs-block-dm, slaves/ in the commit that added them ("dm/md sysfs
dependency tree", Nomura 2006); the prefix LVM- is UUID_PREFIX of lvm2's lib/misc/lvm-string.h.
The virtio disk is one that was read, on kernel 6.18.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.kernel import block_devices
from orchestrator.platforms.common.local_machine import LocalMachine
from tests.disk_trees import ebs, tree

VIRTIO = {
    "size": "33554432",
    "queue/scheduler": "none [mq-deadline] kyber bfq ",
    "queue/read_ahead_kb": "8192",
    "queue/rotational": "1",
    "queue/write_cache": "write back",
    "serial": "overlayblk",
}


LAYOUT = {
    "vda": VIRTIO,
    "nvme1n1": ebs("vol06afc3f8715b7a597"),
    "nvme1n1/nvme1n1p1": {"partition": "1", "size": "209713152"},
    "nvme2n1": ebs("vol0546d3c3b0af0bf6d"),
    "md0": {
        "size": "419422208",
        "md/level": "raid0",
        "md/chunk_size": "65536",
        "slaves/nvme1n1p1": "nvme1n1/nvme1n1p1",
        "slaves/nvme2n1": "nvme2n1",
    },
    "dm-0": {
        "size": "419414016",
        "dm/name": "vg-data",
        "dm/uuid": "LVM-Xb1AnCL1pY0GZxj7lIcq2dKRkCGk0qXcYJ0mQkzXq1o5m7tYpC2gU3nq1XhZs9aV",
        "slaves/md0": "md0",
    },
    "dm-1": {
        "dm/name": "secret",
        "dm/uuid": "CRYPT-LUKS2-0c3a-secret",
        "slaves/vda": "vda",
    },
}


@pytest.fixture
def machine(tmp_path: Path) -> LocalMachine:
    return tree(tmp_path, LAYOUT)


def test_a_virtio_disk(machine: LocalMachine) -> None:
    assert block_devices.facts("vda", machine) == {
        "device": "vda",
        "disk": "vda",
        "size_bytes": 2**34,
        "write_cache": "write back",
        "scheduler": "mq-deadline",
        "read_ahead_bytes": 8 * 2**20,
        "rotational": True,
        "serial": "overlayblk",
    }


def test_a_partition_has_its_own_size_and_the_identity_of_its_disk(
    machine: LocalMachine,
) -> None:
    found = block_devices.facts("nvme1n1p1", machine)
    assert (found["disk"], found["size_bytes"]) == ("nvme1n1", 209713152 * 512)
    assert (found["model"], found["firmware"]) == ("Amazon Elastic Block Store", "1.0")
    assert (found["serial"], found["scheduler"]) == ("vol06afc3f8715b7a597", "none")
    assert (found["rotational"], found["max_io_bytes"]) == (False, 262_144)


def test_a_volume_on_an_array_of_disks_down_to_each_of_them(
    machine: LocalMachine,
) -> None:
    found = block_devices.facts("dm-0", machine)
    assert found["volume"] == {"name": "vg-data", "kind": "LVM"}
    array = found["members"]["md0"]
    assert array["array"] == {"level": "raid0", "chunk_bytes": 65_536}
    assert [disk["serial"] for disk in array["members"].values()] == [
        "vol06afc3f8715b7a597",
        "vol0546d3c3b0af0bf6d",
    ]
    assert block_devices.made_of(found) == (
        "LVM volume vg-data of md0 (raid0 of nvme1n1p1, nvme2n1)"
    )
    assert block_devices.physical("dm-0", machine) == {"nvme1n1", "nvme2n1"}


def test_an_array_whose_chunks_cannot_be_read_has_its_level(tmp_path: Path) -> None:
    """As a mirror has none."""
    mirror = {"size": "419422208", "md/level": "raid1", "slaves/vda": "vda"}
    found = block_devices.facts("md1", tree(tmp_path, {"vda": VIRTIO, "md1": mirror}))
    assert found["array"] == {"level": "raid1"}
    assert block_devices.made_of(found) == "raid1 of vda"


def test_other_mapped_devices_and_plain_disks(machine: LocalMachine) -> None:
    found = block_devices.facts("dm-1", machine)
    assert block_devices.made_of(found) == "CRYPT volume secret of vda"
    assert block_devices.made_of(block_devices.facts("vda", machine)) == ""
    assert block_devices.physical("nvme1n1p1", machine) == {"nvme1n1"}
