"""What another machine left in a shared cache folder is as old as its newest file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.run.data import other_caches
from orchestrator.run.data.kept_data import DATASET

HOUR_S = 3_600.0
NOW_S = 1_000_000.0


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The cache folder of vm1, in which vm2 has a data set of two files, used 2 h and 1 h ago."""
    (tmp_path / ".owner").symlink_to("vm1 id-of-vm1")
    data = tmp_path / "machines/vm2/datasets/key"
    data.mkdir(parents=True)
    (tmp_path / "machines/vm2/.owner").symlink_to("vm2 id-of-vm2")
    for name, hours in ((DATASET, 2), ("node-1.img", 1)):
        (data / name).write_bytes(b"x" * 10_000)
        changed_s = NOW_S - hours * HOUR_S
        os.utime(data / name, (changed_s, changed_s))
    return tmp_path


def test_it_is_as_old_as_its_newest_file_and_as_large_as_all_of_them(
    shared: Path,
) -> None:
    (other,) = other_caches.found(shared)
    assert other.owner.name == "vm2"
    assert other.used_s == NOW_S - HOUR_S
    assert 20_000 <= other.size_bytes < 100_000
    assert "used 60 min ago" in other.described(NOW_S)


def test_each_machine_sees_the_other_one_and_not_itself(shared: Path) -> None:
    assert list(other_caches.found(shared / "machines/vm2")) == []
    own = shared / "datasets/other"
    own.mkdir(parents=True)
    (own / DATASET).write_text("{}")
    (seen,) = other_caches.found(shared / "machines/vm2")
    assert seen.owner.name == "vm1"


def test_a_part_without_data_is_nothing_to_show(shared: Path) -> None:
    for file in (shared / "machines/vm2/datasets/key").iterdir():
        file.unlink()
    assert list(other_caches.found(shared)) == []
