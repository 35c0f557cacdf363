"""Writes to a device of this computer, so many a second, by which readings of it are judged."""

from __future__ import annotations

import mmap
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from orchestrator.extensions.observe.judging.demand import WRITES, WRITTEN_BYTES, Demand

BYTES, EVERY_S = 4096, 0.05


@dataclass
class Writes:
    """`device`: as /proc/diskstats calls it. `times_s`: when each was made, ascending."""

    device: str
    times_s: list[float] = field(default_factory=list)

    def hold(self, demand: Demand, of: float = 0.1) -> None:
        """Fails unless the demand has, in the time that was read, as many writes as were made."""
        edges = np.searchsorted(self.times_s, [demand.begin_s, demand.end_s])
        made = int((edges[1] - edges[0]).sum())
        assert made > 2 / EVERY_S, "too few to judge by"
        assert abs(demand.amounts[WRITES].sum() / made - 1) < of, (
            demand.amounts[WRITES],
            made,
        )
        assert (
            demand.amounts[WRITTEN_BYTES].sum() == BYTES * demand.amounts[WRITES].sum()
        )


@contextmanager
def writing(folder: Path) -> Iterator[Writes]:
    """To a loop device over a file in the folder, past the page cache, until the block ends."""
    image = folder / "observed.img"
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    attach = ["losetup", "--find", "--show", str(image)]
    path = subprocess.run(
        attach, capture_output=True, text=True, check=True
    ).stdout.strip()
    writes, over = Writes(Path(path).name), threading.Event()

    def loop() -> None:
        content = mmap.mmap(-1, BYTES)  # aligned, as O_DIRECT asks
        while not over.wait(EVERY_S):
            os.pwrite(device, content, len(writes.times_s) % 1000 * BYTES)
            writes.times_s.append(time.time())

    device = os.open(path, os.O_RDWR | os.O_DIRECT)
    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield writes
    finally:
        over.set()
        thread.join()
        os.close(device)
        subprocess.run(["losetup", "--detach", path], check=True)
