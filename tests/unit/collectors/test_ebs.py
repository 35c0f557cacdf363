"""The log page of EBS volumes, laid out as documented, and the collector that reads it."""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.collectors.ebs import EbsCollector
from orchestrator.kernel import ebs_statistics
from orchestrator.kernel.ebs_statistics import Ask
from orchestrator.model import Node
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Machine

# I/Os, bytes and times of reads and writes; then the times above a limit; then the queue.
COUNTERS = (100, 20, 409_600, 81_920, 50_000, 70_000)
EXCEEDED_US = (1_500_000, 2_500_000, 3_500_000, 4_500_000)
QUEUE = 3
YEAR_US = 365 * 24 * 3600 * 10**6
ID = "7fc3631a2414fc17e88d21bc82e3c2a096a8d0ee159cfc64d226d0264f6ffead"
NODE = Node("node-1", "database", container_id=ID, process_id=42, device="nvme1n1")
MODEL = "Amazon Elastic Block Store              \n"


def page(
    magic: int = 0x3C23B510,
    size: int = 4096,
    exceeded_us: Sequence[int] = EXCEEDED_US,
) -> bytes:
    head = struct.pack("<II", magic, 0)
    counters = struct.pack("<11Q", *COUNTERS, *exceeded_us, QUEUE)
    return (head + counters).ljust(size, b"\xff")


def test_the_times_above_a_limit_are_read_from_their_places() -> None:
    statistics = ebs_statistics.parsed(page())
    assert statistics.volume_iops_exceeded_s == pytest.approx(1.5)
    assert statistics.volume_bandwidth_exceeded_s == pytest.approx(2.5)
    assert statistics.instance_iops_exceeded_s == pytest.approx(3.5)
    assert statistics.instance_bandwidth_exceeded_s == pytest.approx(4.5)


@pytest.mark.parametrize("size", [4095, 4097, 96])
def test_a_page_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"has {size} bytes: 4096 are documented"):
        ebs_statistics.parsed(page(size=size))


# The second is that of the machine's own disks, whose page has another layout.
@pytest.mark.parametrize("magic", [0, 0xEC2C0D7E])
def test_a_page_of_another_kind_is_refused(magic: int) -> None:
    with pytest.raises(ValueError, match=f"begins with {magic:#x}"):
        ebs_statistics.parsed(page(magic=magic))


def test_a_count_of_a_century_may_be() -> None:
    content = page(exceeded_us=(0, 0, 100 * YEAR_US, 0))
    statistics = ebs_statistics.parsed(content)
    assert statistics.instance_iops_exceeded_s == 100 * YEAR_US / 1e6


@pytest.mark.parametrize("counted_us", [2**64 - 1, 2**63, 100 * YEAR_US + 10**6])
def test_a_count_of_more_than_a_century_is_none(counted_us: int) -> None:
    """A field that is not kept is full of ones: it would never grow, as if nothing was held
    back."""
    content = page(exceeded_us=(0, 0, counted_us, 0))
    with pytest.raises(ValueError, match="more than 100 years"):
        ebs_statistics.parsed(content)


# ------------------------------------------------------------------ the collector


def answering(content: bytes, status: int = 0) -> Ask:
    """A driver that writes a page where the command asks for it."""

    def ask(descriptor: int, command: bytearray) -> int:
        assert len(command) == 72
        assert command[0] == 0x02
        (namespace,) = struct.unpack_from("<I", command, 4)
        (address,) = struct.unpack_from("<Q", command, 24)
        (length,) = struct.unpack_from("<I", command, 36)
        (page_and_words,) = struct.unpack_from("<I", command, 40)
        assert (namespace, length, page_and_words) == (1, 4096, 0x03FF00D0)
        ctypes.memmove(address, content, min(len(content), length))
        return status

    return ask


def refusing(descriptor: int, command: bytearray) -> int:
    raise PermissionError(errno.EACCES, "Permission denied")


def here(root: Path, model: str = MODEL, members: Iterable[str] = ()) -> LocalMachine:
    files = {
        "proc/42/cgroup": f"0::/docker/{ID}\n",
        "sys/class/block/nvme1n1/device/model": model,
        "dev/nvme1n1": "",
    }
    for member in members:
        files[f"sys/class/block/nvme1n1/slaves/{member}"] = ""
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return LocalMachine(root)


def read(machine: Machine, ask: Ask, node: Node = NODE) -> dict[str, float]:
    collector = EbsCollector(lambda _: machine, ask)
    return {sample.metric: sample.value for sample in collector.read([node], 1.0)}


def test_a_volume_of_this_machine_is_asked(tmp_path: Path) -> None:
    assert read(here(tmp_path), answering(page())) == {
        "ebs_volume_iops_exceeded_seconds_total": pytest.approx(1.5),
        "ebs_volume_bandwidth_exceeded_seconds_total": pytest.approx(2.5),
        "ebs_instance_iops_exceeded_seconds_total": pytest.approx(3.5),
        "ebs_instance_bandwidth_exceeded_seconds_total": pytest.approx(4.5),
    }


@pytest.mark.parametrize(
    "ask",
    [
        refusing,
        answering(page(), status=0x4109),  # no such log page
        answering(page(magic=0)),
    ],
)
def test_a_page_that_cannot_be_had_is_no_failure(tmp_path: Path, ask: Ask) -> None:
    assert read(here(tmp_path), ask) == {}


def test_a_device_that_is_no_nvme_device_is_refused_by_its_driver(
    tmp_path: Path,
) -> None:
    file = tmp_path / "device"
    file.touch()
    with pytest.raises(OSError):
        ebs_statistics.log_page(str(file))


class Elsewhere:
    """A machine with the same files that is not this one."""

    is_here = False

    def __init__(self, files: LocalMachine) -> None:
        self.name = "elsewhere"
        self.read = files.read
        self.exists = files.exists
        self.listing = files.listing
        self.real_path = files.real_path


def unasked(descriptor: int, command: bytearray) -> int:
    raise AssertionError("this device must not be asked")


def test_what_is_no_single_volume_here_is_not_asked(tmp_path: Path) -> None:
    volume = here(tmp_path / "volume")
    local = here(tmp_path / "local", "Amazon EC2 NVMe Instance Storage\n")
    array = here(tmp_path / "array", members=("nvme2n1", "nvme3n1"))
    assert read(local, unasked) == {}
    assert read(array, unasked) == {}
    assert read(Elsewhere(volume), unasked) == {}  # type: ignore[arg-type]
    assert read(volume, unasked, replace(NODE, device=None)) == {}
    # Another's process: the device of this name is another's too.
    assert read(volume, unasked, replace(NODE, process_id=43)) == {}
