"""A run's disk lies over the loaded data instead of being a copy: the same bytes, at once.

Method: random writes, discards and reads of whole sectors on the device, held against a copy in
memory; many threads that write sectors of the same pages; the file below must stay as it is.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import random
import struct
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from orchestrator.powers import World
from orchestrator.system.clock import wait_while
from orchestrator.tiers.common.emulated.disk_files import DiskFile
from orchestrator.tiers.common.emulated.disk_server import devices

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

SECTOR, PAGE, BYTES = 512, 4096, 32 * 2**20
BLKDISCARD = 0x1277  # linux/fs.h
FS_IOC_FIEMAP, FIEMAP_FLAG_SYNC = 0xC020660B, 1  # linux/fiemap.h


class Device:
    """A block device without the page cache above it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_DIRECT)

    def write(self, offset: int, content: bytes) -> None:
        buffer = mmap.mmap(-1, len(content))  # aligned, as direct I/O needs
        buffer.write(content)
        assert os.pwrite(self._file, buffer, offset) == len(content)

    def read(self, offset: int, size: int) -> bytes:
        buffer = mmap.mmap(-1, size)
        assert os.preadv(self._file, [buffer], offset) == size
        return buffer[:]

    def discard(self, offset: int, size: int) -> None:
        fcntl.ioctl(self._file, BLKDISCARD, struct.pack("QQ", offset, size))

    def close(self) -> None:
        os.close(self._file)


@pytest.fixture
def below(world: World) -> Iterator[Path]:
    file = world.cache / "datasets" / "below" / "node-1.img"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(random.Random(1).randbytes(BYTES))
    yield file
    file.unlink()
    file.parent.rmdir()


@contextmanager
def served_over(below: Path, world: World) -> Iterator[Device]:
    path = world.cache / "disks" / "over.img"
    file = DiskFile(path, "node-1", copy_of=below, temporary=True, in_memory=False)
    with devices("serve", (file,), {}, world) as disks:
        device = Device(disks.volumes[0].device)
        try:
            yield device
        finally:
            device.close()


def test_no_read_waits_for_the_hosts_disk(below: Path, world: World) -> None:
    """All of the data come into the host's memory with the disk, before any is read."""
    file = os.open(below, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    assert _lacks_more_than(BYTES // 2, below)
    with served_over(below, world):
        # A few pages are given away again meanwhile, as of any file that is read, by the host.
        lacking = partial(_lacks_more_than, BYTES // 50, below)
        assert not wait_while(lacking, deadline_s=20.0, clock=world.clock)


def _lacks_more_than(most_bytes: int, file: Path) -> bool:
    """Whether more of it is not in the host's memory."""
    asked = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(file)]
    there = int(
        subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    )
    return BYTES - there > most_bytes


def test_it_reads_as_a_copy_that_was_written_to(below: Path, world: World) -> None:
    dice, model = random.Random(7), bytearray(below.read_bytes())
    before = hashlib.sha256(model).hexdigest()
    with served_over(below, world) as device:
        for _ in range(600):
            unit = dice.choice((SECTOR, PAGE))
            size = unit * dice.choice((1, 1, 3, 9, 33, 200))
            offset = unit * dice.randrange((BYTES - size) // unit)
            match dice.choice(("write", "write", "read", "discard")):
                case "write":
                    content = dice.randbytes(size)
                    device.write(offset, content)
                    model[offset : offset + size] = content
                case "discard":
                    device.discard(offset, size)
                    model[offset : offset + size] = bytes(size)
                case _:
                    assert device.read(offset, size) == model[offset : offset + size]
        assert device.read(0, BYTES) == model
    assert hashlib.sha256(below.read_bytes()).hexdigest() == before


def test_writers_of_one_page_do_not_undo_each_other(below: Path, world: World) -> None:
    model = bytearray(below.read_bytes())
    sectors = PAGE // SECTOR - 1  # the last one is never written

    with served_over(below, world) as device:

        def write_sector_of_each_page(number: int) -> None:
            for page in range(500):
                content = random.Random(f"{number}-{page}").randbytes(SECTOR)
                device.write(page * PAGE + number * SECTOR, content)

        with ThreadPoolExecutor(sectors) as pool:
            list(pool.map(write_sector_of_each_page, range(sectors)))
        for number in range(sectors):
            for page in range(500):
                content = random.Random(f"{number}-{page}").randbytes(SECTOR)
                place = page * PAGE + number * SECTOR
                model[place : place + SECTOR] = content
        assert device.read(0, BYTES) == model


def test_scattered_writes_leave_a_file_of_few_extents(
    below: Path, world: World
) -> None:
    """It is removed after each run, and some hosts discard what is removed extent by extent."""
    pages = random.Random(3).sample(
        range(0, BYTES // PAGE, 2), 2000
    )  # no two are neighbours
    with served_over(below, world) as device:
        for page in pages:
            device.write(page * PAGE, bytes([page % 251]) * PAGE)
        assert extents(world.cache / "disks" / "over.img") < 100
        assert all(device.read(page * PAGE, PAGE)[0] == page % 251 for page in pages)


def extents(path: Path) -> int:
    """How many pieces the file is on the disk (linux/fiemap.h)."""
    question = bytearray(struct.pack("QQIIII", 0, 2**64 - 1, FIEMAP_FLAG_SYNC, 0, 0, 0))
    with path.open("rb") as file:
        fcntl.ioctl(file, FS_IOC_FIEMAP, question)
    return int(struct.unpack("QQIIII", question)[3])
