"""Names of disks are read at one place, however a sentence spaces them."""

from __future__ import annotations

import pytest

from orchestrator.analysis.answers.disk_words import specified
from orchestrator.tier import disk_names
from orchestrator.tier.disk_names import DiskName

P4 = DiskName("azure/P4")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("azure/P15", DiskName("azure/P15")),
        ("azure/x:size=1TiB,iops=5", DiskName("azure/x", ("size=1TiB", "iops=5"))),
        ("azure/x: size=1TiB, iops=5", DiskName("azure/x", ("size=1TiB", "iops=5"))),
        ("azure/P15+wal=azure/P4", DiskName("azure/P15", log=P4)),
        ("azure/P15+wal=", DiskName("azure/P15", log=DiskName(""))),
    ],
)
def test_a_row_with_its_keys_and_the_disk_of_its_log(text: str, name: DiskName) -> None:
    assert disk_names.read(text) == name


def test_a_layout_is_read_as_it_was_named() -> None:
    layout = disk_names.with_log("azure/x:size=1TiB", "azure/P4")
    name = disk_names.read(layout)
    assert name == DiskName("azure/x", ("size=1TiB",), P4)
    assert name.provider == "azure" and not name.leaves_nothing_open


def test_only_keys_of_the_log_are_left_open() -> None:
    name = disk_names.read("azure/P15+wal=azure/x:size=64GiB")
    assert not name.leaves_nothing_open
    words = specified("azure/P15+wal=azure/x:size=64GiB")
    assert words == "azure/P15, log on azure/x (64 GiB)"
