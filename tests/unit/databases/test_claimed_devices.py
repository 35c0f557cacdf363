"""Which block device holds a node's data where its volume was claimed: read where it is mounted.

Goal: the disk of a rented volume is sampled, and never another one. Method: lines of mountinfo
in the kernel's form (proc(5)), among them such as must not be taken.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.databases.common import container_nodes
from orchestrator.model import Volume
from orchestrator.powers import ContainerSpec, Mount
from tests.fakes import FakePlatform, fake_world

OTHERS = """\
1180 1046 0:391 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/containerd/1/fs
1190 1180 254:1 /var/lib/kubelet/pods/8/etc-hosts /etc/hosts rw,relatime - ext4 /dev/vda1 rw
"""
DATA = "1191 1180 {number} / /data rw,noatime - xfs {source} rw,nouuid,attr2,noquota\n"
SPEC = ContainerSpec(
    "node-1", "postgres", (), "database", mounts=(Mount("claim-1", "/data"),)
)
CLAIMED = Volume("claim-1", "", restored=False, placement="node-1")


def device(mountinfo: str, tmp_path: Path, volume: Volume = CLAIMED) -> str | None:
    platform = FakePlatform(answer=lambda _container, _argv: mountinfo)
    world = fake_world(None, tmp_path, platform=platform)
    started = platform.container("node-1")
    return container_nodes.node_record(1, SPEC, volume, started, world).device


@pytest.mark.parametrize(
    ("number", "source", "found"),
    [
        ("7:3", "/dev/loop3", "loop3"),
        ("259:4", "/dev/nvme1n1", "nvme1n1"),
        ("253:0", "/dev/mapper/vg-data", None),  # /proc/diskstats has it as dm-0
        ("0:52", "server:/export", None),
    ],
)
def test_the_device_that_is_mounted_where_the_data_are(
    number: str, source: str, found: str | None, tmp_path: Path
) -> None:
    assert device(OTHERS + DATA.format(number=number, source=source), tmp_path) == found


def test_the_volume_of_the_log_has_its_device_too(tmp_path: Path) -> None:
    log = DATA.replace("1191", "1192").replace("/data", "/wal")
    mounted = DATA.format(number="7:3", source="/dev/loop3")
    mounted += log.format(number="7:4", source="/dev/loop4")
    platform = FakePlatform(answer=lambda _container, _argv: OTHERS + mounted)
    world = fake_world(None, tmp_path, platform=platform)
    disks = (Mount("claim-1", "/data"), Mount("claim-1-wal", "/wal"))
    node = container_nodes.node_record(
        1,
        replace(SPEC, mounts=disks),
        replace(CLAIMED, wal="claim-1-wal"),
        platform.container("node-1"),
        world,
    )
    assert (node.device, node.wal_device) == ("loop3", "loop4")


def test_no_other_mount_is_taken(tmp_path: Path) -> None:
    assert device(OTHERS, tmp_path) is None


def test_a_device_that_is_known_is_not_looked_for(tmp_path: Path) -> None:
    known = Volume("claim-1", "/dev/loop7", restored=False)
    assert device("", tmp_path, known) == "loop7"
    assert device(OTHERS, tmp_path, Volume("claim-1", "", restored=False)) is None
