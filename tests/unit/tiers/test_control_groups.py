"""Limits that are set by control groups: as Docker takes them, and as the kernel says them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import GateError, UnavailableError
from orchestrator.model import DeviceCap
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.platforms.docker import limits
from orchestrator.tiers.cgroup import cap, described, version
from tests.tiers import a_tier

# ------------------------------------------------------------------ control groups

CAP = DeviceCap("/dev/loop3", 500, 400, None, 10_000_000)


def test_limits_as_docker_takes_them() -> None:
    assert limits.io_limits([CAP]) == {
        "device_read_iops": [{"Path": "/dev/loop3", "Rate": 500}],
        "device_write_iops": [{"Path": "/dev/loop3", "Rate": 400}],
        "device_write_bps": [{"Path": "/dev/loop3", "Rate": 10_000_000}],
    }
    assert limits.io_limits([]) == {}


def kernel(root: Path, groups: str, group: str) -> Path:
    """/proc and /sys of a machine whose process 77 is in `groups`; the folder of its `group`."""
    for name, text in (
        ("sys/class/block/loop3/dev", "7:3\n"),
        ("proc/77/cgroup", groups),
    ):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    folder = root / "sys/fs/cgroup" / group
    folder.mkdir(parents=True)
    return folder


def read_back(root: Path, **changes: Any) -> None:
    limits.read_back([replace(CAP, **changes)], 77, "node-1", LocalMachine(root))


def test_read_back_of_version_1(tmp_path: Path) -> None:
    group = kernel(
        tmp_path, "7:blkio:/docker/abc\n0::/docker/abc\n", "blkio/docker/abc"
    )
    for file, text in (
        ("read_iops", "7:0 9\n7:3 500\n"),
        ("write_iops", "7:3 400\n"),
        ("read_bps", ""),
        ("write_bps", "7:3 10000000\n"),
    ):
        (group / f"blkio.throttle.{file}_device").write_text(text)
    read_back(tmp_path)
    with pytest.raises(
        GateError, match="limits read_bytes_per_s of /dev/loop3 to nothing"
    ):
        read_back(tmp_path, read_bytes_per_s=5)


def test_read_back_of_version_2(tmp_path: Path) -> None:
    file = kernel(tmp_path, "0::/docker/abc\n", "docker/abc") / "io.max"
    file.write_text("7:3 rbps=max wbps=10000000 riops=500 wiops=400\n")
    read_back(tmp_path)
    file.write_text("7:0 rbps=max wbps=max riops=500 wiops=400\n")
    with pytest.raises(
        GateError, match="limits read_iops of /dev/loop3 to nothing, expected 500"
    ):
        read_back(tmp_path)
    file.unlink()
    with pytest.raises(GateError, match="cannot be read back"):
        read_back(tmp_path)


def test_a_capped_device_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="/dev/none is not there"):
        read_back(tmp_path, device="/dev/none")


def test_a_cap_is_put_on_each_way_in_full() -> None:
    premium = a_tier("premium", "Premium", "emulated", 1100, 125_000_000, 0.003, 0.002)
    expected_cap = DeviceCap("/dev/loop3", 1100, 1100, 125_000_000, 125_000_000)
    assert cap(premium, "/dev/loop3") == expected_cap


def test_which_hierarchy_limits_devices(tmp_path: Path) -> None:
    groups = tmp_path / "sys/fs/cgroup"
    groups.mkdir(parents=True)
    with pytest.raises(
        UnavailableError, match=r"no control group of .* limits block devices"
    ):
        version(LocalMachine(tmp_path))
    (groups / "cgroup.controllers").write_text("cpu memory\n")
    with pytest.raises(UnavailableError):
        version(LocalMachine(tmp_path))
    (groups / "cgroup.controllers").write_text("cpu io memory\n")
    assert version(LocalMachine(tmp_path)) == 2
    assert any(
        "version 2" in blind
        for blind in described(LocalMachine(tmp_path))["blind_spots"]
    )
    (groups / "blkio").mkdir()
    (groups / "blkio/blkio.throttle.read_iops_device").touch()
    assert version(LocalMachine(tmp_path)) == 1
